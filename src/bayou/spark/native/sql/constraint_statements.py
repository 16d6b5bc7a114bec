# SPDX-License-Identifier: Apache-2.0
"""Turn ALTER TABLE ... ADD CONSTRAINT ... CHECK and DROP CONSTRAINT into commands in Spark's plan.

Before Spark 4.1 its parser refuses these statements, and bayou parses them. From 4.1 on they arrive as nodes of Catalyst, either
parsed or resolved. The commands add or drop the constraint in the same way as the methods of `DeltaTable`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bayou.errors import redact_text
from bayou.protocol.types.sql_text import column_sql, quoted_name
from bayou.spark.alter import constraints as alter_constraints
from bayou.spark.jvm.core.callbacks import BiFunction
from bayou.spark.jvm.core.session import active_session, java_session, session_of
from bayou.spark.jvm.relations import commands
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.parser import (
    added_check,
    dropped_constraint,
    says_rely,
    stated_name,
    stated_parts,
    stated_table,
    table_name,
    words,
    written_table,
)
from bayou.spark.jvm.relations.plans import node_name
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.read.session_table import SessionTable
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

_ALTER: Final = ("ALTER", "TABLE")


@dataclass(frozen=True, slots=True)
class ConstraintStatement:
    """A statement about a constraint.

    Attributes:
        table: the table's name in SQL.
        name: the constraint's name in SQL.
        condition: the condition to add, with one blank between words, as delta-spark stores it; None for DROP CONSTRAINT.
        if_exists: whether to ignore a missing constraint.
    """

    table: str
    name: str
    condition: str | None = None
    if_exists: bool = False

    @property
    def text(self) -> str:
        """Return the statement as EXPLAIN shows it."""
        what = "DROP CONSTRAINT" if self.condition is None else "ADD CONSTRAINT"
        check = "" if self.condition is None else f" CHECK ({self.condition})"
        return f"ALTER TABLE {redact_text(self.table)} {what} {quoted_name(self.name)}{check}"

    @classmethod
    def read(cls, words_of_statement: Iterable[str]) -> ConstraintStatement | None:
        """Parse the words of a statement, or return None for any other statement.

        The words come one by one from the JVM, so stop early if the statement is not ALTER TABLE.
        """
        source = iter(words_of_statement)
        if tuple(word.upper() for _, word in zip(_ALTER, source, strict=False)) != _ALTER:
            return None
        tail = list(source)
        while tail and tail[-1] == ";":
            tail.pop()
        capitals = [word.upper() for word in tail]
        # The table's name has at least one word, which may be ADD or DROP.
        place = next(
            (i for i in range(1, len(tail) - 2) if capitals[i] in {"ADD", "DROP"} and capitals[i + 1] == "CONSTRAINT"),
            None,
        )
        if place is None:
            return None
        table, clause = " ".join(tail[:place]), tail[place + 2 :]
        match [capitals[place], *capitals[place + 2 :]]:
            case ["ADD", _, "CHECK", "(", _, *_] if _is_in_parentheses(clause[2:]):
                return cls(table, clause[0], " ".join(clause[3:-1]))
            case ["DROP", _]:
                return cls(table, clause[0])
            case ["DROP", "IF", "EXISTS", _]:
                return cls(table, clause[2], if_exists=True)
        return None


def _is_in_parentheses(words_of_condition: list[str]) -> bool:
    """Whether the last word closes the parenthesis that the first opens, with words in between."""
    depth = 0
    for place, word in enumerate(words_of_condition):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth == 0:
            return place == len(words_of_condition) - 1 and place > 1
    return False


class ConstraintStatements:
    """Creates commands for statements about constraints. Spark runs them later, or never if it only explains the plan."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def of_text(self, text: str) -> JavaObject | None:
        """Return the command for a statement that Spark's parser refused, or None for any other statement."""
        jvm = jvm_of(self._application)
        statement = ConstraintStatement.read(words(jvm, text))
        if statement is None:
            return None
        spark = active_session(jvm)
        session, catalog = java_session(spark), Catalog(jvm, spark)
        table, name = table_name(jvm, session, statement.table), table_name(jvm, session, statement.name)
        if table is None or name is None or len(name) > 1:
            return None
        if catalog.name(column_sql(table)).path is not None and not catalog.has_paths():
            return None
        return self._command(replace(statement, table=column_sql(table), name=name[0]))

    def of_node(self, node: JavaObject) -> JavaObject:
        """Return the command for a resolved node that adds or drops a constraint, or the node itself for other tables."""
        drops = node_name(node) == "DropConstraint"
        table = stated_table(node) or (None if drops else self._written(node))
        if table is None:
            return node
        if drops:
            name, if_exists = dropped_constraint(node)
            return self._command(ConstraintStatement(table, name, if_exists=if_exists))
        statement = self._added(node, table)
        return self._made(lambda node, session: self._add(node, statement, session), statement, node)

    def of_parsed(self, node: JavaObject, *, in_script: bool) -> JavaObject | None:
        """Return the command for an unresolved AddCheckConstraint, or None if the table is not a Delta table.

        bayou replaces the node before Spark resolves it. Spark itself would query the rows that violate the condition, and would
        raise an internal error for an invalid condition.

        Args:
            in_script: whether it is part of a script. An earlier statement may create the table, so the command looks it up.
        """
        jvm = jvm_of(self._application)
        parts = stated_parts(jvm, node)
        table = column_sql(parts) if parts is not None and in_script else self._stated(active_session(jvm), node)
        if table is None:
            return None
        statement = self._added(node, table)

        def run(node: JavaObject, session: JavaObject) -> str | None:
            spark = session_of(session)
            delta_table = self._stated(spark, node)
            if delta_table is None:
                return commands.run_resolved(jvm, spark, node)
            self._add(node, replace(statement, table=delta_table), session)
            return None

        return self._made(run, statement, node)

    def _stated(self, spark: SparkSession, node: JavaObject) -> str | None:
        """Return the name in SQL of the Delta table of a parsed AddCheckConstraint, or None for any other table."""
        jvm = jvm_of(self._application)
        table = stated_name(jvm, java_session(spark), node)
        return column_sql(table) if table is not None and Catalog(jvm, spark).is_delta(column_sql(table)) else None

    def _added(self, node: JavaObject, table: str) -> ConstraintStatement:
        name, condition = added_check(node)
        return ConstraintStatement(table, name, " ".join(words(jvm_of(self._application), condition)))

    def _add(self, node: JavaObject, statement: ConstraintStatement, session: JavaObject) -> None:
        # Spark itself refuses NOT ENFORCED.
        alter_constraints.check_declared(statement.name, "CHECK", says_rely=says_rely(node), table=statement.table)
        self._run(statement, session)

    def _written(self, node: JavaObject) -> str | None:
        """Return the name of the Delta table as the statement spells it, or None for any other table.

        The node has no table if the optimizer found that every row satisfies the condition.
        """
        jvm = jvm_of(self._application)
        spark = active_session(jvm)
        table = written_table(jvm, java_session(spark), node)
        return column_sql(table) if table is not None and Catalog(jvm, spark).is_delta(column_sql(table)) else None

    def _command(self, statement: ConstraintStatement) -> JavaObject:
        return self._made(lambda _nothing, session: self._run(statement, session), statement)

    def _made(self, body: Callable[..., str | None], statement: ConstraintStatement, node: JavaObject | None = None) -> JavaObject:
        return commands.command(jvm_of(self._application), BiFunction(jvm_of(self._application), body), node, statement.text)

    def _run(self, statement: ConstraintStatement, session: JavaObject) -> None:
        spark = session_of(session)
        catalog = Catalog(jvm_of(self._application), spark)
        location = catalog.delta_location(statement.table)
        target = SessionTable.of(self._application, spark, qualify(location).uri, {})
        if statement.condition is None:
            alter_constraints.drop_constraint(target, statement.name, if_exists=statement.if_exists)
        else:
            alter_constraints.add_constraint(target, statement.name, statement.condition)
