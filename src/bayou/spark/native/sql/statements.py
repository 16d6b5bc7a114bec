# SPDX-License-Identifier: Apache-2.0
"""Turn a statement that only Delta Lake has, such as VACUUM, into a command in Spark's plan.

Spark's parser refuses most of these statements, and passes their text to bayou. It misreads DESCRIBE HISTORY and DESCRIBE DETAIL as
statements about a column.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from bayou.errors import failed
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.jvm.core.callbacks import BiFunction
from bayou.spark.jvm.core.session import active_session, java_session, session_of
from bayou.spark.jvm.relations import commands
from bayou.spark.jvm.relations.parser import (
    described_column,
    parameter_literal,
    substituted,
    table_name,
    takes_parameters,
    words_of,
)
from bayou.spark.jvm.relations.relation import java_frame
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.native.sql.refused_statements import has_table, without_comments
from bayou.spark.session.interrupts import interruptible
from bayou.spark.sql.statements.context import Context
from bayou.spark.sql.statements.description import DescribeDetail, DescribeHistory
from bayou.spark.sql.statements.kinds import MODES, Statement, begins, read_statement, shown, tables_of
from bayou.spark.sql.statements.parameters import FilledText, parameters_in
from bayou.spark.sql.statements.plan_text import plan_text, redacted
from bayou.spark.sql.statements.reader import Reader, TableReference, error_at
from bayou.spark.table.describe import spark_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


_PLAN: Final = pa.schema([("plan", pa.string())])
_DESCRIBES: Final = re.compile(r"\bdesc(?:ribe)?\s+(?:history|detail)\b", re.IGNORECASE)
_DESCRIPTIONS: Final = {"history": DescribeHistory, "detail": DescribeDetail}


class StatementCommands:
    """Creates commands for statements. Spark runs them later, or never if it only explains the plan."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def of_text(self, text: str, context: JavaObject | None = None) -> JavaObject | None:
        """Return the command for a statement that Spark's parser refused, or None if it is not a statement of Delta Lake.

        Args:
            context: the values of its parameters, as Spark passes them to its parsers; None without parameters.

        Raises:
            SqlSyntaxError: it starts like a statement of Delta Lake, and the rest is not valid or a parameter has no value.
            UnsupportedFeatureError: it has parameters, whose values this Spark version does not pass to parsers.
        """
        jvm = jvm_of(self._application)
        reader = self._reader(substituted(jvm, text), context)
        explains = reader.take("EXPLAIN")
        mode = (reader.take_one(*MODES) or "") if explains else ""
        start = reader.position
        statement = read_statement(reader)
        if statement is None or any(map(self._is_elsewhere, tables_of(statement))):
            return None
        text = reader.text[start:]
        return self._explained(statement, text, mode) if explains else self.of_statement(statement, text)

    def _reader(self, text: str, context: JavaObject | None) -> Reader:
        """Return a reader of a statement in which literals replace the parameters."""
        jvm = jvm_of(self._application)
        words = words_of(jvm, text)
        parameters = parameters_in(words)
        if not parameters or not begins(Reader(text, words)):
            return Reader(text, words)
        if not takes_parameters(jvm):
            raise failed(
                "parameters-without-values",
                features=["parameters in statements that only Delta has"],
                parameter=parameters[0].text,
                spark_version=jvm.spark_version_text,
            )
        values, number = [], 0
        for each in parameters:
            literal = None if context is None else parameter_literal(jvm, context, each.name, number)
            if literal is None:
                problem = f"Found the unbound parameter: {each.name or each.text}. Give it a value in the arguments of spark.sql"
                raise error_at(text, each.start, problem, error_class="UNBOUND_SQL_PARAMETER")
            values.append(literal)
            number += each.name is None
        filled = FilledText.of(text, parameters, values)
        return Reader(filled.text, words_of(jvm, filled.text), filled)

    def of_description(self, parsed: JavaObject, text: str | None) -> JavaObject | None:
        """Return the command for DESCRIBE HISTORY or DETAIL, which Spark parses as a column of a table `history` or `detail`.

        Return None if such a table exists, or if another table is described. Statements in a script have no text.
        """
        jvm = jvm_of(self._application)
        # DESCRIBE TABLE history x and DESCRIBE `history` x have the same node, but mean the table `history`.
        if text is not None and not _DESCRIBES.search(without_comments(text)):
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
        """Whether the table is in another catalog, whose statements bayou leaves to Spark."""
        name = reference.name
        return name is not None and table_name(jvm_of(self._application), self._session(), name) is None

    def _session(self) -> JavaObject:
        return java_session(active_session(jvm_of(self._application)))

    def of_statement(self, statement: Statement, text: str) -> JavaObject:
        """Return the command for a statement."""
        return self._command(statement.run, shown(text), statement.columns)

    def _explained(self, statement: Statement, text: str, mode: str) -> JavaObject:
        """Return the command for EXPLAIN of a statement. The command computes the plan when it runs."""
        line = shown(text)

        def run(context: Context) -> DataFrame:
            return context.rows(_PLAN, [{"plan": plan_text(line, mode, redacted(statement.explain(context)))}])

        return self._command(run, " ".join(filter(None, ("EXPLAIN", mode, line))), _PLAN)

    def _command(self, run: Callable[[Context], DataFrame | None], shown: str, columns: pa.Schema) -> JavaObject:
        application = self._application

        def body(_nothing: None, session: JavaObject) -> JavaObject | None:
            spark = session_of(session)
            with interruptible(spark):
                rows = run(Context(application, spark))
            return None if rows is None else java_frame(rows)

        return commands.statement(jvm_of(application), BiFunction(jvm_of(application), body), shown, spark_schema(columns))
