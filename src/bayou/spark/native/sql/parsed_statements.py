# SPDX-License-Identifier: Apache-2.0
"""Replace statements by bayou's commands directly after Spark's parser has parsed or refused them.

Spark's analyzer runs later. It would reject some of these statements, or resolve them in a way that does not fit Delta tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.spark.jvm.relations.parser import knows_constraints
from bayou.spark.jvm.relations.plans import node_name
from bayou.spark.native.dml.commands import command_of_parsed_delete, command_of_parsed_update
from bayou.spark.native.merge.statement import command_of_parsed_merge
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.native.sql.column_comments import as_alteration
from bayou.spark.native.sql.constraint_statements import ConstraintStatements
from bayou.spark.native.sql.declared_constraints import refuse_added_key, with_checks_as_properties
from bayou.spark.native.sql.functions.described import DescribedQueries
from bayou.spark.native.sql.older_parsers import OlderParsers
from bayou.spark.native.sql.refused_statements import LackingStatements
from bayou.spark.native.sql.replacing_inserts import as_write
from bayou.spark.native.sql.statements import StatementCommands

if TYPE_CHECKING:
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


class ParsedStatements:
    """Creates commands for statements on behalf of the Java class `bayou.Parser`. Spark runs the commands later."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._constraints = ConstraintStatements(application)
        self._lacking = LackingStatements(application)
        self._commands = StatementCommands(application)
        self._older = OlderParsers(application)
        self._described = DescribedQueries(application)
        self._is_known = knows_constraints(jvm_of(application))

    def __call__(self, text: str | None, parsed: JavaObject) -> JavaObject | None:
        """Return the command for a parsed node, or None to leave the node to Spark.

        Args:
            text: the statement; None for a statement in a script.
            parsed: the unresolved node of Catalyst.
        """
        in_script = text is None
        kind = node_name(parsed)
        match kind:
            case "DescribeColumn":
                return self._commands.of_description(parsed, text)
            case "AddConstraint":
                refuse_added_key(self._application, parsed)
                return None
            case "AddCheckConstraint":
                return self._constraints.of_parsed(parsed, in_script=in_script)
            case "CreateTable" | "ReplaceTable":
                return with_checks_as_properties(self._application, parsed)
        return _MAKERS[kind](self._application, parsed, in_script=in_script)

    def of_refused(self, text: str, context: JavaObject | None) -> JavaObject | str | None:
        """Return the command for a statement that Spark's parser refused, or None if it is not a statement of Delta Lake.

        For a query with DESCRIBE HISTORY or DETAIL in parentheses, return an equivalent statement that Spark can parse.

        Args:
            context: the values of its parameters, as Spark passes them to its parsers; None without parameters.

        Raises:
            SqlSyntaxError: it is an invalid statement of Delta Lake.
            UnsupportedFeatureError: bayou does not support this statement of Delta Lake.
        """
        command: JavaObject | str | None = None
        if not self._is_known and "constraint" in text.lower():
            command = self._constraints.of_text(text)
        if command is None:
            command = self._commands.of_text(text, context)
        if command is None:
            command = self._older.of_text(text)
        if command is None:
            command = self._described.of_text(text)
        if command is None:
            self._lacking.refuse_text(text)
        return command


_MAKERS = {
    "DeleteFromTable": command_of_parsed_delete,
    "UpdateTable": command_of_parsed_update,
    "MergeIntoTable": command_of_parsed_merge,
    "AlterColumns": as_alteration,
    "InsertIntoStatement": as_write,
}
