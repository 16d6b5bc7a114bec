# SPDX-License-Identifier: Apache-2.0
"""The table whose rows a statement changes, and the columns that the statement is resolved against."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column

from bayou.errors import SchemaChangedError, UnsupportedFeatureError
from bayou.protocol.types.schema import schema_to_json
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.callbacks import error_class_of
from bayou.spark.jvm.relations.plans import id_of
from bayou.spark.scan.scan import is_file_metadata
from bayou.spark.types.readable_types import check_types
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructType
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.read.session_table import SessionTable


def latest_snapshot(table: SessionTable) -> Snapshot:
    """Return the latest snapshot of a table whose rows are to change.

    Raises:
        UnsupportedFeatureError: the table has a type that this Spark lacks.
    """
    snapshot = table.log.update()
    check_types(table.application, snapshot)
    return snapshot


def columns_of_frames(table: SessionTable, snapshot: Snapshot, *given: Any) -> JavaObject | None:
    """Return the columns of the user's DataFrames of the table that are still columns of it (see `OwnFrames.columns`).

    Return None if no expression can name one: a string cannot.

    Args:
        given: the conditions and values of a statement.
    """
    if table.frames is None or not any(isinstance(each, Column) for each in given):
        return None
    return table.frames.columns(table.application.jvm, snapshot.schema)


@contextlib.contextmanager
def explaining_dropped_columns(table: SessionTable, snapshot: Snapshot, *given: Any) -> Iterator[None]:
    """Resolve a statement, and raise a clearer error if it uses a column of an old DataFrame that the table no longer has.

    Args:
        given: the conditions and values of the statement.

    Raises:
        SchemaChangedError: the statement uses such a column.
    """
    try:
        yield
    except AnalysisException as error:
        names = _dropped_columns(table, snapshot, given) if error_class_of(error).startswith("MISSING_ATTRIBUTES") else []
        if not names:
            raise
        raise SchemaChangedError(
            f"The statement names {', '.join(names)} of a DataFrame that toDF() returned before the schema changed. The table no"
            " longer has this column, or another column has its name, or its type has changed.",
            at=snapshot,
            next_step="Take the column from a new toDF().",
        ) from error


def _dropped_columns(table: SessionTable, snapshot: Snapshot, given: Sequence[Any]) -> list[str]:
    if table.frames is None:
        return []
    jvm = table.application.jvm
    dropped = table.frames.dropped(jvm, snapshot.schema)
    found = [nodes.expression(jvm, table.spark, each) for each in given if isinstance(each, Column)]
    used = {id_of(each) for every in found for each in nodes.references_of(jvm, every) if nodes.is_resolved(each)}
    return sorted({dropped[each] for each in used & dropped.keys()})


def table_columns(snapshot: Snapshot) -> str:
    """Return the columns that statements are resolved against, as JSON."""
    return schema_to_json(readable_schema(snapshot.schema))


def refuse_file_metadata(given: StructType, snapshot: Snapshot) -> None:
    """Refuse a statement that uses Spark's column `_metadata`.

    Args:
        given: the columns that the statement was resolved against.

    Raises:
        UnsupportedFeatureError: they contain a column `_metadata` that the table lacks.
    """
    if any(map(is_file_metadata, given.fields)):
        raise UnsupportedFeatureError(
            "Can't resolve column _metadata: a row change cannot use the ids or files of rows.",
            at=snapshot,
            error_class="DELTA_CANNOT_RESOLVE_COLUMN",
            features=["_metadata in conditions and values"],
            next_step="Read the rows first, and select them by their columns.",
        )
