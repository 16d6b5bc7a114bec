# SPDX-License-Identifier: Apache-2.0
"""Find the files that a condition of OPTIMIZE, REORG or COMPUTE STATS is about, by partition values and statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.plan.predicates.predicate import columns as columns_of
from bayou.plan.predicates.predicate import is_never_true
from bayou.protocol.types.schema import StructField, StructType, schema_to_json
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.backend import native_part
from bayou.spark.dml.core.chosen_files import choose_files
from bayou.spark.dml.core.condition import row_condition
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.facts import facts_of
from bayou.spark.portable.text.filters import Table, predicate_of
from bayou.spark.portable.text.literals import Dialect
from bayou.spark.portable.text.tree import UnreadableTextError
from bayou.spark.types.types import readable_schema, spark_schema, sql_type

if TYPE_CHECKING:
    from collections.abc import Collection

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.dml.core.statement import Statement
    from bayou.spark.portable.text.tree import Expression
    from bayou.spark.read.session_table import SessionTable

_NUMBER: Final = "__bayou_number"
"""The column with the number of a partition."""


def files_matching(table: SessionTable, snapshot: Snapshot, command: str, text: str, *, partitions_only: bool) -> pa.Array:
    """Return the positions of the files that may hold a row for which a condition is true.

    Raises:
        InvalidOptionError: it names other than partition columns, and `partitions_only` is set.
        UnsupportedFeatureError: it contains a subquery.
        SchemaMismatchError: it is not a boolean.
    """
    if not table.application.backend.is_native:
        return _by_text(table, snapshot, command, text, partitions_only=partitions_only)

    def check(used: Collection[str]) -> None:
        others = _others(snapshot, used)
        if partitions_only and others:
            raise _no_partition_column(snapshot, others)

    statement: Statement = native_part("dml.conditions").resolved_condition(table, snapshot, command, text, check)
    return choose_files(table, snapshot, row_condition(snapshot, statement.condition), statement.matching_partitions).candidates


def _others(snapshot: Snapshot, used: Collection[str]) -> list[str]:
    """Return the columns that are not partition columns."""
    partitions = {each.lower() for each in snapshot.partition_columns}
    return sorted(name for name in used if name.lower() not in partitions)


def _no_partition_column(snapshot: Snapshot, others: list[str]) -> Exception:
    return failed(
        "DELTA_NON_PARTITION_COLUMN_REFERENCE",
        at=snapshot,
        option="where",
        column=others[0],
        partition_columns=snapshot.partition_columns,
    )


def _by_text(table: SessionTable, snapshot: Snapshot, command: str, text: str, *, partitions_only: bool) -> pa.Array:
    """Return the files by a condition in SQL, which bayou parses itself. Spark evaluates it on partition values."""
    try:
        root = read_expression(text, Dialect.of(table.settings))
    except UnreadableTextError as error:
        raise failed("PARSE_SYNTAX_ERROR/spark", reason=str(error)) from None
    facts = facts_of(root, text)
    if facts.has_subquery:
        raise failed("DELTA_UNSUPPORTED_SUBQUERY/condition", at=snapshot, operation=command, condition=text, features=("subquery",))
    _check_boolean(table, snapshot, command, text)
    others = _others(snapshot, {path[0] for path in facts.parsed.columns})
    if partitions_only and others:
        raise _no_partition_column(snapshot, others)
    return _by_statistics(table, snapshot, root) if others else _by_partitions(table, snapshot, text)


def _check_boolean(table: SessionTable, snapshot: Snapshot, command: str, text: str) -> None:
    nothing = table.spark.createDataFrame([], spark_schema(readable_schema(snapshot.schema).fields))
    kind = nothing.select(F.expr(f"({text}\n)")).schema.fields[0].dataType.simpleString()
    if kind not in ("boolean", "void"):
        raise failed(
            "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
            at=snapshot,
            operation=command,
            condition=text,
            type=kind.upper(),
            problems=("not a boolean",),
        )


def _by_statistics(table: SessionTable, snapshot: Snapshot, root: Expression) -> pa.Array:
    zone = table.application.backend.time_zone(table.spark)
    predicate = predicate_of(root, Table(snapshot.schema), time_zone=zone)
    if is_never_true(predicate):
        return pa.array([], pa.int64())
    if not columns_of(predicate):
        return pa.array(np.arange(snapshot.num_files), pa.int64())
    return pc.indices_nonzero(snapshot.may_match(predicate)).cast(pa.int64())


def _by_partitions(table: SessionTable, snapshot: Snapshot, text: str) -> pa.Array:
    """Return the files whose partition values satisfy a condition, by Spark's own evaluation on the distinct ones."""
    fields = [field for name in snapshot.partition_columns if (field := snapshot.schema.field(name)) is not None]
    if not fields:  # the condition has no column
        is_true = table.spark.range(1).where(F.expr(f"({text}\n)")).count() == 1
        return pa.array(np.arange(snapshot.num_files if is_true else 0), pa.int64())
    texts = snapshot.partition_texts()
    values = pa.table([texts[f.physical_name].combine_chunks() for f in fields], [f.name for f in fields])
    distinct = values.group_by(values.column_names).aggregate([])
    rows = distinct.select([f.name for f in fields]).append_column(_NUMBER, pa.array(np.arange(distinct.num_rows), pa.int32()))
    schema = StructType((*(StructField(f.name, "string") for f in fields), StructField(_NUMBER, "integer")))
    frame = table.application.backend.local_frame(table.spark, rows, schema_to_json(schema))
    casts = [f"try_cast({quoted_name(f.name)} as {sql_type(f.type)}) as {quoted_name(f.name)}" for f in fields]
    found = frame.selectExpr(*casts, _NUMBER).where(F.expr(f"({text}\n)")).select(_NUMBER).collect()
    matching = distinct.take(pa.array([row[0] for row in found], pa.int64()))
    return _positions(values, matching)


def _positions(values: pa.Table, matching: pa.Table) -> pa.Array:
    """Return the positions of the rows of a table that are among some rows of it."""
    wanted = set(zip(*(column.to_pylist() for column in matching.columns), strict=True))
    rows = zip(*(column.to_pylist() for column in values.columns), strict=True)
    return pa.array([position for position, row in enumerate(rows) if row in wanted], pa.int64())
