# SPDX-License-Identifier: Apache-2.0
"""Files that another commit added, with the interface of a snapshot that data skipping needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from bayou.log.snapshot.partition_columns import partition_texts, physical_names, typed_partitions
from bayou.log.snapshot.statistics_cache import Fields
from bayou.plan.statistics.columns import FileStatistics, from_json
from bayou.protocol.actions.actions import Metadata
from bayou.protocol.types.schema import StructType, parse_schema

if TYPE_CHECKING:
    import pyarrow as pa


class AddedFiles:
    """Some `add` actions, ADD_SCHEMA, under a table's metadata."""

    def __init__(self, adds: pa.Table, metadata: Metadata) -> None:
        self._adds = adds
        self._metadata = metadata
        self.schema: StructType = parse_schema(metadata.schema_string)

    def files(self, columns: Iterable[str] | None = None) -> pa.Table:
        """Return the files, one row each."""
        return self._adds if columns is None else self._adds.select(list(columns))

    def partition_texts(self) -> Mapping[str, pa.ChunkedArray]:
        """Return the partition values as in the log, by physical name."""
        names = physical_names(self.schema, self._metadata.partition_columns)
        return partition_texts(self._adds["partition_values"], names)

    def partitions(self) -> Mapping[tuple[str, ...], pa.Array]:
        """Return the typed partition values, by physical path."""
        return typed_partitions(self.schema, self.partition_texts())

    def statistics(self, fields: Fields) -> FileStatistics:
        """Return statistics of some columns, by physical path."""
        return from_json(self._adds["stats"], fields)
