# SPDX-License-Identifier: Apache-2.0
"""SQL statements that only delta-spark's parser knows, told by their first words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException, ParseException, PySparkException

from bayou.errors import DeltaError
from bayou.spark.application import Application
from bayou.spark.describe import detail_of_other
from bayou.spark.jvm.catalog import Catalog
from bayou.spark.not_yet import not_yet
from bayou.table import DeltaTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bayou.errors import UnsupportedFeatureError

_COMMENTS: Final = re.compile(r"""(?P<quoted>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:``|[^`])*`)|--[^\n]*|/\*.*?\*/""", re.DOTALL)
"""Comments, and what is quoted, in which there are none."""
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
    r"""desc(?:ribe)?\s+(?:(?P<history>history)|detail)\s+"""
    r"""(?:(?P<quote>['"])(?P<path>.+?)(?P=quote)|(?P<name>(?:\w+|`(?:``|[^`])+`)(?:\s*\.\s*(?:\w+|`(?:``|[^`])+`))*))"""
    r"(?(history)(?:\s+limit\s+(?P<limit>\d+))?)[\s;]*",
    re.IGNORECASE | re.DOTALL,
)
_ROW_CHANGES: Final = re.compile(r"\b(delete|update|merge)\b", re.IGNORECASE)
_CHANGES: Final = re.compile(r"\btable_changes(_by_path)?\s*\(", re.IGNORECASE)
_METHODS: Final = {
    "table_changes": "read the same rows with the option readChangeFeed, or with DeltaTable.changes.",
    "ALTER TABLE": "DeltaTable has methods for changes of features and identity columns.",
}


def statement_of_delta(text: str) -> str | None:
    """The command that a statement is, where only delta-spark knows it; else None."""
    plain = _without_comments(text)
    return next((command for command, pattern in _STATEMENTS.items() if pattern.match(plain)), None)


@dataclass(frozen=True, slots=True)
class Description:
    """What a DESCRIBE HISTORY or DESCRIBE DETAIL asks for.

    Attributes:
        of: history or detail.
        path: the table's path; None where it is named.
        name: the table's name, as SQL has it; None where it is a path.
        limit: how many commits; None for all.
    """

    of: str
    path: str | None
    name: str | None
    limit: int | None

    @classmethod
    def read(cls, text: str) -> Description | None:
        """A statement's description; None where it is another statement."""
        found = _DESCRIPTION.fullmatch(_without_comments(text))
        if found is None:
            return None
        limit = None if found["limit"] is None else int(found["limit"])
        return cls("detail" if found["history"] is None else "history", found["path"], found["name"], limit)

    def rows(self, spark: SparkSession) -> DataFrame:
        """What the statement gives.

        Raises:
            TableNotFoundError: there is no Delta table of that name, or at that path, and for a DETAIL no other table.
        """
        if self.of == "detail" and self.path is None:
            other = self._detail_of_other(spark)
            if other is not None:
                return other
        table = DeltaTable.forName(spark, self.name or "") if self.path is None else DeltaTable.forPath(spark, self.path)
        return table.detail() if self.of == "detail" else table.history(self.limit)

    def _detail_of_other(self, spark: SparkSession) -> DataFrame | None:
        """The row of a table that is not Delta; None for another, and for what is no table."""
        application = Application.of(spark)
        catalog = Catalog(application.jvm, spark)
        name = catalog.name(self.name or "")
        entry = catalog.entry(name) if name.path is None else None
        if entry is None or entry.is_view or entry.provider in ("delta", ""):
            return None
        return detail_of_other(application, spark, entry)


def _without_comments(text: str) -> str:
    return _COMMENTS.sub(lambda found: found["quoted"] or " ", text).strip()


def may_change_rows(text: str) -> bool:
    """Whether a statement may be a DELETE, an UPDATE or a MERGE; where not, there is nothing to ask the JVM."""
    return _ROW_CHANGES.search(text) is not None


def refusal(text: str, error: PySparkException) -> UnsupportedFeatureError | None:
    """The error that says what bayou does not do yet; None where the statement fails for another reason.

    Args:
        text: the statement.
        error: what Spark said of it: some that it cannot parse, others it takes for another statement.
    """
    if isinstance(error, DeltaError) or not isinstance(error, (ParseException, AnalysisException)):
        return None
    command = statement_of_delta(text)
    if "[UNRESOLVABLE_TABLE_VALUED_FUNCTION]" in str(error) and _CHANGES.search(_without_comments(text)):
        command = "table_changes"
    if command is None:
        return None
    return not_yet(command, next_step=_METHODS.get(" ".join(command.split()[:2]), ""))
