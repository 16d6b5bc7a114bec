# SPDX-License-Identifier: Apache-2.0
"""The target of a row change: its latest snapshot, and the columns that a statement may name."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import AnalysisException

from bayou.errors import failed
from bayou.protocol.types.schema import schema_to_json
from bayou.spark.errors.error_classes import error_class_of
from bayou.spark.scan.file_metadata import is_file_metadata
from bayou.spark.types.readable_types import check_types
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructType
    from bayou.spark.read.session_table import SessionTable


def latest_snapshot(table: SessionTable) -> Snapshot:
    """Return the latest snapshot of a table whose rows are to change.

    Raises:
        UnsupportedFeatureError: the table has a type that this Spark lacks.
    """
    snapshot = table.log.update()
    check_types(table.application, snapshot)
    return snapshot


@contextlib.contextmanager
def explaining_unknown_columns(snapshot: Snapshot, *expressions: Any) -> Iterator[None]:
    """Resolve a statement in this context, so that the error for an unknown column says what to write instead.

    Args:
        expressions: the conditions and values that a user passed to a method. A statement in SQL has none, and keeps Spark's error,
            which shows the place in the statement.

    Raises:
        SchemaMismatchError: the statement uses an unknown column.
    """
    try:
        yield
    except AnalysisException as error:
        if not expressions or error_class_of(error) != _UNKNOWN_COLUMN:
            raise
        found = error.getMessageParameters() or {}
        column, columns = found.get("objectName", ""), found.get("proposal", "")
        word = column.strip("`")
        written = re.compile(rf"\b{re.escape(word)}\b")
        if not any(isinstance(each, str) and written.search(each) for each in expressions):  # then it is a column that is set
            raise failed("UNRESOLVED_COLUMN.WITH_SUGGESTION", at=snapshot, column=column, columns=columns) from None
        raise failed("UNRESOLVED_COLUMN.WITH_SUGGESTION/string", at=snapshot, column=column, columns=columns, word=word) from None


_UNKNOWN_COLUMN: Final = "UNRESOLVED_COLUMN.WITH_SUGGESTION"


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
        raise failed("DELTA_CANNOT_RESOLVE_COLUMN", at=snapshot, features=("_metadata in conditions and values",))
