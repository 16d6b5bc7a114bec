# SPDX-License-Identifier: Apache-2.0
"""SQL statements that only delta-spark's parser knows, told by their first words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException, ParseException, PySparkException

from bayou.errors import DeltaError
from bayou.spark.not_yet import not_yet
from bayou.table import DeltaTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bayou.errors import UnsupportedFeatureError

_COMMENTS: Final = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_STATEMENTS: Final = {
    command: re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for command, pattern in {
        "VACUUM": r"vacuum\b",
        "OPTIMIZE": r"optimize\b",
        "REORG TABLE": r"reorg\s+table\b",
        "RESTORE": r"restore\b",
        "GENERATE": r"generate\b",
        "CONVERT TO DELTA": r"convert\s+to\s+delta\b",
        "CLONE": r"(create|replace)\b.*\bclone\b",
        "ALTER TABLE ... DROP FEATURE": r"alter\s+table\b.*\bdrop\s+feature\b",
        "ALTER TABLE ... SYNC IDENTITY": r"alter\s+table\b.*\bsync\s+identity\b",
        "ALTER TABLE ... CLUSTER BY": r"alter\s+table\b.*\bcluster\s+by\b",
    }.items()
}
_DESCRIPTION: Final = re.compile(
    r"""desc(?:ribe)?\s+(?P<what>history|detail)\s+(?:(?P<quote>['"])(?P<path>.+?)(?P=quote)|(?P<name>.+?))"""
    r"(?:\s+limit\s+(?P<limit>\d+))?\s*;?",
    re.IGNORECASE | re.DOTALL,
)
_ROW_CHANGES: Final = re.compile(r"\b(delete|update|merge)\b", re.IGNORECASE)
_METHODS: Final = {
    "ALTER TABLE": "DeltaTable has methods for changes of features and identity columns.",
}


def statement_of_delta(text: str) -> str | None:
    """The command that a statement is, where only delta-spark knows it; else None."""
    plain = _COMMENTS.sub(" ", text).strip()
    return next((command for command, pattern in _STATEMENTS.items() if pattern.match(plain)), None)


def described(spark: SparkSession, text: str) -> DataFrame | None:
    """What DESCRIBE HISTORY and DESCRIBE DETAIL give, of which Spark's parser makes columns of tables with these names.

    Args:
        spark: the session.
        text: the statement.

    Returns:
        The rows; None where the statement is another one.

    Raises:
        TableNotFoundError: there is no Delta table of that name, or at that path.
    """
    found = _DESCRIPTION.fullmatch(_COMMENTS.sub(" ", text).strip())
    if found is None:
        return None
    path, name = found["path"], found["name"]
    table = DeltaTable.forPath(spark, path) if path is not None else DeltaTable.forName(spark, name)
    if found["what"].lower() == "detail":
        return table.detail()
    return table.history(None if found["limit"] is None else int(found["limit"]))


def may_change_rows(text: str) -> bool:
    """Whether a statement may be a DELETE, an UPDATE or a MERGE; where not, there is nothing to ask the JVM."""
    return _ROW_CHANGES.search(text) is not None


def refusal(text: str, error: PySparkException) -> UnsupportedFeatureError | None:
    """The error that says what bayou does not do yet; None where the statement fails for another reason.

    Args:
        text: the statement.
        error: what Spark said of it: some that it cannot parse, others it takes for another statement.
    """
    command = statement_of_delta(text)
    if command is None or isinstance(error, DeltaError) or not isinstance(error, (ParseException, AnalysisException)):
        return None
    return not_yet(command, next_step=_METHODS.get(" ".join(command.split()[:2]), ""))
