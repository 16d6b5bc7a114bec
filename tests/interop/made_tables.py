# SPDX-License-Identifier: Apache-2.0
"""Tables that delta-spark makes once for several tests, each of which changes copies of its own."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.interop.conftest import DeltaSpark

TABLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "plain": ("", {}),
    "partitioned": ("partitioned by (k)", {}),
    "mapped": ("partitioned by (k)", {"delta.columnMapping.mode": "name"}),
}
"""The partition clause and the properties of each kind of table."""
WAYS = {"files": "false", "vectors": "true"}
"""By which way rows change: whether a table has deletion vectors."""


class MadeTables:
    """Makes a table for each kind and way, when it is first asked for."""

    def __init__(
        self,
        delta_spark: DeltaSpark,
        folder: Path,
        query: str,
        *,
        kinds: Mapping[str, tuple[str, Mapping[str, str]]] = TABLES,
        columns: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Makes nothing yet.

        Args:
            delta_spark: makes the tables.
            folder: where to.
            query: their rows.
            kinds: the partition clause and the properties of each kind.
            columns: their columns, where the rows are inserted into a new table; None where the table is made of them.
            properties: the properties of all of them.
        """
        self._delta_spark = delta_spark
        self._folder = folder
        self._query = query
        self._kinds = kinds
        self._columns = columns
        self._properties = properties or {}

    def copies(self, tmp_path: Path, kind: str, way: str) -> tuple[Path, Path]:
        """Two copies of a table: theirs and ours."""
        theirs, ours = (self.copy(tmp_path / name, kind, way) for name in ("theirs", "ours"))
        return theirs, ours

    def copy(self, path: Path, kind: str, way: str) -> Path:
        """A copy of a table."""
        made = self._folder / f"{kind}-{way}"
        if not made.exists():
            self._make(made, kind, way)
        shutil.copytree(made, path)
        return path

    def _make(self, path: Path, kind: str, way: str) -> None:
        partitions, properties = self._kinds[kind]
        listed = {**self._properties, **properties, "delta.enableDeletionVectors": WAYS[way]}
        clause = ", ".join(f"'{key}' = '{value}'" for key, value in listed.items())
        table = f"delta.`{path}`"
        if self._columns is None:
            self._delta_spark.sql(f"create table {table} using delta {partitions} tblproperties ({clause}) as {self._query}")
        else:
            self._delta_spark.sql(
                f"create table {table} ({self._columns}) using delta {partitions} tblproperties ({clause})",
                f"insert into {table} {self._query}",
            )
