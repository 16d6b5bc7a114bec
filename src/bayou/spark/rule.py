# SPDX-License-Identifier: Apache-2.0
"""What the optimizer rule puts in the place of a table: the real scan of the files that the query needs, or rows from the log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import SchemaChangedError, UnsupportedFeatureError
from bayou.plan.predicate import Predicate, columns
from bayou.protocol.schema import StructType, parse_schema
from bayou.protocol.stats import is_collated
from bayou.spark import metadata_query
from bayou.spark.expressions import from_catalyst
from bayou.spark.jvm.adapters import Adapters
from bayou.spark.jvm.session import changed_provider
from bayou.spark.scan import METADATA, Scan
from bayou.spark.types import incompatible

if TYPE_CHECKING:
    from bayou.log.snapshot import Snapshot
    from bayou.protocol.schema import DataType, StructField
    from bayou.spark.application import Application
    from bayou.spark.jvm.bridge import JavaObject

_STATEMENTS = {"DeleteFromTable": "DELETE", "UpdateTable": "UPDATE", "MergeIntoTable": "MERGE"}


_PUSH_DOWN = "push down"
"""The key under which the rule is told that filters have to be pushed into the plan that it got."""


class RuleBody:
    """Answers the optimizer rule of one application. It runs nothing: EXPLAIN plans too."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __call__(self, what: str, arguments: Any) -> Any:
        """Called by `bayou.Rule`."""
        if what == "scan":
            return self._application.jvm.java_list(self._scan(*arguments))
        if what == "change":
            name = _STATEMENTS[arguments[0].nodeName()]
            message = f"{name} is not supported by this version of bayou."
            raise UnsupportedFeatureError(message, error_class="DELTA_OPERATION_NOT_ALLOWED", sql_state="0AKDC", features=[name])
        return self._command(arguments[0])

    def _scan(self, chain: Any, names: str, marker: str, schema: str, query: Any, session: JavaObject) -> list[Any]:
        table = json.loads(marker)
        snapshot = self._snapshot(table, query)
        nodes = list(chain)
        kinds = names.split(" ")[: len(nodes) - 1]
        fields = parse_schema(schema).fields
        wanted = [f for f in fields if f.name != METADATA]
        metadata = next((f.type for f in fields if f.name == METADATA), None)
        _check_schema(wanted, snapshot)
        answered = metadata_query.answer(self._application, session, snapshot, nodes, kinds)
        if answered is not None:
            return [*answered, []]
        planned = Scan(
            self._application,
            session,
            snapshot,
            wanted,
            metadata=[f.name for f in metadata.fields] if isinstance(metadata, StructType) else None,
            positions=self._positions(snapshot, nodes, kinds),
            options=table["options"],
        ).planned()
        if planned.is_union:
            query.put(_PUSH_DOWN, True)
        given = iter(planned.columns)
        last = planned.columns[-1]
        return [len(nodes) - 1, planned.plan, [last if f.name == METADATA else next(given) for f in fields]]

    def _snapshot(self, table: dict[str, Any], query: Any) -> Snapshot:
        """The version that the table was pinned to, or one latest version for all of a query."""
        version = table["version"]
        if version is None:
            version = query.get(table["path"])
        snapshot = self._application.snapshot(table["path"], table["options"], version)
        if version is None:
            query.put(table["path"], snapshot.version)
        return snapshot

    def _positions(self, snapshot: Snapshot, nodes: list[JavaObject], kinds: list[str]) -> pa.Array | None:
        """The files that the filter on the table and a limit above it leave, or None for all."""
        predicate = None
        if kinds and kinds[-1] == "Filter":
            predicate = self.predicate(snapshot, nodes[-2].condition())
        positions = choose(snapshot, predicate) if predicate is not None else None
        limit = metadata_query.limit(nodes, kinds)
        if limit is not None and predicate is None:
            positions = metadata_query.take_until(snapshot, limit)
        return positions

    def predicate(self, snapshot: Snapshot, condition: JavaObject) -> Predicate:
        """A Catalyst condition over the table's logical columns as a predicate over its physical ones."""
        text = Adapters.of(self._application.jvm).plans().describe(condition)
        return from_catalyst([text], _by_logical_name(snapshot.schema))

    def _command(self, plan: JavaObject) -> JavaObject:
        """A statement of Spark's own that would change a catalog entry, or files past the log: not on a Delta table."""
        if changed_provider(self._application.jvm, plan) == "delta":
            name = plan.getClass().getSimpleName().removesuffix("Command")
            message = f"{name} is not supported on Delta tables by this version of bayou."
            raise UnsupportedFeatureError(
                message,
                error_class="DELTA_OPERATION_NOT_ALLOWED",
                sql_state="0AKDC",
                features=[name],
                next_step="Spark's own statement would change the catalog entry or the files, and not the table.",
            )
        return plan


def _check_schema(wanted: list[StructField], snapshot: Snapshot) -> None:
    problems = list(incompatible(wanted, snapshot.schema))
    if problems:
        message = f"The table's schema changed after this DataFrame was made: {'; '.join(problems)}."
        raise SchemaChangedError(
            message,
            table=snapshot.table_uri,
            version=snapshot.version,
            next_step="make the DataFrame again from the table.",
        )


def choose(snapshot: Snapshot, predicate: Predicate) -> pa.Array | None:
    """The positions of the files that may hold a row for which the predicate is true; None for all of them."""
    if not columns(predicate):
        return None
    kept = snapshot.may_match(predicate)
    return None if pc.all(kept).as_py() is not False else pc.indices_nonzero(kept)


def _by_logical_name(schema: StructType) -> Any:
    def resolve(names: tuple[str, ...]) -> tuple[tuple[str, ...], DataType] | None:
        kind: DataType = schema
        path = []
        for name in names:
            found = kind.field(name) if isinstance(kind, StructType) else None
            if found is None or is_collated(found):
                return None
            path.append(found.physical_name)
            kind = found.type
        return tuple(path), kind

    return resolve
