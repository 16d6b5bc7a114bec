# SPDX-License-Identifier: Apache-2.0
"""Names of tables in a session's catalog, as one interface for each kind of session: see `spark.backend`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class TableName(Protocol):
    """A parsed name of a table."""

    @property
    def path(self) -> str | None:
        """The path in a name like ``delta.`/data/t` ``; None for a name in the catalog."""
        ...

    @property
    def table(self) -> str:
        """The name without database and catalog."""
        ...

    @property
    def database(self) -> str | None:
        """The database in the name, or None."""
        ...

    @property
    def text(self) -> str:
        """The name in SQL, without that of the session's own catalog."""
        ...


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A catalog entry of a table.

    Attributes:
        provider: its provider, in lower case, or empty.
        location: its URI, or empty.
        is_view: whether it is a view.
        name: its name with database and catalog, as users see it.
        managed: whether the catalog chose its folder.
        partition_by: the partition columns; empty for a Delta table, whose log has them.
        created_time: when it was created, in milliseconds since 1970.
    """

    provider: str
    location: str
    is_view: bool
    name: str = ""
    managed: bool = False
    partition_by: tuple[str, ...] = ()
    created_time: int = 0


class ParquetEntry(Protocol):
    """The entry of a table of Parquet files in the catalog."""

    @property
    def name(self) -> TableName:
        """The name by which the entry was asked for."""
        ...

    @property
    def full_name(self) -> str:
        """The name with database and catalog, each in backticks."""
        ...

    @property
    def is_hives(self) -> bool:
        """Whether Hive created the table, with Parquet files."""
        ...

    @property
    def schema(self) -> str:
        """JSON of all columns."""
        ...

    @property
    def partition_schema(self) -> str:
        """JSON of the partition columns."""
        ...

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties, without Hive's own."""
        ...

    def partitions(self) -> list[tuple[str, dict[str, str]]]:
        """Return the location of each partition, not percent-encoded or empty, and its partition values as strings."""
        ...

    def become_delta(self) -> None:
        """Turn the entry into that of a Delta table: provider `delta`, no columns, no properties. The log has the truth."""
        ...


class Catalog(Protocol):
    """The catalog of one session. Its methods take the names that it returned."""

    def name(self, text: str) -> TableName:
        """Parse a name in SQL, with or without the name of the session's own catalog.

        Raises:
            InvalidOptionError: it is not a name, or names a table in another catalog.
        """
        ...

    def has_paths(self) -> bool:
        """Whether the session's SQL allows paths as table names (`spark.sql.runSQLOnFiles`)."""
        ...

    def is_temporary(self, text: str) -> bool:
        """Whether a name in SQL is a temporary view."""
        ...

    def entry(self, name: Any) -> CatalogEntry | None:
        """Return the entry of a name, or None if it does not exist."""
        ...

    def delta_location(self, text: str) -> str:
        """Return the path or the catalog's URI of a Delta table, by its name in SQL, like `delta_entry`."""
        ...

    def delta_entry(self, text: str) -> CatalogEntry:
        """Return the entry of a Delta table, by its name in SQL. The entry of a path has no name.

        Raises:
            TableNotFoundError: no Delta table has this name. Views do not count.
        """
        ...

    def check_takes(self, name: Any) -> None:
        """Raise UnsupportedFeatureError if the catalog takes no entries of Delta tables."""
        ...

    def default_location(self, name: Any) -> str:
        """Return the location of a managed table of that name."""
        ...

    def create(self, name: Any, location: str, *, managed: bool, if_absent: bool = False) -> None:
        """Add a Delta table to the catalog.

        Args:
            location: its URI, not percent-encoded.
            managed: whether its files belong to the catalog and are deleted with the entry.
            if_absent: whether to ignore an existing entry of that name.
        """
        ...

    def move(self, name: Any, location: str) -> None:
        """Point the entry of a table to another folder, by its URI, not percent-encoded."""
        ...

    def refresh(self, name: Any) -> None:
        """Drop Spark's caches of a table."""
        ...
