# SPDX-License-Identifier: Apache-2.0
"""Tables and operations that change their rows, as statements and as calls of bayou's methods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.interop.row_change_columns import COLUMNS

import bayou


@dataclass(frozen=True)
class Table:
    """A table and its first rows."""

    columns: tuple[str, ...]
    partition_by: tuple[str, ...]
    properties: dict[str, str]
    not_null: tuple[str, ...]
    generated: str | None
    check: str | None
    batches: tuple[tuple[tuple[int | None, int | None], ...], ...]

    def statements(self, table: str) -> list[str]:
        """The statements of delta-spark that make it."""
        listed = [f"{each} {COLUMNS[each].type}{' NOT NULL' if each in self.not_null else ''}" for each in self.columns]
        listed += [self.generated] if self.generated else []
        properties = ", ".join(f"'delta.{key}' = '{value}'" for key, value in self.properties.items())
        text = f"create table {table} ({', '.join(listed)}) using delta"
        text += f" partitioned by ({', '.join(self.partition_by)})" if self.partition_by else ""
        made = [f"{text} tblproperties ({properties})"]
        made += [f"alter table {table} add constraint c check ({self.check})"] if self.check else []
        return [*made, *(Append(self.columns, rows_query(self.columns, rows)).sql(table) for rows in self.batches), "select 1"]


def rows_query(columns: tuple[str, ...], rows: Any, otherwise: dict[str, str] | None = None, extra: str = "") -> str:
    """Rows as a query: of each its id and the number that its other values follow from."""
    values = ", ".join(f"({'null' if i is None else i}, {'null' if n is None else n})" for i, n in rows)
    listed = ", ".join(f"{(otherwise or {}).get(each, COLUMNS[each].value)} as {each}" for each in columns)
    numbered = f"select cast(id as bigint) id, cast(n as int) n from values {values} as r(id, n)"
    return f"select {listed}{extra} from ({numbered})"


@dataclass(frozen=True)
class Append:
    """An INSERT of rows."""

    columns: tuple[str, ...]
    query: str
    by_method: bool = False

    def sql(self, table: str) -> str:
        return f"insert into {table} ({', '.join(self.columns)}) {self.query}"

    def run(self, spark: Any, path: str) -> None:
        spark.sql(self.sql(f"delta.`{path}`"))


@dataclass(frozen=True)
class Replace:
    """Rows in the place of those for which a condition is true; all columns by position."""

    condition: str
    query: str
    by_method: bool = False

    def sql(self, table: str) -> str:
        return f"insert into {table} replace where {self.condition} select * from ({self.query}) where {self.condition}"

    def run(self, spark: Any, path: str) -> None:
        spark.sql(self.sql(f"delta.`{path}`"))


@dataclass(frozen=True)
class Delete:
    """A DELETE, of all rows where there is no condition."""

    condition: str | None
    by_method: bool

    def sql(self, table: str) -> str:
        return f"delete from {table}" + (f" where {self.condition}" if self.condition else "")

    def run(self, spark: Any, path: str) -> None:
        bayou.DeltaTable.forPath(spark, path).delete(self.condition)


@dataclass(frozen=True)
class Update:
    """An UPDATE, of all rows where there is no condition."""

    condition: str | None
    sets: dict[str, str]
    by_method: bool

    def sql(self, table: str) -> str:
        sets = ", ".join(f"{key} = {value}" for key, value in self.sets.items())
        return f"update {table} set {sets}" + (f" where {self.condition}" if self.condition else "")

    def run(self, spark: Any, path: str) -> None:
        bayou.DeltaTable.forPath(spark, path).update(self.condition, self.sets)


@dataclass(frozen=True)
class Clause:
    """A clause of a MERGE: `*` where an update or insert has no values of its own."""

    kind: str
    action: str
    condition: str | None
    sets: dict[str, str] | None

    def sql(self) -> str:
        condition = f" and {self.condition}" if self.condition else ""
        return f"when {self.kind}{condition} then {self._action()}"

    def _action(self) -> str:
        if self.action == "delete":
            return "delete"
        if self.sets is None:
            return "update set *" if self.action == "update" else "insert *"
        if self.action == "update":
            return "update set " + ", ".join(f"{key} = {value}" for key, value in self.sets.items())
        return f"insert ({', '.join(self.sets)}) values ({', '.join(self.sets.values())})"

    def added(self, builder: Any) -> Any:
        """A builder of bayou's with this clause."""
        what = "".join(part.title() for part in self.kind.split()) + self.action.title() + ("All" if self._is_star else "")
        method = getattr(builder, f"when{what}")
        return method(self.condition) if self.action == "delete" or self.sets is None else method(self.condition, self.sets)

    @property
    def _is_star(self) -> bool:
        return self.sets is None and self.action != "delete"


@dataclass(frozen=True)
class Merge:
    """A MERGE."""

    source: str
    on: str
    clauses: tuple[Clause, ...]
    evolves: bool
    by_method: bool

    def sql(self, table: str) -> str:
        evolution = "with schema evolution " if self.evolves else ""
        clauses = " ".join(each.sql() for each in self.clauses)
        return f"merge {evolution}into {table} t using ({self.source}) s on {self.on} {clauses}"

    def source_has(self, column: str) -> bool:
        return f" as {column} " in self.source or f" as {column}," in self.source

    def run(self, spark: Any, path: str) -> None:
        builder = bayou.DeltaTable.forPath(spark, path).alias("t").merge(spark.sql(self.source).alias("s"), self.on)
        builder = builder.withSchemaEvolution() if self.evolves else builder
        for each in self.clauses:
            builder = each.added(builder)
        builder.execute()


@dataclass(frozen=True)
class Story:
    """A table, operations on it, and some more that each engine does on the other's table."""

    table: Table
    operations: tuple[Any, ...]
    last: tuple[Any, ...] = field(default=())

    def __str__(self) -> str:
        told = [
            *self.table.statements("T")[:-1],
            *("-- " * each.by_method + each.sql("T") for each in self.operations),
            "-- crossed",
        ]
        return ";\n".join([*told, *("-- " * each.by_method + each.sql("T") for each in self.last)])
