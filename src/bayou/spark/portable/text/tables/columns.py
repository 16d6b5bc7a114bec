# SPDX-License-Identifier: Apache-2.0
"""Read the columns that CREATE TABLE and ALTER TABLE define.

Source: `colDefinition`, `qualifiedColTypeWithPosition` and `tableConstraintDefinition` in Spark's grammar `SqlBaseParser.g4`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bayou.spark.portable.text.tables.reader import TableReader
from bayou.spark.portable.text.tokens import words

if TYPE_CHECKING:
    from bayou.spark.portable.text.queries import Part

_ENDS_OF_DEFAULT: Final = frozenset(
    {"", ",", ")", "COMMENT", "GENERATED", "CONSTRAINT", "CHECK", "PRIMARY", "UNIQUE", "REFERENCES", "FOREIGN", "FIRST", "AFTER"}
)


@dataclass(frozen=True, slots=True)
class Identity:
    """`GENERATED ... AS IDENTITY (START WITH start INCREMENT BY step)`.

    Attributes:
        allows_explicit: whether an INSERT may have values for the column (BY DEFAULT).
    """

    start: int = 1
    step: int = 1
    allows_explicit: bool = False


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint that a statement declares.

    Attributes:
        name: its name; None if it has none.
        kind: CHECK, PRIMARY KEY, UNIQUE or FOREIGN KEY.
        condition: the condition of a CHECK, without comments; empty for a key.
        says_rely: whether it says RELY or NORELY.
    """

    name: str | None
    kind: str
    condition: str = ""
    says_rely: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a statement defines.

    Attributes:
        path: its name, after the names of the structs that it is in.
        type: its type in SQL.
        default: SQL of its default.
        generated: SQL of the expression that generates its values.
        identity: how it numbers its rows.
        position: the column that it follows; an empty string if it comes first; None without a position.
    """

    path: tuple[str, ...]
    type: str
    nullable: bool = True
    comment: str | None = None
    default: str | None = None
    generated: str | None = None
    identity: Identity | None = None
    position: str | None = None

    @property
    def name(self) -> str:
        """The name without the structs."""
        return self.path[-1]


class ColumnReader(TableReader):
    """A cursor that reads definitions of columns and of constraints."""

    def elements(self) -> tuple[tuple[Column, ...], tuple[Constraint, ...]]:
        """Read the columns and the constraints of a new table, in parentheses."""
        self.expect("(")
        columns: list[Column] = []
        constraints: list[Constraint] = []
        while not (columns or constraints) or self.take(","):
            if self._begins_constraint():
                constraints.append(self.constraint())
            else:
                columns.append(self._options(Column((self.part(),), self.type_text()), constraints))
        self.expect(")")
        return tuple(columns), tuple(constraints)

    def added_columns(self) -> tuple[Column, ...]:
        """Read the columns of ADD COLUMNS or REPLACE COLUMNS, with or without parentheses."""
        is_open = self.take("(")
        found = [self._added()]
        while self.take(","):
            found.append(self._added())
        if is_open:
            self.expect(")")
        return tuple(found)

    def position_clause(self) -> str | None:
        """Read `FIRST` or `AFTER column`: the column, an empty string for the first place, or None without the clause."""
        if self.take("FIRST"):
            return ""
        return self.part() if self.take("AFTER") else None

    def constraint(self) -> Constraint:
        """Read a constraint of a table: `[CONSTRAINT name] CHECK (condition)`, or a key."""
        name = self.part() if self.take("CONSTRAINT") else None
        return self._constraint(name)

    def default(self) -> str:
        """Read an expression up to the next clause, and return it as it is written."""
        start = self.at
        while self.said() not in _ENDS_OF_DEFAULT and not (self.next_is("NOT", "NULL") and self.said(-1) != "IS"):
            if self.said() in ("(", "["):
                self.skip_brackets()
            elif self.next_is("CASE"):
                self.primary()
            else:
                self.next_word()
        if self.at == start:
            self.fail("a default is missing")
        return self.part_of(self.words[start].start).text

    def _added(self) -> Column:
        column = self._options(Column(self.parts(), self.type_text()), None, with_position=True)
        if column.generated is not None or column.identity is not None:
            self.fail("a generated column in ALTER TABLE")
        return column

    def _options(self, column: Column, constraints: list[Constraint] | None, *, with_position: bool = False) -> Column:
        """Read the options of a column, in any order, each at most once."""
        seen: set[str] = set()
        while True:
            at, kind = self.at, ""
            if self.take("NOT", "NULL"):
                kind, column = "null", replace(column, nullable=False)
            elif self.next_is("COMMENT"):
                kind, column = "comment", replace(column, comment=self.comment())
            elif self.take("DEFAULT"):
                kind, column = "value", replace(column, default=self.default())
            elif self.take("GENERATED"):
                kind, column = "value", self._generated(column)
            elif with_position and self.said() in ("FIRST", "AFTER"):
                kind, column = "position", replace(column, position=self.position_clause())
            elif constraints is not None and (self.next_is("CONSTRAINT") or self._begins_constraint()):
                constraints.append(self._of_column())
                continue
            if self.at == at:
                return column
            if kind in seen:
                self.fail("an option of a column twice")
            seen.add(kind)

    def _of_column(self) -> Constraint:
        name = self.part() if self.take("CONSTRAINT") else None
        return self._constraint(name, of_column=True)

    def _begins_constraint(self) -> bool:
        """Whether a constraint comes next, and not a column of that name."""
        if self.next_is("CONSTRAINT"):
            return self.is_name(1) and self.said(2) in ("CHECK", "PRIMARY", "UNIQUE", "FOREIGN", "REFERENCES")
        follower = {"CHECK": ("(",), "PRIMARY": ("KEY",), "FOREIGN": ("KEY",), "UNIQUE": ("(", ",", ")", "")}
        return self.said(1) in follower.get(self.said(), ()) or (self.next_is("REFERENCES") and self.is_name(1))

    def _constraint(self, name: str | None, *, of_column: bool = False) -> Constraint:
        if self.take("CHECK"):
            # Without comments, and with one blank between two words, as Spark's parser and Delta Lake have it.
            condition = " ".join(word.text for word in words(self.in_brackets().text))
            return Constraint(name, "CHECK", condition, self._traits())
        kind = self.take_one("UNIQUE", "REFERENCES") or ""
        if not kind:
            kind = f"{self.take_one('PRIMARY', 'FOREIGN') or self.fail()} KEY"
            self.expect("KEY")
        kind = "FOREIGN KEY" if kind == "REFERENCES" else kind
        if not of_column or self.next_is("("):
            self.listed_names()
        if kind == "FOREIGN KEY":
            self.take("REFERENCES")
            self.parts()
            if self.next_is("("):
                self.listed_names()
        self._traits()
        return Constraint(name, kind)

    def _traits(self) -> bool:
        """Read what follows a constraint, and return whether it says RELY or NORELY."""
        says_rely = False
        while self.said() in ("ENFORCED", "RELY", "NORELY"):
            says_rely = self.next_word().text.upper() != "ENFORCED" or says_rely
        if self.next_is("NOT") and self.said(1) != "NULL":
            self.fail("a constraint that is not enforced")
        return says_rely

    def _generated(self, column: Column) -> Column:
        always = self.take("ALWAYS")
        if not always:
            self.expect("BY", "DEFAULT")
        self.expect("AS")
        if self.take("IDENTITY"):
            return replace(column, identity=self._identity(allows_explicit=not always))
        if not always:
            self.fail()
        part: Part = self.in_brackets()
        return replace(column, generated=part.text)

    def _identity(self, *, allows_explicit: bool) -> Identity:
        start = step = None
        if self.take("("):
            while not self.take(")"):
                if self.take("START", "WITH") and start is None:
                    start = self._integer()
                elif self.take("INCREMENT", "BY") and step is None:
                    step = self._integer()
                else:
                    self.fail()
        if step == 0:
            self.fail("a step of 0")
        return Identity(1 if start is None else start, 1 if step is None else step, allows_explicit)

    def _integer(self) -> int:
        sign = -1 if self.take("-") else 1
        word = self.peek()
        if word is None or word.kind != "INTEGER_VALUE":
            self.fail("a whole number is missing")
        return sign * int(self.next_word().text)
