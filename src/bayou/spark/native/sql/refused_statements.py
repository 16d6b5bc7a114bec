# SPDX-License-Identifier: Apache-2.0
"""Refuse the SQL statements of Delta Lake that bayou does not support.

The error names the statement and an alternative. Without it, users would only see a syntax error of Spark's parser.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError, failed
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.jvm.core.session import active_session, java_session
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.parser import table_name
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.table.not_yet import not_yet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import Jvm
    from bayou.spark.session.application import Application

_QUOTED: Final = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:``|[^`])*`"""
_COMMENTS: Final = re.compile(rf"(?P<quoted>{_QUOTED})|--[^\n]*|/\*.*?\*/", re.DOTALL)
"""Comments, and quoted strings, in which no comment begins."""
NAME: Final = r"(?:[\w-]+|`(?:``|[^`])+`)(?:\s*\.\s*(?:[\w-]+|`(?:``|[^`])+`))*"
"""A table's name in SQL."""
_TABLE: Final = rf"""(?:(?P<table>{NAME})|(?P<quote>['"])(?P<path>.+?)(?P=quote))"""
_DESCRIBED: Final = rf"(?:identifier\s*\([^;]*\)|{_TABLE})"
_COLUMN: Final = rf"alter\s+table\s+{_TABLE}\s+(?:alter|change)\s+(?:column\s+)?{NAME}"
_MADE: Final = rf"(?:create|(?:create\s+or\s+)?replace)\s+table\s+(?:if\s+not\s+exists\s+)?{NAME}"
_REST: Final = r"(?:[^;'\"`]|" + _QUOTED + ")*?"
_STATEMENTS: Final = {
    command: re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for command, pattern in {
        "VACUUM": rf"vacuum\b\s*{_TABLE}?",
        "OPTIMIZE": rf"optimize\b\s*{_TABLE}?",
        "REORG TABLE": rf"reorg\s+table\b\s*{_TABLE}?",
        "RESTORE": rf"restore\b(?:\s+table\b)?\s*{_TABLE}?",
        "GENERATE": rf"generate\b(?:\s+\w+\s+for\s+table\b)?\s*{_TABLE}?",
        "CONVERT TO DELTA": r"convert\s+to\s+delta\b",
        "CLONE": rf"{_MADE}\s+(?:(?:shallow|deep)\s+)?clone\b\s*{_TABLE}?",
        "DESCRIBE HISTORY": rf"desc(?:ribe)?\s+history\s+{_DESCRIBED}(?:\s+limit\s+\S+)?\s*(?:;|$)",
        "DESCRIBE DETAIL": rf"desc(?:ribe)?\s+detail\s+{_DESCRIBED}\s*(?:;|$)",
        "ALTER TABLE ... DROP FEATURE": rf"alter\s+table\s+{_TABLE}\s+drop\s+feature\b",
        "ALTER TABLE ... SYNC IDENTITY": rf"{_COLUMN}\s+sync\s+identity\b",
        "CLUSTER BY AUTO": rf"(?:alter\s+table\s+{_TABLE}\s+|{_MADE}\s*{_REST}\busing\s+delta\b{_REST}\b)cluster\s+by\s+auto\b",
        "COPY INTO": rf"copy\s+into\b\s*{_TABLE}?",
        "CREATE BLOOMFILTER INDEX": rf"create\s+bloomfilter\s+index\s+on\b\s*(?:table\b)?\s*{_TABLE}?",
        "UNDROP TABLE": rf"undrop\s+table\b\s*(?:with\s+id\b|{_TABLE})?",
        "APPLY CHANGES": rf"apply\s+changes\s+into\b\s*(?:live\s*\.\s*)?{_TABLE}?",
        "ALTER TABLE ... CLUSTER BY": rf"alter\s+table\s+{_TABLE}\s+cluster\s+by\b",
    }.items()
}
"""A pattern for the beginning of each statement. It is long enough to exclude every statement of Spark."""
_INSTEAD: Final = {
    "COPY INTO": "Read the files and append the rows: INSERT INTO table SELECT * FROM json.`/a/path`; for files that keep "
    "arriving, use a stream: spark.readStream.schema(...).json(path).writeStream.format('delta').",
    "CREATE BLOOMFILTER INDEX": "Order the rows by the columns that your filters use: OPTIMIZE table ZORDER BY (column, ...), or "
    "ALTER TABLE table CLUSTER BY (column, ...), after which bayou skips files by their statistics.",
    "UNDROP TABLE": "Give the folder of an external table its name again: CREATE TABLE name USING delta LOCATION 'path'; "
    "Spark deletes the files of a managed table when it drops the table.",
    "APPLY CHANGES": "Use MERGE INTO, which a stream can call for each batch with foreachBatch.",
    "CLUSTER BY AUTO": "Name the columns: ALTER TABLE ... CLUSTER BY (column, ...), or DeltaTable.clusterBy(column, ...).",
}
_EXPLAIN: Final = re.compile(r"explain\s+(?:(?:logical|formatted|extended|codegen|cost)\s+)?", re.IGNORECASE)
_SCRIPT: Final = re.compile(rf"(?:{NAME}\s*:\s*)?begin\b", re.IGNORECASE)
_BEGINNINGS: Final = re.compile(rf"(?:{_QUOTED}|(?:;|\b(?:begin|do|then|else|loop|repeat)\b)\s*)", re.IGNORECASE | re.DOTALL)
_MENTIONED: Final = re.compile(
    r"\b(?:vacuum|optimize|reorg|restore|generate|convert|clone|history|detail|feature|sync|cluster|copy|bloomfilter|fsck|undrop"
    r"|changes)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class LackingStatement:
    """A statement of Delta Lake that a user wrote, recognised by its first words.

    Attributes:
        command: the name of the statement.
        table: the name of the table in SQL; None if it is a path, or not recognised.
        path: the path of the table; None if it is named.
        is_in_script: whether it is part of a script.
    """

    command: str
    table: str | None = None
    path: str | None = None
    is_in_script: bool = False

    @classmethod
    def read(cls, text: str) -> LackingStatement | None:
        """Return the first such statement in a string, which may be a script, or None without one."""
        if _MENTIONED.search(text) is None:
            return None
        plain = without_comments(text)
        for place in _places(plain):
            for command, pattern in _STATEMENTS.items():
                match = pattern.match(plain, place)
                if match is not None:
                    groups = match.groupdict()
                    in_script = _SCRIPT.match(plain) is not None
                    return cls(command, _plain_name(groups.get("table")), groups.get("path"), in_script)
        return None

    def error(self) -> DeltaError:
        """Return the error for the user."""
        if self.is_in_script and self.command not in _INSTEAD:
            return failed("statement-in-script", table=self.path or self.table, features=[self.command], operation=self.command)
        return not_yet(self.command, self.path or self.table, next_step=_INSTEAD.get(self.command, ""))


class LackingStatements:
    """Refuses statements that bayou does not support."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def refuse_text(self, text: str) -> None:
        """Raise UnsupportedFeatureError for an unsupported statement of Delta Lake that may be about a Delta table."""
        statement = LackingStatement.read(text)
        if statement is None or not (statement.is_in_script or statement.command in _INSTEAD):
            return
        if self._may_be_ours(active_session(jvm_of(self._application)), statement):
            raise statement.error()

    def _may_be_ours(self, spark: SparkSession, statement: LackingStatement) -> bool:
        """Whether the statement may be about a Delta table."""
        if statement.table is None:
            return True
        jvm = jvm_of(self._application)
        parts = table_name(jvm, java_session(spark), statement.table)
        if parts is None:
            return statement.table.lower().startswith("delta.")
        catalog = Catalog(jvm, spark)
        try:
            name = catalog.name(column_sql(parts))
            entry = None if name.path is not None else catalog.entry(name)
        except DeltaError:
            return False
        return entry is None or (not entry.is_view and entry.provider == "delta")


def without_comments(text: str) -> str:
    """Return a statement without comments and surrounding blanks."""
    return _COMMENTS.sub(lambda match: match["quoted"] or " ", text).strip()


def _places(text: str) -> Iterator[int]:
    """Yield the positions where a statement may begin: the start, after EXPLAIN, and in scripts after words such as BEGIN."""
    yield 0
    explained = _EXPLAIN.match(text)
    if explained is not None:
        yield explained.end()
    if _SCRIPT.match(text):
        yield from (beginning.end() for beginning in _BEGINNINGS.finditer(text) if beginning[0][0] not in "'\"`")


def _plain_name(name: str | None) -> str | None:
    return None if name is None or name.lower() == "identifier" else name


def has_table(jvm: Jvm, spark: SparkSession, name: str) -> bool:
    """Whether a table or a view may have that name. True for all names in other catalogs, which bayou does not query."""
    parts = table_name(jvm, java_session(spark), name)
    if parts is None:
        return True
    catalog = Catalog(jvm, spark)
    return catalog.entry(catalog.name(column_sql(parts))) is not None
