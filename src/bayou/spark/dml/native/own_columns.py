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
from bayou.spark.jvm.relations.plans import id_of
from bayou.spark.native.session.jvm import jvm_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.read.session_table import SessionTable


def columns_of_frames(table: SessionTable, snapshot: Snapshot, *expressions: Any) -> JavaObject | None:
    """Return the columns of the DataFrames that `toDF()` returned, as far as the table still has them (see `OwnFrames.columns`).

    A user may pass `df.id` of such a DataFrame in a condition. Return None if no expression is a `Column`, because a SQL string
    cannot refer to a DataFrame.

    Args:
        expressions: the conditions and values of a statement.
    """
    if table.frames is None or not any(isinstance(each, Column) for each in expressions):
        return None
    return table.frames.columns(jvm_of(table.application), snapshot.schema)


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
    dropped = table.frames.dropped(jvm, snapshot.schema)  # names by expression id
    trees = [nodes.expression(jvm, table.spark, each) for each in expressions if isinstance(each, Column)]
    used = {id_of(column) for tree in trees for column in nodes.references_of(jvm, tree) if nodes.is_resolved(column)}
    return sorted({dropped[expression_id] for expression_id in used & dropped.keys()})
