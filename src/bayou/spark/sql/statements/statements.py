# SPDX-License-Identifier: Apache-2.0
"""From a text that Spark's parser refuses to a command of Spark's plan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

from bayou.errors import redact_text
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.jvm.core.callbacks import BiFunction
from bayou.spark.jvm.core.session import active_session, java_session, session_of
from bayou.spark.jvm.relations import commands
from bayou.spark.jvm.relations.parser import described_column, substituted, table_name, words_of
from bayou.spark.sql.refused_statements import has_table, without_comments
from bayou.spark.sql.statements.alteration import AlterTable, Convert
from bayou.spark.sql.statements.clone import Clone
from bayou.spark.sql.statements.context import Context
from bayou.spark.sql.statements.description import DescribeDetail, DescribeHistory
from bayou.spark.sql.statements.maintenance import ComputeStatistics, Generate, Optimize, Reorg, Restore, Vacuum
from bayou.spark.sql.statements.reader import Reader, TableReference, without_secrets
from bayou.spark.table.describe import spark_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


class Statement(Protocol):
    """A statement that was read."""

    @property
    def columns(self) -> pa.Schema:
        """The columns of its rows."""
        ...

    def run(self, context: Context) -> DataFrame | None:
        """Do what it says; gives its rows."""
        ...


STATEMENTS: Final = (
    *(Vacuum, Optimize, Reorg, Restore, Generate, ComputeStatistics),
    *(DescribeHistory, DescribeDetail, Convert, AlterTable, Clone),
)
"""Every kind of statement. Each says by which words it begins."""


def read_statement(reader: Reader) -> Statement | None:
    """Read a statement.

    Args:
        reader: the text and its words.

    Returns:
        The statement; None if it is not one of Delta's.

    Raises:
        SqlSyntaxError: it begins like one of Delta's, and goes on otherwise.
    """
    for kind in STATEMENTS:
        if any(reader.take(*words) for words in kind.begins):
            found: Statement | None = kind.read(reader)
            if found is not None:
                reader.end()
            return found
    return None


_MODES: Final = ("LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST")
_DESCRIBES: Final = re.compile(r"\bdesc(?:ribe)?\s+(?:history|detail)\b", re.IGNORECASE)
_DESCRIPTIONS: Final = {"history": DescribeHistory, "detail": DescribeDetail}


def tables_of(statement: Statement) -> list[TableReference]:
    """The tables that a statement names."""
    found = (getattr(statement, name, None) for name in ("table", "target", "source"))
    return [each for each in found if isinstance(each, TableReference)]


class StatementCommands:
    """Makes commands of statements, for one application. It runs none."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def of_text(self, text: str) -> JavaObject | None:
        """The command for a text that Spark's parser refused; None if it is no statement of Delta's.

        Raises:
            SqlSyntaxError: it begins like one of Delta's, and goes on otherwise.
        """
        jvm = self._application.jvm
        text = substituted(jvm, text)
        reader = Reader(text, words_of(jvm, text))
        explains = reader.take("EXPLAIN")
        mode = (reader.take_one(*_MODES) or "") if explains else ""
        start = reader.position
        statement = read_statement(reader)
        if statement is None or any(map(self._is_elsewhere, tables_of(statement))):
            return None
        command = self.of_statement(statement, reader.text[start:])
        return commands.explained(jvm, self._session(), command, mode) if explains else command

    def of_description(self, parsed: JavaObject, text: str | None) -> JavaObject | None:
        """The command for DESCRIBE HISTORY and DESCRIBE DETAIL, which Spark reads as a column of a table with that name.

        Args:
            parsed: the DescribeColumn, not resolved.
            text: the statement; None for one of a script's.

        Returns:
            The command; None if there is a table `history` or `detail`, or another table is described.
        """
        jvm = self._application.jvm
        if text is not None and not _DESCRIBES.search(without_comments(text)):  # DESCRIBE TABLE history, DESCRIBE `history`
            return None
        described = described_column(jvm, parsed)
        if described is None:
            return None
        (word, *more), column = described
        kind = _DESCRIPTIONS.get(word.lower())
        if more or kind is None or has_table(jvm, active_session(jvm), word):
            return None
        table = TableReference(".".join(map(quoted_name, column)))
        return self.of_statement(kind(table), f"DESCRIBE {word.upper()} {table.text}")

    def _is_elsewhere(self, reference: TableReference) -> bool:
        """Whether a name is that of a table in another catalog, whose statements are not bayou's."""
        name = reference.name
        return name is not None and table_name(self._application.jvm, self._session(), name) is None

    def _session(self) -> JavaObject:
        return java_session(active_session(self._application.jvm))

    def of_statement(self, statement: Statement, text: str) -> JavaObject:
        """The command for a statement.

        Args:
            statement: the statement.
            text: what EXPLAIN shows.
        """
        application = self._application

        def run(_nothing: None, session: JavaObject) -> JavaObject | None:
            rows = statement.run(Context(application, session_of(session)))
            return None if rows is None else rows._jdf  # noqa: SLF001  (the bridge)

        body = BiFunction(application.jvm, run)
        shown = redact_text(" ".join(without_secrets(text).split()))
        return commands.statement(application.jvm, body, shown, spark_schema(statement.columns))
