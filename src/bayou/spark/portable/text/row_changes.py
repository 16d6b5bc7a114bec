# SPDX-License-Identifier: Apache-2.0
"""Read the statements that change rows: DELETE, UPDATE, MERGE and INSERT.

Conditions, values and queries stay text, of which only the ends are found. Source: `dmlStatementNoWith` in Spark's grammar
`SqlBaseParser.g4`, and for the REPLACE clauses of INSERT `newer_clauses` of this package's `sql.statements`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias
from typing import Literal as OneOf

from bayou.spark.portable.text.queries import Part, QueryReader, TableReference
from bayou.spark.portable.text.tree import UnreadableTextError

if TYPE_CHECKING:
    from bayou.spark.portable.text.literals import Dialect

_QUERIES: Final = frozenset({"SELECT", "VALUES", "WITH", "FROM", "TABLE", "MAP", "REDUCE"})
_NO_ALIASES: Final = frozenset({"WHERE", "SET", "USING", "ON", "WHEN", "REPLACE", "PARTITION", "IF", "BY"}) | _QUERIES


@dataclass(frozen=True, slots=True)
class Assignment:
    """`column = value` of a SET clause."""

    target: tuple[str, ...]
    value: Part


@dataclass(frozen=True, slots=True)
class Delete:
    """`DELETE FROM table [AS alias] [WHERE condition]`.

    Attributes:
        with_clause: the WITH clause in front of the statement; None without one. All statements have it.
    """

    table: TableReference
    alias: str | None = None
    condition: Part | None = None
    with_clause: Part | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """`UPDATE table [AS alias] SET column = value, ... [WHERE condition]`."""

    table: TableReference
    alias: str | None
    assignments: tuple[Assignment, ...]
    condition: Part | None = None
    with_clause: Part | None = None


@dataclass(frozen=True, slots=True)
class Clause:
    """A WHEN clause of a MERGE.

    Attributes:
        kind: the rows that it is about.
        action: what it does with them.
        condition: the condition after AND; None without one.
        assignments: the new values of an update, or of an insert in the order of its columns; none for all columns (`*`).
        is_star: whether it sets or inserts all columns.
    """

    kind: OneOf["matched", "not matched", "not matched by source"]
    action: OneOf["delete", "update", "insert"]
    condition: Part | None = None
    assignments: tuple[Assignment, ...] = ()
    is_star: bool = False


@dataclass(frozen=True, slots=True)
class Merge:
    """`MERGE INTO table [AS alias] USING source [AS alias] ON condition WHEN ...`.

    Attributes:
        source: a table, or a query without its parentheses.
        source_columns: the names in parentheses after the alias of the source.
    """

    table: TableReference
    alias: str | None
    source: TableReference | Part
    source_alias: str | None
    source_columns: tuple[str, ...]
    condition: Part
    clauses: tuple[Clause, ...]
    with_schema_evolution: bool = False
    with_clause: Part | None = None


@dataclass(frozen=True, slots=True)
class Insert:
    """`INSERT {INTO | OVERWRITE} table ... query`.

    Attributes:
        partition: the text in the parentheses of PARTITION (...); None without it.
        columns: the columns after the table.
        by_name: whether it says BY NAME.
        replace_where: the condition of REPLACE WHERE.
        replace_on: the condition of REPLACE ON.
        replace_using: the columns of REPLACE USING.
        query_alias: the alias of the query of a REPLACE ON, whose parentheses are not part of `query`.
        with_schema_evolution: whether it says WITH SCHEMA EVOLUTION.
    """

    table: TableReference
    alias: str | None
    query: Part
    is_overwrite: bool = False
    partition: Part | None = None
    if_not_exists: bool = False
    columns: tuple[str, ...] = ()
    by_name: bool = False
    replace_where: Part | None = None
    replace_on: Part | None = None
    replace_using: tuple[str, ...] = ()
    query_alias: str | None = None
    with_clause: Part | None = None
    with_schema_evolution: bool = False


RowChange: TypeAlias = Delete | Update | Merge | Insert


def row_change(text: str, dialect: Dialect | None = None) -> RowChange | None:
    """Return the parts of a statement that changes rows; None for any other statement.

    Args:
        text: one statement, which a semicolon may end.
        dialect: the settings that decide what the text means; None for Spark's defaults.

    Raises:
        UnreadableTextError: bayou cannot read the statement. Spark may.
    """
    reader = _StatementReader(text, dialect)
    while reader.words and reader.words[-1].text == ";":
        reader.words.pop()
    try:
        return reader.statement()
    except RecursionError:
        raise UnreadableTextError("a statement that is nested too deeply") from None


class _StatementReader(QueryReader):
    """A cursor that reads a statement that changes rows."""

    def statement(self) -> RowChange | None:
        """Read the whole statement; None if it is another one."""
        start = self.position
        clause = None
        if self.next_is("WITH"):
            self.with_clause(frozenset())
            clause = self.part_of(start)
        found = self._change(clause)
        if found is not None:
            self.end()
        return found

    def _change(self, clause: Part | None) -> RowChange | None:
        if self.take("DELETE", "FROM"):
            return Delete(self._target(), self._alias(), self._where(), clause)
        if self.take("UPDATE"):
            table, alias = self._target(), self._alias()
            self.expect("SET")
            return Update(table, alias, self._assignments("WHERE"), self._where(), clause)
        if self.take("MERGE"):
            return self._merge(clause)
        if self.next_is("INSERT", "INTO") or self.next_is("INSERT", "OVERWRITE") or self.next_is("INSERT", "WITH"):
            self.at += 1
            evolves = self.take("WITH", "SCHEMA", "EVOLUTION")
            is_overwrite = self.take_one("INTO", "OVERWRITE") == "OVERWRITE"
            is_directory = self.next_is("DIRECTORY") or self.next_is("LOCAL", "DIRECTORY")
            found = None if is_overwrite and is_directory else self._insert(clause, is_overwrite=is_overwrite)
            return None if found is None else replace(found, with_schema_evolution=evolves)
        return None

    def _target(self) -> TableReference:
        found = self._named()
        if found.travel is not None:
            self.fail("an earlier version of a table that is changed")
        return found

    def _named(self) -> TableReference:
        found = self.table(may_call=False)
        return found if found is not None else self.fail()

    def _alias(self) -> str | None:
        if self.take("AS"):
            return self.part()
        return self.part() if self.is_name() and self.said() not in _NO_ALIASES else None

    def _where(self) -> Part | None:
        return self._until() if self.take("WHERE") else None

    def _until(self, *ends: str) -> Part:
        """Read up to one of the words, or to a comma or a parenthesis that is not opened here, or to the end."""
        start, cases = self.at, 0
        while not self.is_at_end:
            said = "" if self.said(-1) == "." else self.said()
            if said == ")" or (not cases and (said in ends or said == ",")):
                break
            if said in ("(", "["):
                self.skip_brackets()
                continue
            if said == "CASE" and self.said(1) not in ("", ",", ")", ".", "="):
                cases += 1
            elif said == "END" and cases:
                cases -= 1
            self.next_word()
        if self.at == start:
            self.fail()
        return self.part_of(self.words[start].start)

    def _assignments(self, *ends: str) -> tuple[Assignment, ...]:
        found: list[Assignment] = []
        while not found or self.take(","):
            target = self.parts()
            if not self.take_one("=", "=="):
                self.fail()
            found.append(Assignment(target, self._until(*ends)))
        return tuple(found)

    def _merge(self, clause: Part | None) -> Merge:
        evolves = self.take("WITH", "SCHEMA", "EVOLUTION")
        self.expect("INTO")
        table, alias = self._target(), self._alias()
        self.expect("USING")
        source = self._in_brackets() if self.next_is("(") else self._named()
        source_alias = self._alias()
        columns = self.listed_names() if source_alias is not None and self.next_is("(") else ()
        self.expect("ON")
        condition = self._until("WHEN")
        clauses = []
        while self.take("WHEN"):
            clauses.append(self._clause())
        return Merge(table, alias, source, source_alias, columns, condition, tuple(clauses), evolves, clause)

    def _clause(self) -> Clause:
        kind: OneOf["matched", "not matched", "not matched by source"] = "matched"
        if self.take("NOT") or self.take("!"):
            kind = "not matched"
        self.expect("MATCHED")
        if kind == "not matched" and self.take("BY") and self.take_one("SOURCE", "TARGET") == "SOURCE":
            kind = "not matched by source"
        condition = self._until("THEN") if self.take("AND") else None
        self.expect("THEN")
        if kind != "not matched" and self.take("DELETE"):
            return Clause(kind, "delete", condition)
        if kind != "not matched" and self.take("UPDATE", "SET"):
            if kind == "matched" and self.take("*"):
                return Clause(kind, "update", condition, is_star=True)
            return Clause(kind, "update", condition, self._assignments("WHEN"))
        if kind != "not matched":
            self.fail()
        self.expect("INSERT")
        if self.take("*"):
            return Clause(kind, "insert", condition, is_star=True)
        return Clause(kind, "insert", condition, self._inserted())

    def _inserted(self) -> tuple[Assignment, ...]:
        self.expect("(")
        targets = [self.parts()]
        while self.take(","):
            targets.append(self.parts())
        self.expect(")")
        self.expect("VALUES", "(")
        values = [self._until()]
        while self.take(","):
            values.append(self._until())
        self.expect(")")
        if len(values) != len(targets):
            self.fail(f"{len(targets)} columns and {len(values)} values")
        return tuple(Assignment(target, value) for target, value in zip(targets, values, strict=True))

    def _insert(self, clause: Part | None, *, is_overwrite: bool) -> Insert:
        if self.next_is("TABLE") and self.is_name(1):
            self.at += 1
        table, alias = self._target(), self._alias()
        partition = None
        if self.next_is("PARTITION", "("):
            self.at += 1
            partition = self._in_brackets()
        exists = self.take("IF", "NOT", "EXISTS")
        by_name = self.take("BY", "NAME")
        columns = self.listed_names() if not by_name and self.next_is("(") and not self._opens_query() else ()
        where = on = None
        using: tuple[str, ...] = ()
        if self.take("REPLACE", "WHERE"):
            where = self._condition()
        elif self.take("REPLACE", "ON"):
            on = self._condition()
        elif self.take("REPLACE", "USING"):
            using = self.listed_names()
        aliased = self._aliased_query() if on is not None else None
        query, query_alias = aliased or (self._query(), None)
        return Insert(table, alias, query, is_overwrite, partition, exists, columns, by_name, where, on, using, query_alias, clause)

    def _aliased_query(self) -> tuple[Part, str] | None:
        """Read a query in parentheses and its alias. Return None, and read nothing, if the alias is missing."""
        at = self.at
        if self.next_is("(") and self._opens_query():
            query = self._in_brackets()
            alias = self._alias()
            if alias is not None and self.is_at_end:
                return query, alias
        self.at = at
        return None

    def _in_brackets(self) -> Part:
        """Read what is in parentheses."""
        start = self.words[self.at].end
        text = self.skip_brackets()
        begin = self.text.index(text, start)
        return Part(text, begin, begin + len(text))

    def _condition(self) -> Part:
        """Read a condition that a query follows without a word in between."""
        start = self.position
        self.expression()
        return self.part_of(start)

    def _query(self) -> Part:
        """Read the query at the end of the statement."""
        if self.said() not in _QUERIES and not self.next_is("("):
            self.fail()
        start = self.position
        self.query(frozenset())
        return self.part_of(start)
