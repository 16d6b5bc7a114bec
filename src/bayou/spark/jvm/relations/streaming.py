# SPDX-License-Identifier: Apache-2.0
"""Create the source and sink of a stream, and read the plan and rows of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame

from bayou.spark.jvm.core.adapters import Adapters
from bayou.spark.jvm.core.callbacks import BiFunction
from bayou.spark.jvm.core.session import session_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_SOURCE: Final = "bayou.StreamSource"
_EXECUTION_RELATION: Final = "StreamingExecutionRelation"
_FIRST_THAT_ADDS_METADATA: Final = (4, 0)
_OURS: Final = ("bayou.DeltaTable", "bayou.DeltaLogFiles")


def stream_source(jvm: Jvm, number: int, name: str, schema_json: str, body: Callable[[str, Any], Any]) -> JavaObject:
    """Return a source of a stream. Its body is called with the question of Spark and two strings, separated by NUL."""
    return Adapters.of(jvm).new(_SOURCE, number, name, schema_json, BiFunction(jvm, body))


def stream_sink(jvm: Jvm, name: str, body: Callable[[str, Any], Any]) -> JavaObject:
    """Return a sink of a stream. Its body is called with a batch's number and query id, separated by NUL, and the batch."""
    return Adapters.of(jvm).new("bayou.StreamSink", name, BiFunction(jvm, body))


def adds_metadata_to_projections(jvm: Jvm) -> bool:
    """Whether Spark adds `_metadata` to a batch that is a projection of a relation. Every version adds it to a relation."""
    return jvm.spark_version >= _FIRST_THAT_ADDS_METADATA


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """The rows of a batch in two forms.

    A batch is already planned, and its plan has the state of the query. A query on it must therefore start from its rows.
    Without one, its own plan runs, which is faster.

    Attributes:
        rows: the rows as a DataFrame that may be planned again.
        planned: the same rows as a DataFrame that may not.
    """

    rows: DataFrame
    planned: DataFrame

    @classmethod
    def of(cls, data: JavaObject) -> PlannedBatch:
        """Wrap the batch that a sink receives."""
        query, session = data.queryExecution(), data.sparkSession()
        spark = session_of(session)
        rows = session.internalCreateDataFrame(query.toRdd(), query.analyzed().schema(), False)
        return cls(DataFrame(rows, spark), DataFrame(data, spark))

    def to_run(self, frame: DataFrame) -> DataFrame:
        """Return what to run for the rows of a DataFrame: the batch's own plan if the rows are unchanged."""
        return self.planned if frame is self.rows else frame


def roots_read(jvm: Jvm, data: JavaObject) -> set[str]:
    """Return the URIs of the Delta tables that a batch reads."""
    roots = set()
    for leaf in jvm.list_of(data.queryExecution().analyzed().collectLeaves()):
        if leaf.getClass().getSimpleName() == "LogicalRelation":
            relation = leaf.relation()
            # Spark's own file index would return each file as a root.
            if relation.getClass().getName() in _OURS or relation.location().getClass().getName() in _OURS:
                roots |= {path.toString() for path in jvm.list_of(relation.location().rootPaths())}
    return roots


@dataclass(frozen=True, slots=True)
class StreamLeaf:
    """A source in the plan of the query that reads it.

    Attributes:
        columns: JSON of the columns that the query expects.
        event_time: the column with a watermark, or None.
    """

    columns: str
    event_time: str | None


def stream_leaf(jvm: Jvm, session: JavaObject, number: int) -> StreamLeaf | None:
    """Return the source of a number in the query that this thread runs, or None if it is not found."""
    plan = _running_plan(session)
    return None if plan is None else _leaf(jvm, plan, number, [])


def numbers_of_sources(jvm: Jvm, session: JavaObject) -> set[int]:
    """Return the numbers of bayou's sources in the query that this thread runs."""
    plan = _running_plan(session)
    leaves = [] if plan is None else jvm.list_of(plan.collectLeaves())
    sources = [leaf.source() for leaf in leaves if leaf.getClass().getSimpleName() == _EXECUTION_RELATION]
    return {int(source.number()) for source in sources if source.getClass().getName() == _SOURCE}


def _running_plan(session: JavaObject) -> JavaObject | None:
    query = session.streams().get(session.sparkContext().getLocalProperty("sql.streaming.queryId"))
    return None if query is None else query.streamingQuery().logicalPlan()


def _leaf(jvm: Jvm, node: JavaObject, number: int, watermarks: list[JavaObject]) -> StreamLeaf | None:
    kind = node.getClass().getSimpleName()
    if kind == _EXECUTION_RELATION:
        source = node.source()
        if source.getClass().getName() != _SOURCE or source.number() != number:
            return None
        ids = {attribute.exprId().id(): attribute.name() for attribute in jvm.list_of(node.output())}
        names = (ids.get(attribute.exprId().id()) for attribute in reversed(watermarks))
        return StreamLeaf(node.schema().json(), next((name for name in names if name is not None), None))
    inner = [*watermarks, node.eventTime()] if kind == "EventTimeWatermark" else watermarks
    leaves = (_leaf(jvm, child, number, inner) for child in jvm.list_of(node.children()))
    return next((leaf for leaf in leaves if leaf is not None), None)
