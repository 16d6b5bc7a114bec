# SPDX-License-Identifier: Apache-2.0
"""Columns of a table's own DataFrames in the conditions and values of a statement."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column

from bayou.errors import failed
from bayou.spark.errors.error_classes import error_class_of
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.relations import plans
from bayou.spark.jvm.relations.plans import id_of
from bayou.spark.jvm.relations.relation import analyzed_plan
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.read.own_frames import is_same_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructType
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm
    from bayou.spark.read.own_frames import OwnFrames
    from bayou.spark.read.session_table import SessionTable


def output_of(frame: DataFrame) -> JavaObject:
    """Return the columns of a DataFrame with their ids, for `OwnFrames.add`."""
    return plans.output(analyzed_plan(frame))


def columns_of_frames(table: SessionTable, snapshot: Snapshot, *expressions: Any) -> JavaObject | None:
    """Return the columns of the DataFrames that `toDF()` returned, as far as the table still has them.

    A column is left out if its name now belongs to another column, or if its type has changed.

    A user may pass `df.id` of such a DataFrame in a condition. Return None if no expression is a `Column`, because a SQL string
    cannot refer to a DataFrame.

    Args:
        expressions: the conditions and values of a statement.

    Returns:
        An `Object[]` with one Scala `Seq` for each DataFrame.
    """
    if table.frames is None or not any(isinstance(each, Column) for each in expressions):
        return None
    jvm, recorded = jvm_of(table.application), table.frames.all()
    return jvm.objects([_same(jvm, output, fields, snapshot.schema) for output, fields in recorded]) if recorded else None


@contextlib.contextmanager
def explaining_dropped_columns(table: SessionTable, snapshot: Snapshot, *expressions: Any) -> Iterator[None]:
    """Resolve a statement in this context. The error is clearer if the statement uses a dropped column of an old DataFrame.

    Args:
        expressions: the conditions and values of the statement.

    Raises:
        SchemaChangedError: the statement uses such a column.
    """
    try:
        yield
    except AnalysisException as error:
        names = _dropped_columns(table, snapshot, expressions) if error_class_of(error).startswith("MISSING_ATTRIBUTES") else []
        if not names:
            raise
        raise failed("DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS/own-frame", at=snapshot, columns=names) from error


def _dropped_columns(table: SessionTable, snapshot: Snapshot, expressions: Sequence[Any]) -> list[str]:
    """Return the names of columns that the expressions take from old DataFrames of the table, and that the table no longer has."""
    if table.frames is None:
        return []
    jvm = jvm_of(table.application)
    dropped = _dropped(jvm, table.frames, snapshot.schema)
    trees = [nodes.expression(jvm, table.spark, each) for each in expressions if isinstance(each, Column)]
    used = {id_of(column) for tree in trees for column in nodes.references_of(jvm, tree) if nodes.is_resolved(column)}
    return sorted({dropped[expression_id] for expression_id in used & dropped.keys()})


def _dropped(jvm: Jvm, frames: OwnFrames, schema: StructType) -> dict[int, str]:
    """Return the names of the recorded columns that the table no longer has, by the ids of the columns."""
    fields = {each.name: each for each in schema.fields}
    return {
        plans.id_of(attribute): field.name
        for output, schema_of_frame in frames.all()
        for field, attribute in zip(schema_of_frame.fields, jvm.list_of(output), strict=True)
        if not is_same_column(field, fields.get(field.name))
    }


def _same(jvm: Jvm, output: JavaObject, schema_of_frame: StructType, schema: StructType) -> JavaObject:
    if schema_of_frame is schema or schema_of_frame == schema:
        return output
    fields = {each.name: each for each in schema.fields}  # a dictionary, because a table may have thousands of columns
    return plans.some_of(
        jvm, output, (number for number, each in enumerate(schema_of_frame.fields) if is_same_column(each, fields.get(each.name)))
    )
