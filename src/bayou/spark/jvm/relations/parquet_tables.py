# SPDX-License-Identifier: Apache-2.0
"""Read Spark's view of Parquet tables: the schemas of their files, and their entries in the session catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.spark.jvm.core.adapters import Adapters
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.relations.relation import struct_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm
    from bayou.spark.jvm.relations.catalog import TableName

_ADAPTER: Final = "bayou.ParquetTables"
_THREADS: Final = 16
_HIVES_PARQUET: Final = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
_HIVES_OWN: Final = "transient_lastDdlTime"
"""A property that Hive sets automatically."""
_NO_COLUMNS: Final = '{"type":"struct","fields":[]}'
# The positions, from 1 on, of the changed parameters of Spark's `CatalogTable.copy` and `CatalogStorageFormat.copy`.
_STORAGE, _SCHEMA, _PROVIDER, _PARTITIONS, _BUCKETS, _PROPERTIES, _STATISTICS = 3, 4, 5, 6, 7, 12, 13
_FORMATS: Final = (2, 3, 4)


def derived_schemas(jvm: Jvm, spark: SparkSession, uris: Sequence[str], options: Mapping[str, str]) -> list[str | ValueError]:
    """Return the schemas that Spark derives from the Parquet types of files, in one call, under the session's settings.

    Args:
        uris: the files, not percent-encoded.

    Returns:
        For each file JSON of its schema, or why Spark cannot read it.
    """
    state = java_session(spark).sessionState()
    configuration = state.newHadoopConf()
    for name, value in options.items():
        configuration.set(name, value)
    adapter = Adapters.of(jvm).static(_ADAPTER)
    answers = str(adapter.schemas("\0".join(uris), state.conf(), configuration, _THREADS)).split("\0")[:-1]
    return [ValueError(answer[1:]) if answer.startswith("?") else answer for answer in answers]


@dataclass(frozen=True)
class ParquetEntry:
    """The entry of a table in the session catalog."""

    jvm: Jvm
    spark: SparkSession
    name: TableName

    @property
    def full_name(self) -> str:
        """The name with database and catalog, each in backticks."""
        return str(self._found().identifier().quotedString())

    @property
    def is_hives(self) -> bool:
        """Whether Hive created the table, with Parquet files."""
        table = self._found()
        serde = table.storage().serde()
        return bool(table.provider().contains("hive") and serde.isDefined() and str(serde.get()) == _HIVES_PARQUET)

    @property
    def schema(self) -> str:
        """JSON of all columns."""
        return str(self._found().schema().json())

    @property
    def partition_schema(self) -> str:
        """JSON of the partition columns."""
        return str(self._found().partitionSchema().json())

    @property
    def properties(self) -> dict[str, str]:
        """The table's properties, without Hive's own."""
        pairs = self.jvm.list_of(self._found().properties().toSeq())
        stated = {str(pair._1()): str(pair._2()) for pair in pairs}  # noqa: SLF001  (Scala's)
        stated.pop(_HIVES_OWN, None)
        return stated

    def partitions(self) -> list[tuple[str, dict[str, str]]]:
        """Return the location of each partition, not percent-encoded or empty, and its partition values as strings."""
        columns = int(self._found().partitionColumnNames().size())
        listed = self._catalog().listPartitions(self.name.identifier, self.jvm.none)
        parts = str(Adapters.of(self.jvm).static(_ADAPTER).partitions(listed, columns)).split("\0")[:-1]
        width = 1 + 2 * columns
        rows = (parts[at : at + width] for at in range(0, len(parts), width))
        return [(row[0], dict(zip(row[1::2], row[2::2], strict=True))) for row in rows]

    def become_delta(self) -> None:
        """Turn the entry into that of a Delta table: provider `delta`, no columns, no properties. The log has the truth."""
        table = self._found()
        none = self.jvm.none
        storage = self._copy(table.storage(), dict.fromkeys(_FORMATS, none))
        changed = {
            _STORAGE: storage,
            _SCHEMA: struct_type(self.jvm, _NO_COLUMNS),
            _PROVIDER: self.jvm.some("delta"),
            _PARTITIONS: self.jvm.seq([]),
            _BUCKETS: none,
            _PROPERTIES: self.jvm.scala_map({}),
            _STATISTICS: none,
        }
        self._catalog().alterTable(self._copy(table, changed))

    def _copy(self, found: JavaObject, changed: Mapping[int, JavaObject]) -> JavaObject:
        """Copy a Scala object and change some members, by position."""
        length = len(self.jvm.overloads(found, "copy")[0])
        places = range(1, length + 1)
        return found.copy(*(changed[n] if n in changed else getattr(found, f"copy$default${n}")() for n in places))

    def _catalog(self) -> JavaObject:
        return java_session(self.spark).sessionState().catalog()

    def _found(self) -> JavaObject:
        return self._catalog().getTableMetadata(self.name.identifier)
