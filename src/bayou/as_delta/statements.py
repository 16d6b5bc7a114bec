# SPDX-License-Identifier: Apache-2.0
"""A check of `SparkSession.sql`: whether a statement failed because of `table_changes`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError
from bayou.spark.sql.refused_statements import without_comments
from bayou.spark.table.not_yet import not_yet

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

    from bayou.errors import UnsupportedFeatureError

_CHANGES: Final = re.compile(r"\btable_changes(_by_path)?\s*\(", re.IGNORECASE)


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
