# SPDX-License-Identifier: Apache-2.0
"""Answer queries from the log without a job: `count(*)`, `min`, `max`, and how many files a LIMIT needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from bayou.plan import answers
from bayou.spark.jvm.core.adapters import described
from bayou.spark.jvm.core.bulk import Bulk
from bayou.spark.jvm.relations.plans import aggregates_of, limit_of, output, projected_by, schema_of
from bayou.spark.jvm.relations.relation import local_relation
from bayou.spark.native.session.jvm import jvm_of, workbench_of
from bayou.spark.types.types import sql_type

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm
    from bayou.spark.session.application import Application


_PLAIN_AGGREGATE = 4
"""The nodes of an aggregate of one column: its alias, the aggregate expression, the function, the column."""


def answer(
    application: Application, session: JavaObject, snapshot: Snapshot, nodes: list[JavaObject], kinds: list[str]
) -> tuple[int, JavaObject] | None:
    """Return an aggregate's position in the chain and its rows, if the log can compute it; otherwise None.

    The chain of `nodes`, with their `kinds`, goes from the top down to the table, which has no kind.
    """
    if "Aggregate" not in kinds:
        return None
    position = len(kinds) - 1 - kinds[::-1].index("Aggregate")
    if any(kind != "Project" for kind in kinds[position + 1 :]):
        return None
    jvm = jvm_of(application)
    if not all(_is_plain(jvm, project) for project in nodes[position + 1 : -1]):
        return None
    values = []
    for expression in aggregates_of(jvm, nodes[position]):
        value = _evaluate(json.loads(described(jvm, expression)), snapshot)
        if value is None:
            return None
        values.append(value)
    if not values:  # Spark has removed the aggregates that nothing above uses, but one row remains
        return None
    columns = {f"c{i}": pa.array([value], kind) for i, (value, kind) in enumerate(values)}
    projection = [f"cast(c{i} as {sql_type(field.type)})" for i, field in enumerate(schema_of(nodes[position]).fields)]
    rows = Bulk.of(jvm).rows(workbench_of(application, session), pa.table(columns), projection)
    return position, local_relation(jvm, output(nodes[position]), rows, 1)


def limit(nodes: list[JavaObject], kinds: list[str]) -> int | None:
    """Return how many rows the query needs from the table, if a limit is directly above it; otherwise None."""
    for node, kind in zip(reversed(nodes[:-1]), reversed(kinds), strict=True):
        if kind == "LocalLimit":
            return limit_of(node)
        if kind != "Project":
            return None
    return None


def take_until(snapshot: Snapshot, rows: int) -> pa.Array | None:
    """Return the positions of enough files for so many rows; None if all files are needed, or row counts are missing."""
    statistics = snapshot.statistics({})
    return answers.take_until(statistics.num_records, _deleted(snapshot), rows)


def _deleted(snapshot: Snapshot) -> pa.Array:
    vectors = snapshot.files(columns=["deletion_vector"])["deletion_vector"].combine_chunks()
    return pa.compute.fill_null(pa.compute.struct_field(vectors, "cardinality"), 0)


def _is_plain(jvm: Jvm, project: JavaObject) -> bool:
    """Whether a projection only selects columns."""
    return all(json.loads(described(jvm, item))[0]["class"].endswith(".AttributeReference") for item in projected_by(project))


def _evaluate(nodes: list[dict[str, Any]], snapshot: Snapshot) -> tuple[Any, pa.DataType] | None:
    """Return the value of one aggregate from the log and its Arrow type; None if only the data has it."""
    kinds = [node["class"].rpartition(".")[2] for node in nodes]
    if kinds[:2] != ["Alias", "AggregateExpression"] or nodes[1].get("isDistinct") or len(nodes) != _PLAIN_AGGREGATE:
        return None
    if nodes[1]["num-children"] != 1:  # a FILTER clause
        return None
    if kinds[2] == "Count" and kinds[3] == "Literal" and nodes[3]["value"] is not None:
        count = answers.count_from_log(snapshot.statistics({}).num_records, _deleted(snapshot))
        return None if count is None else (count, pa.int64())
    if kinds[2] in ("Min", "Max") and kinds[3] == "AttributeReference":
        return _extreme("min" if kinds[2] == "Min" else "max", nodes[3]["name"], snapshot)
    return None


def _extreme(which: Literal["min", "max"], name: str, snapshot: Snapshot) -> tuple[Any, pa.DataType] | None:
    field = snapshot.schema.field(name)
    if field is None or not isinstance(field.type, str) or field.type == "timestamp":
        return None  # a partition value without a zone is in the session's zone, which the log does not know
    path = (field.physical_name,)
    partitions = snapshot.partitions()
    statistics = snapshot.statistics({} if path in partitions else {path: field.type})
    value = answers.min_max_from_log(which, path, field.type, statistics, partitions, _deleted(snapshot))
    return None if value is None else (value.as_py(), value.type)
