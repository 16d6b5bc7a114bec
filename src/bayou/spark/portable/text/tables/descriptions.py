# SPDX-License-Identifier: Apache-2.0
"""Read SHOW, DESCRIBE, TRUNCATE, DROP, REFRESH, CACHE and other statements about one table.

Source: the rules of `statement` in Spark's grammar `SqlBaseParser.g4`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from bayou.spark.portable.text.tables.columns import ColumnReader
from bayou.spark.portable.text.tree import Literal, Name, Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.spark.portable.text.queries import TableReference

_NOT_TABLES: Final = frozenset(
    {"FUNCTION", "DATABASE", "SCHEMA", "CATALOG", "NAMESPACE", "QUERY", "PROCEDURE", "HISTORY", "DETAIL"}
)
_QUERIES: Final = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "("})
_PAIR: Final = 2
_REFUSED: Final = {
    "ANALYZE TABLE": (("ANALYZE", "TABLE"),),
    "MSCK REPAIR TABLE": (("MSCK", "REPAIR", "TABLE"), ("REPAIR", "TABLE")),
    "DROP TABLE": (("DROP", "TABLE"),),
}


@dataclass(frozen=True, slots=True)
class ShowColumns:
    """`SHOW COLUMNS {IN | FROM} table`."""

    table: TableReference


@dataclass(frozen=True, slots=True)
class ShowProperties:
    """`SHOW TBLPROPERTIES table [(key)]`."""

    table: TableReference
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ShowPartitions:
    """`SHOW PARTITIONS table [PARTITION (column = value, ...)]`."""

    table: TableReference
    values: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShowCreate:
    """`SHOW CREATE TABLE table`."""

    table: TableReference


@dataclass(frozen=True, slots=True)
class Describe:
    """`DESCRIBE [TABLE] [EXTENDED] table [column] [AS JSON]`.

    Attributes:
        column: the column to describe; none for the table.
    """

    table: TableReference
    is_extended: bool = False
    column: tuple[str, ...] = ()
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Truncate:
    """`TRUNCATE TABLE table [PARTITION (...)]`."""

    table: TableReference
    of_partition: bool = False


@dataclass(frozen=True, slots=True)
class Refresh:
    """`REFRESH TABLE table`."""

    table: TableReference


@dataclass(frozen=True, slots=True)
class Cache:
    """`CACHE [LAZY] TABLE table [OPTIONS ('storageLevel' = level)]`."""

    table: TableReference
    is_lazy: bool = False
    level: str | None = None


@dataclass(frozen=True, slots=True)
class Uncache:
    """`UNCACHE TABLE [IF EXISTS] table`."""

    table: TableReference


@dataclass(frozen=True, slots=True)
class Refused:
    """A statement that is not for Delta tables, or not for those at a path.

    Attributes:
        statement: its name.
        if_exists: whether it does nothing without a table.
    """

    table: TableReference
    statement: str
    if_exists: bool = False


Description: TypeAlias = (
    ShowColumns | ShowProperties | ShowPartitions | ShowCreate | Describe | Truncate | Refresh | Cache | Uncache | Refused
)


class DescriptionReader(ColumnReader):
    """A cursor that reads a statement about one table."""

    def description(self) -> Description | None:
        """Read the statement, without its end; None if it is another one."""
        if self.take("SHOW"):
            return self._shown()
        if self.take("DESCRIBE") or self.take("DESC"):
            return self._described()
        if self.take("TRUNCATE", "TABLE"):
            table, of_partition = self.target(), self.take("PARTITION")
            if of_partition:
                self.skip_brackets() if self.next_is("(") else self.fail()
            return Truncate(table, of_partition)
        if self.take("REFRESH", "TABLE"):
            return Refresh(self.target())
        return self._cached() or self._refused()

    def _shown(self) -> Description | None:
        if self.take("COLUMNS"):
            if not self.take_one("IN", "FROM"):
                self.fail()
            return ShowColumns(self.target())
        if self.take("TBLPROPERTIES"):
            table, key = self.target(), None
            if self.take("("):
                key = self.property_key()
                self.expect(")")
            return ShowProperties(table, key)
        if self.take("PARTITIONS"):
            table = self.target()
            return ShowPartitions(table, self._partition() if self.take("PARTITION") else {})
        return ShowCreate(self.target()) if self.take("CREATE", "TABLE") else None

    def _described(self) -> Description | None:
        if self.said() in _NOT_TABLES or (self.said() in _QUERIES and not self.next_is("TABLE")):
            return None
        self.take("TABLE")
        is_extended = self.take_one("EXTENDED", "FORMATTED") is not None
        table = self.target()
        column = () if self.is_at_end or self.said() in ("AS", "PARTITION") else self.parts()
        as_json = self.take("AS", "JSON")
        if as_json and not is_extended:
            self.fail("AS JSON without EXTENDED")
        return Describe(table, is_extended, column, as_json)

    def _cached(self) -> Description | None:
        if self.take("UNCACHE", "TABLE"):
            self.take("IF", "EXISTS")
            return Uncache(self.target())
        if not self.next_is("CACHE"):
            return None
        self.at += 1
        is_lazy = self.take("LAZY")
        self.expect("TABLE")
        table = self.target()
        options = {key.lower(): value for key, value in (self.properties() if self.take("OPTIONS") else {}).items()}
        if not self.is_at_end:  # a query, which the server runs
            return None
        if options.keys() - {"storagelevel"}:
            self.fail("the options of CACHE TABLE")
        return Cache(table, is_lazy, options.get("storagelevel"))

    def _refused(self) -> Description | None:
        name = next((name for name, begins in _REFUSED.items() if any(self.take(*each) for each in begins)), None)
        if name is None and self.take("LOAD", "DATA"):
            while not self.is_at_end and not self.take("INTO", "TABLE"):
                self.next_word()
            name = "LOAD DATA"
        if name is None:
            return None
        if_exists = self.take("IF", "EXISTS")
        table = self.target()
        self.at = len(self.words)
        return Refused(table, name, if_exists)

    def _partition(self) -> dict[str, str | None]:
        """Read `(column = value, ...)`, with literals for values. The values are strings."""
        self.expect("(")
        found: dict[str, str | None] = {}
        while not found or self.take(","):
            tree = self.expression()
            if not isinstance(tree, Operation) or tree.operator != "=" or len(tree.operands) != _PAIR:
                self.fail("a partition without a value")
            name, value = tree.operands
            if not isinstance(name, Name) or len(name.parts) != 1 or not isinstance(value, Literal):
                self.fail("a partition with an expression")
            found[name.parts[0]] = None if value.value is None else str(value.value)
        self.expect(")")
        return found
