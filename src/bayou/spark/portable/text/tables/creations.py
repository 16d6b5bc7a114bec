# SPDX-License-Identifier: Apache-2.0
"""Read CREATE TABLE, REPLACE TABLE, and CREATE TABLE ... LIKE.

Source: `createTable`, `replaceTable`, `createTableLike` and `createTableClauses` in Spark's grammar `SqlBaseParser.g4`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from typing import Literal as OneOf

from bayou.spark.portable.text.tables.columns import Column, ColumnReader, Constraint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.spark.portable.text.queries import Part, TableReference

Kind = OneOf["create", "createIfNotExists", "replace", "createOrReplace"]
_QUERY: Final = ("AS", "SELECT", "WITH", "FROM", "TABLE", "VALUES", "(")
_ASSIGNS: Final = frozenset({",", ")"})


@dataclass(frozen=True, slots=True)
class Create:
    """`{CREATE [OR REPLACE] | REPLACE} TABLE [IF NOT EXISTS] table (...) USING provider ... [AS query]`.

    Attributes:
        kind: what happens if the table exists or does not exist.
        provider: the data source; None if the statement names none.
        partition_columns: the columns that PARTITIONED BY defines with their types.
        cluster_by: the columns of CLUSTER BY; None without it.
        transform: the function of a column by which the statement partitions; `bucket` for CLUSTERED BY; None without one.
        options: the clause OPTIONS.
        query: the query of a statement with rows.
    """

    table: TableReference
    kind: Kind
    provider: str | None = None
    columns: tuple[Column, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    partition_by: tuple[str, ...] = ()
    partition_columns: tuple[Column, ...] = ()
    cluster_by: tuple[tuple[str, ...], ...] | None = None
    transform: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    comment: str | None = None
    location: str | None = None
    query: Part | None = None


@dataclass(frozen=True, slots=True)
class CreateLike:
    """`CREATE TABLE [IF NOT EXISTS] table LIKE source [USING provider] [TBLPROPERTIES (...)] [LOCATION 'path']`."""

    table: TableReference
    source: TableReference
    if_not_exists: bool = False
    provider: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None


class CreationReader(ColumnReader):
    """A cursor that reads a statement that creates a table."""

    def creation(self) -> Create | CreateLike | None:
        """Read the statement, without its end; None if it is another one."""
        kind = self._beginning()
        if kind is None:
            return None
        if self.take("IF", "NOT", "EXISTS"):
            if kind != "create":
                self.fail("IF NOT EXISTS after REPLACE")
            kind = "createIfNotExists"
        table = self.target()
        if self.take("LIKE"):
            if kind not in ("create", "createIfNotExists"):
                self.fail()
            return self._like(table, if_not_exists=kind == "createIfNotExists")
        columns, constraints = self.elements() if self.next_is("(") and not self.begins_query(1) else ((), ())
        provider = ".".join(self.parts()) if self.take("USING") else None
        clauses = self._clauses()
        query = self.rest() if self.take("AS") or self.said() in _QUERY else None
        if query is not None and (columns or constraints or clauses.get("partition_columns")):
            self.fail("columns of a statement with a query")
        if clauses.get("cluster_by") is not None and (clauses.get("partition_by") or clauses.get("partition_columns")):
            self.fail("PARTITIONED BY and CLUSTER BY")
        return Create(table, kind, provider, columns, constraints, query=query, **clauses)

    def _beginning(self) -> Kind | None:
        if self.take("CREATE", "TABLE") or self.take("CREATE", "EXTERNAL", "TABLE"):
            return "create"
        if self.take("CREATE", "OR", "REPLACE", "TABLE"):
            return "createOrReplace"
        return "replace" if self.take("REPLACE", "TABLE") else None

    def _clauses(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while True:
            new = self._partitioning() or self._description()
            if not new:
                return found
            if new.keys() & found.keys():
                self.fail("a clause twice")
            found |= new

    def _description(self) -> dict[str, Any]:
        if self.take("TBLPROPERTIES"):
            return {"properties": self.properties()}
        if self.take("OPTIONS"):
            return {"options": self.properties()}
        if self.take("LOCATION"):
            return {"location": self.string()}
        return {"comment": self.comment()} if self.next_is("COMMENT") else {}

    def _partitioning(self) -> dict[str, Any]:
        if self.take("PARTITIONED", "BY"):
            return self._partitions()
        if self.take("CLUSTERED", "BY"):
            return self._buckets()
        return {"cluster_by": self.column_paths()} if self.take("CLUSTER", "BY") else {}

    def _partitions(self) -> dict[str, Any]:
        """Read the fields of PARTITIONED BY: names of columns, or definitions of columns."""
        self.expect("(")
        names: list[str] = []
        columns: list[Column] = []
        transform: str | None = None
        while not names or self.take(","):
            if self.said(1) in _ASSIGNS or self.said(1) == ".":
                path = self.parts()
                names.append(".".join(path))
            elif self.said(1) == "(":
                transform = self.part()
                names.append(transform)
                self.skip_brackets()
            else:
                columns.append(self._options(Column((self.part(),), self.type_text()), None))
                names.append(columns[-1].name)
        self.expect(")")
        if columns and len(columns) != len(names):
            self.fail("names and definitions of partition columns")
        found = {"partition_by": tuple(names), "partition_columns": tuple(columns)}
        return found if transform is None else {**found, "transform": transform}

    def _buckets(self) -> dict[str, Any]:
        """Read what follows CLUSTERED BY."""
        self.skip_brackets()
        if self.take("SORTED", "BY"):
            self.skip_brackets()
        self.expect("INTO")
        self.next_word()
        self.expect("BUCKETS")
        return {"transform": "bucket"}

    def _like(self, table: TableReference, *, if_not_exists: bool) -> CreateLike:
        source = self.target()
        clauses: dict[str, Any] = {}
        while True:
            new: dict[str, Any] = {}
            if self.take("USING"):
                new = {"provider": ".".join(self.parts())}
            elif self.take("TBLPROPERTIES"):
                new = {"properties": self.properties()}
            elif self.take("LOCATION"):
                new = {"location": self.string()}
            if not new:
                return CreateLike(table, source, if_not_exists, **clauses)
            if new.keys() & clauses.keys():
                self.fail("a clause twice")
            clauses |= new
