# SPDX-License-Identifier: Apache-2.0
"""SQL statements that only delta-spark's parser knows, told by their first words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException, ParseException, PySparkException

from bayou.errors import DeltaError
from bayou.spark.not_yet import not_yet

if TYPE_CHECKING:
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
        "DESCRIBE HISTORY": r"desc(ribe)?\s+history\b",
        "DESCRIBE DETAIL": r"desc(ribe)?\s+detail\b",
        "CLONE": r"(create|replace)\b.*\bclone\b",
        "ALTER TABLE ... DROP FEATURE": r"alter\s+table\b.*\bdrop\s+feature\b",
        "ALTER TABLE ... SYNC IDENTITY": r"alter\s+table\b.*\bsync\s+identity\b",
        "ALTER TABLE ... CLUSTER BY": r"alter\s+table\b.*\bcluster\s+by\b",
    }.items()
}
_METHODS: Final = {
    "DESCRIBE HISTORY": "DeltaTable.history() gives the same.",
    "DESCRIBE DETAIL": "DeltaTable.detail() gives the same.",
    "ALTER TABLE": "DeltaTable has methods for changes of features and identity columns.",
}


def statement_of_delta(text: str) -> str | None:
    """The command that a statement is, where only delta-spark knows it; else None."""
    plain = _COMMENTS.sub(" ", text).strip()
    return next((command for command, pattern in _STATEMENTS.items() if pattern.match(plain)), None)


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
