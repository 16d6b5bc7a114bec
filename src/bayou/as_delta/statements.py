# SPDX-License-Identifier: Apache-2.0
"""SQL statements that only delta-spark's parser knows, told by their first words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError, InvalidOptionError, PathNotFoundError, TableNotFoundError
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.session.application import Application
from bayou.spark.sql.refused_statements import NAME, without_comments
from bayou.spark.table.describe import detail_of_folder, detail_of_other
from bayou.spark.table.not_yet import not_yet
from bayou.table import DeltaTable

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession

    from bayou.errors import UnsupportedFeatureError

_DESCRIPTION: Final = re.compile(
    r"""desc(?:ribe)?\s+(?:(?P<history>history)|detail)\s+"""
    rf"""(?:(?P<quote>['"])(?P<path>.+?)(?P=quote)|(?P<name>{NAME}))"""
    r"(?(history)(?:\s+limit\s+(?P<limit>\d+))?)[\s;]*",
    re.IGNORECASE | re.DOTALL,
)
_DESCRIBES: Final = re.compile(r"desc(?:ribe)?\s+(?:history|detail)\b", re.IGNORECASE)
_ROW_CHANGES: Final = re.compile(r"\b(delete|update|merge)\b", re.IGNORECASE)
_CHANGES: Final = re.compile(r"\btable_changes(_by_path)?\s*\(", re.IGNORECASE)


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
        found = _DESCRIPTION.fullmatch(without_comments(text))
        if found is None:
            return None
        limit = None if found["limit"] is None else int(found["limit"])
        return cls("detail" if found["history"] is None else "history", found["path"], found["name"], limit)

    def rows(self, spark: SparkSession) -> DataFrame:
        """What the statement gives.

        Raises:
            TableNotFoundError: there is no Delta table of that name, or at that path, and for a DETAIL nothing else.
            InvalidOptionError: the name is that of a view.
        """
        application = Application.of(spark)
        if self.path is not None:
            return self._of_path(application, spark, self.path)
        catalog = Catalog(application.jvm, spark)
        name = catalog.name(self.name or "")
        if name.path is not None:
            return self._of_path(application, spark, name.path, by_name=True)
        entry = catalog.entry(name)
        if entry is None:
            message = f"The table or view {name.text} cannot be found."
            raise TableNotFoundError(message, table=name.text, error_class="TABLE_OR_VIEW_NOT_FOUND", sql_state="42P01")
        if entry.is_view:
            message = f"'{self._command}' expects a table but {name.text} is a view."
            raise InvalidOptionError(
                message,
                table=name.text,
                operation=self._command,
                error_class="EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE",
                sql_state="42809",
            )
        if entry.provider == "delta":
            return self._of_table(DeltaTable.forName(spark, self.name or ""))
        if self.of == "history":
            message = f"{self._command} is only supported for Delta tables."
            raise TableNotFoundError(
                message, table=name.text, operation=self._command, error_class="DELTA_ONLY_OPERATION", sql_state="0AKDD"
            )
        return detail_of_other(application, spark, entry)

    @property
    def _command(self) -> str:
        return f"DESCRIBE {self.of.upper()}"

    def _of_table(self, table: DeltaTable) -> DataFrame:
        return table.detail() if self.of == "detail" else table.history(self.limit)

    def _of_path(self, application: Application, spark: SparkSession, path: str, *, by_name: bool = False) -> DataFrame:
        """The rows of a path; delta-spark tells of a folder that is no table where it lies, and nothing else."""
        try:
            return self._of_table(DeltaTable.forPath(spark, path))
        except TableNotFoundError as error:
            if self.of == "history":
                message = f"{path} is not a Delta table. {self._command} is only supported for Delta tables."
                raise TableNotFoundError(
                    message, table=path, operation=self._command, error_class="DELTA_TABLE_ONLY_OPERATION", sql_state="0AKDD"
                ) from error
            if by_name:
                raise
            if isinstance(error.__cause__, PathNotFoundError):
                message = f"File path {path} does not exist."
                raise TableNotFoundError(message, table=path, error_class="DELTA_FILE_NOT_FOUND", sql_state="42K03") from error
        return detail_of_folder(application, spark, path)


def describes(text: str) -> bool:
    """Whether a statement may be a DESCRIBE HISTORY or a DESCRIBE DETAIL, whatever it describes."""
    return _DESCRIBES.match(without_comments(text)) is not None


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
