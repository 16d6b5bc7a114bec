# SPDX-License-Identifier: Apache-2.0
"""Read ALTER TABLE and COMMENT ON.

Source: the `statement` rules with ALTER TABLE, and `commentTable`, in Spark's grammar `SqlBaseParser.g4`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from bayou.spark.portable.text.literals import name_of
from bayou.spark.portable.text.tables.columns import Column, ColumnReader, Constraint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.spark.portable.text.queries import TableReference

_REFUSED: Final = (
    *(("RENAME", "TO"), ("SET", "LOCATION"), ("ADD", "PARTITION"), ("ADD", "IF", "NOT", "EXISTS"), ("DROP", "PARTITION")),
    *(
        ("DROP", "IF", "EXISTS", "PARTITION"),
        ("PARTITION",),
        ("RECOVER", "PARTITIONS"),
        ("SET", "SERDE"),
        ("SET", "SERDEPROPERTIES"),
    ),
    *(("SET", "FILEFORMAT"), ("UNSET", "SERDEPROPERTIES"), ("DEFAULT", "COLLATION")),
)
"""Statements of Spark on tables of the catalog, and on Hive tables."""
_CHANGES: Final = frozenset({"TYPE", "COMMENT", "FIRST", "AFTER", "SET", "DROP"})
"""The words that begin the change of a column."""


@dataclass(frozen=True, slots=True)
class AddColumns:
    """`ADD COLUMNS (...)`."""

    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class ReplaceColumns:
    """`REPLACE COLUMNS (...)`."""

    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """`RENAME COLUMN path TO name`."""

    path: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class DropColumns:
    """`DROP COLUMNS [IF EXISTS] (path, ...)`."""

    paths: tuple[tuple[str, ...], ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """The change of one column. What is None stays.

    Attributes:
        type: its new type in SQL.
        nullable: whether it may be NULL from now on.
        position: the column that it follows; an empty string for the first place.
        default: SQL of its default; an empty string removes the default.
    """

    path: tuple[str, ...]
    type: str | None = None
    comment: str | None = None
    nullable: bool | None = None
    position: str | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeColumns:
    """`ALTER COLUMN path change, ...`, or `CHANGE COLUMN path name type ...`."""

    changes: tuple[ColumnChange, ...]


@dataclass(frozen=True, slots=True)
class SetProperties:
    """`SET TBLPROPERTIES (...)`."""

    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class UnsetProperties:
    """`UNSET TBLPROPERTIES [IF EXISTS] (...)`. Spark ignores missing keys in either case."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AddConstraint:
    """`ADD [CONSTRAINT name] CHECK (condition)`, or a key."""

    constraint: Constraint


