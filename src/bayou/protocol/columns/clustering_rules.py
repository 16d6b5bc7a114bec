# SPDX-License-Identifier: Apache-2.0
"""What the clustering columns of a table must be, and what must not be done to a clustered table.

Source: delta-spark's `ClusteredTableUtils` and `AlterTableClusterByDeltaCommand`, whose error classes these are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bayou.errors import failed
from bayou.protocol.actions.actions import DomainMetadata, Metadata, Protocol
from bayou.protocol.columns.clustering import (
    CLUSTERING,
    ClusteringColumns,
    clustering_domain,
    fields_on,
    logical_columns,
    names_of,
    physical_columns,
)
from bayou.protocol.features.features import writer_features
from bayou.protocol.stats.file_stats import gets_bounds, indexed_leaves
from bayou.protocol.types.char_varchar import type_text
from bayou.protocol.types.schema import StructField, StructType, parse_schema

_LIMIT: Final = "spark.databricks.delta.clusteredTable.numClusteringColumnsLimit"
_DEFAULT_LIMIT: Final = 4


@dataclass(frozen=True, slots=True)
class ClusteringRules:
    """The rules for clustering columns, and the table that errors name.

    Attributes:
        table_uri: the table's URI.
        version: its version.
        limit: how many columns there may be.
    """

    table_uri: str | None = None
    version: int | None = None
    limit: int = _DEFAULT_LIMIT

    @classmethod
    def of(cls, settings: Mapping[str, str], table: str | None, version: int | None = None) -> ClusteringRules:
        """The rules with the limit that a session's settings set; 4 where they set none.

        Raises:
            InvalidOptionError: the setting is no number.
        """
        text = settings.get(_LIMIT, str(_DEFAULT_LIMIT)).strip()
        if not text.isdecimal():
            raise failed("DELTA_ILLEGAL_OPTION/clustering-limit", table=table, option=_LIMIT, value=text)
        return cls(table, version, int(text))

    def refuse_beside(self, partition_columns: Sequence[str]) -> None:
        """Refuses clustering of a table that is partitioned.

        Raises:
            InvalidSchemaError: there are partition columns.
        """
        if partition_columns:
            raise failed("DELTA_CLUSTER_BY_WITH_PARTITIONED_BY", at=self)

    def checked(self, columns: ClusteringColumns, metadata: Metadata) -> ClusteringColumns:
        """The columns in the schema's spelling.

        Args:
            columns: the logical paths, in any case.

        Raises:
            InvalidSchemaError: there are too many, one is named twice or is no column, files have no minimum and maximum of
                it, or the table is partitioned.
        """
        self.refuse_beside(metadata.partition_columns)
        if len(columns) > self.limit:
            names = names_of(columns)
            raise failed("DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS", at=self, limit=self.limit, count=len(names), columns=names)
        schema = parse_schema(metadata.schema_string)
        found = [self._found(path, schema) for path in columns]
        paths = tuple(tuple(field.name for field in fields) for fields in found)
        twice = sorted({path for path in paths if paths.count(path) > 1})
        if twice:
            raise failed("DELTA_DUPLICATE_COLUMNS_FOUND.CLUSTER_BY", at=self, columns=names_of(tuple(twice)))
        self._check_types(paths, [fields[-1] for fields in found])
        physical = tuple(tuple(field.physical_name for field in fields) for fields in found)
        self._check_statistics(physical, metadata, schema)
        return paths

    def altered(
        self, columns: ClusteringColumns, protocol: Protocol, metadata: Metadata, current: ClusteringColumns | None
    ) -> DomainMetadata | None:
        """What ALTER TABLE ... CLUSTER BY commits beside the feature; None where nothing changes.

        Args:
            columns: the logical paths, in any case; none for CLUSTER BY NONE.
            current: the physical paths of its clustering columns; None where it has none in its log.

        Raises:
            InvalidSchemaError: the table is partitioned, or cannot be clustered by these columns.
        """
        if not columns and CLUSTERING not in writer_features(protocol):
            return None
        if metadata.partition_columns:
            raise failed("DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED", at=self)
        domain = clustering_domain(self.checked(columns, metadata), parse_schema(metadata.schema_string))
        return None if physical_columns({domain.domain: domain}) == current else domain

    def check_same(self, given: ClusteringColumns, current: ClusteringColumns | None, *, described: bool = False) -> None:
        """Refuse a write that names other clustering columns than the table has.

        Args:
            given: the logical paths that the writer names, in any case.
            current: the table's; None where it is not clustered.
            described: whether a table is described that is there already, for its name, and nothing is written.

        Raises:
            SchemaMismatchError: they are others.
        """
        if current is not None and _lower(given) == _lower(current):
            return
        provided, existing = ", ".join(names_of(given)), ", ".join(names_of(current or ()))
        raise failed(
            "DELTA_CREATE_TABLE_WITH_DIFFERENT_CLUSTERING" if described else "DELTA_CLUSTERING_COLUMNS_MISMATCH",
            at=self,
            provided=provided,
            existing=existing,
            problems=(f"clustering columns {provided or '(none)'} instead of {existing or '(none)'}",),
        )

    def check_not_partitioned(self, protocol: Protocol, metadata: Metadata) -> None:
        """Refuse partition columns for a table with the feature, which no table loses.

        Raises:
            InvalidSchemaError: it has some.
        """
        if metadata.partition_columns and CLUSTERING in writer_features(protocol):
            raise failed("DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE", at=self)

    def check_statistics_kept(self, physical: ClusteringColumns, before: Metadata, after: Metadata) -> None:
        """Refuse a change after which new files have no statistics of a clustering column.

        Args:
            physical: the physical paths of the clustering columns.

        Raises:
            InvalidSchemaError: the change takes them away. A column that had none before is not looked at.
        """
        lacking = _without_statistics(physical, before, parse_schema(before.schema_string))
        kept = tuple(path for path in physical if path not in lacking)
        if kept:
            self._check_statistics(kept, after, parse_schema(after.schema_string))

    def _found(self, path: tuple[str, ...], schema: StructType) -> list[StructField]:
        found = fields_on(path, schema)
        if found is None:
            raise failed("DELTA_COLUMN_NOT_FOUND_IN_SCHEMA/clustering", at=self, columns=names_of((path,)), known=schema.names)
        return found

    def _check_types(self, paths: ClusteringColumns, fields: list[StructField]) -> None:
        refused = [(path, field) for path, field in zip(paths, fields, strict=True) if not gets_bounds(field)]
        if refused:
            types = [f"{names_of((path,))[0]} : {type_text(field.type).upper()}" for path, field in refused]
            names = names_of(tuple(path for path, _ in refused))
            raise failed("DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED", at=self, types=types, columns=names)

    def _check_statistics(self, physical: ClusteringColumns, metadata: Metadata, schema: StructType) -> None:
        lacking = _without_statistics(physical, metadata, schema)
        if lacking:
            raise failed("DELTA_CLUSTERING_COLUMN_MISSING_STATS", at=self, columns=names_of(logical_columns(lacking, schema)))


def _without_statistics(physical: ClusteringColumns, metadata: Metadata, schema: StructType) -> ClusteringColumns:
    leaves = indexed_leaves(schema, metadata.configuration, metadata.partition_columns)
    bounded = set(_lower(tuple(leaf.path for leaf in leaves if leaf.has_bounds)))
    return tuple(path for path in physical if tuple(part.lower() for part in path) not in bounded)


def _lower(columns: ClusteringColumns) -> list[tuple[str, ...]]:
    return [tuple(part.lower() for part in path) for path in columns]
