# SPDX-License-Identifier: Apache-2.0
"""Two checks of `SparkSession.sql`: whether a statement may change rows, and whether it failed because of `table_changes`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError
from bayou.spark.sql.refused_statements import without_comments
from bayou.spark.table.not_yet import not_yet

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

    from bayou.errors import UnsupportedFeatureError

_ROW_CHANGES: Final = re.compile(r"\b(delete|update|merge)\b", re.IGNORECASE)
_CHANGES: Final = re.compile(r"\btable_changes(_by_path)?\s*\(", re.IGNORECASE)


def may_change_rows(text: str) -> bool:
    """Whether a statement may be a DELETE, an UPDATE or a MERGE; where not, there is nothing to ask the JVM."""
    return _ROW_CHANGES.search(text) is not None


def refusal(text: str, error: PySparkException) -> UnsupportedFeatureError | None:
    """The error that says what bayou does not do yet; None where the statement fails for another reason.

    Args:
        text: the statement.
        error: what Spark said of it.
    """
    if isinstance(error, DeltaError) or not (
        "[UNRESOLVABLE_TABLE_VALUED_FUNCTION]" in str(error) and _CHANGES.search(without_comments(text))
    ):
        return None
    return not_yet("table_changes", next_step="read the same rows with the option readChangeFeed, or with DeltaTable.changes.")