@dataclass(frozen=True, slots=True)
class DropConstraint:
    """`DROP CONSTRAINT [IF EXISTS] name`."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ClusterBy:
    """`CLUSTER BY (path, ...)`, or `CLUSTER BY NONE` without columns."""

    columns: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Comment:
    """`COMMENT ON TABLE table IS text`.

    Attributes:
        text: the comment; an empty string for NULL.
    """

    text: str


@dataclass(frozen=True, slots=True)
class RefusedAlteration:
    """An alteration that no Delta table at a path can have.

    Attributes:
        words: how the statement begins after the table.
    """

    words: str


Alteration: TypeAlias = (
    AddColumns
    | ReplaceColumns
    | RenameColumn
    | DropColumns
    | ChangeColumns
    | SetProperties
    | UnsetProperties
    | AddConstraint
    | DropConstraint
    | ClusterBy
    | Comment
    | RefusedAlteration
)


@dataclass(frozen=True, slots=True)
class Alter:
    """A statement that alters a table."""

    table: TableReference
    alteration: Alteration


@dataclass(frozen=True, slots=True)
class CommentOnColumn:
    """`COMMENT ON COLUMN name IS text`.

    Attributes:
        parts: the parts of the table's name, and those of the column.
        text: the comment; None for NULL.
    """

    parts: tuple[str, ...]
    text: str | None


class AlterationReader(ColumnReader):
    """A cursor that reads a statement that alters a table."""

    def alteration(self) -> Alter | CommentOnColumn | None:
        """Read the statement, without its end; None if it is another one."""
        if self.take("COMMENT", "ON", "TABLE"):
            return Alter(self.target(), Comment(self._stated_comment() or ""))
        if self.take("COMMENT", "ON", "COLUMN"):
            return CommentOnColumn(self.parts(), self._stated_comment())
        return Alter(self.target(), self._altered()) if self.take("ALTER", "TABLE") else None

    def _stated_comment(self) -> str | None:
        self.expect("IS")
        return None if self.take("NULL") else self.string()

    def _altered(self) -> Alteration:
        refused = next((each for each in _REFUSED if self.next_is(*each)), None)
        if refused is not None:
            self.at = len(self.words)
            return RefusedAlteration(" ".join(refused))
        return self._of_properties() or self._of_columns()

    def _of_properties(self) -> Alteration | None:
        """Read an alteration of anything else than columns; None if it is about columns."""
        if self.take("SET", "TBLPROPERTIES"):
            return SetProperties(self.properties())
        if self.take("UNSET", "TBLPROPERTIES"):
            self.take("IF", "EXISTS")
            return UnsetProperties(self.property_keys())
        if self.take("CLUSTER", "BY"):
            return ClusterBy(() if self.take("NONE") else self.column_paths())
        if self.take("DROP", "CONSTRAINT"):
            if_exists = self.take("IF", "EXISTS")
            name = self.part()
            self.take_one("RESTRICT", "CASCADE")
            return DropConstraint(name, if_exists)
        if self.next_is("ADD") and self.said(1) not in ("COLUMN", "COLUMNS"):
            self.at += 1
            return AddConstraint(self.constraint())
        return None

    def _of_columns(self) -> Alteration:
        if self.take("ADD", "COLUMNS") or self.take("ADD", "COLUMN"):
            return AddColumns(self.added_columns())
        if self.take("REPLACE", "COLUMNS"):
            return ReplaceColumns(self._replacements())
        if self.take("DROP", "COLUMNS") or self.take("DROP", "COLUMN"):
            return self._dropped()
        if self.take("RENAME", "COLUMN"):
            path = self.parts()
            self.expect("TO")
            return RenameColumn(path, self.part())
        return self._changed()

    def _replacements(self) -> tuple[Column, ...]:
        columns = self.added_columns()
        if any(
            each.position is not None or len(each.path) > 1 or each.default is not None or not each.nullable for each in columns
        ):
            self.fail("a column of REPLACE COLUMNS with a clause")
        return columns

    def _dropped(self) -> DropColumns:
        if_exists = self.take("IF", "EXISTS")
        if self.next_is("("):
            return DropColumns(self.column_paths(), if_exists)
        paths = [self.parts()]
        while self.take(","):
            paths.append(self.parts())
        return DropColumns(tuple(paths), if_exists)

    def _changed(self) -> ChangeColumns:
        is_hive = self.next_is("CHANGE")
        if not self.take_one("ALTER", "CHANGE"):
            self.fail()
        self.take("COLUMN")
        path = self.parts()
        if is_hive and self._names_again(path):
            return ChangeColumns((self._hive_change(path),))
        changes = [self._change(path)]
        while self.take(","):
            changes.append(self._change(self.parts()))
        if len({tuple(part.lower() for part in each.path) for each in changes}) != len(changes):
            self.fail("a column twice")
        return ChangeColumns(tuple(changes))

    def _names_again(self, path: tuple[str, ...]) -> bool:
        """Whether the statement is of Hive's form, which repeats the name of the column and has its type."""
        if not self.is_name() or not self.is_name(1):
            return False
        return self.said() not in _CHANGES or name_of(self.words[self.at]).lower() == path[-1].lower()

    def _hive_change(self, path: tuple[str, ...]) -> ColumnChange:
        if self.part().lower() != path[-1].lower():
            self.fail("a new name of a column in CHANGE COLUMN")
        kind, comment = self.type_text(), self.comment()
        return ColumnChange(path, kind, comment, position=self.position_clause())

    def _change(self, path: tuple[str, ...]) -> ColumnChange:
        if self.take("TYPE"):
            return ColumnChange(path, type=self.type_text())
        if self.next_is("COMMENT"):
            return ColumnChange(path, comment=self.comment())
        sets = self.take_one("SET", "DROP")
        if sets is None:
            position = self.position_clause()
            return self.fail() if position is None else ColumnChange(path, position=position)
        if self.take("NOT", "NULL"):
            return ColumnChange(path, nullable=sets == "DROP")
        self.expect("DEFAULT")
        return ColumnChange(path, default=self.default() if sets == "SET" else "")
