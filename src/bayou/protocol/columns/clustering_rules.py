# SPDX-License-Identifier: Apache-2.0
"""Check clustering columns, and changes of clustered tables.

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
    """The checks of a table's clustering columns.

    Attributes:
        table_uri: the table's URI, for errors.
        version: its version, for errors.
        limit: the maximum number of clustering columns.
    """

    table_uri: str | None = None
    version: int | None = None
    limit: int = _DEFAULT_LIMIT

    @classmethod
    def of(cls, settings: Mapping[str, str], table: str | None, version: int | None = None) -> ClusteringRules:
        """Return the rules with the limit from a session's settings. Raise InvalidOptionError if it is not a number."""
        text = settings.get(_LIMIT, str(_DEFAULT_LIMIT)).strip()
        if not text.isdecimal():
            raise failed("DELTA_ILLEGAL_OPTION/clustering-limit", table=table, option=_LIMIT, value=text)
        return cls(table, version, int(text))

    def check_unpartitioned(self, partition_columns: Sequence[str]) -> None:
        """Raise InvalidSchemaError if a table to be clustered has partition columns."""
        if partition_columns:
            raise failed("DELTA_CLUSTER_BY_WITH_PARTITIONED_BY", at=self)

    def checked(self, columns: ClusteringColumns, metadata: Metadata) -> ClusteringColumns:
        """Return the columns in the case of the schema.

        Args:
            columns: the logical paths, in any case.

        Raises:
            InvalidSchemaError: there are too many columns, one is duplicate, does not exist or has no bounds in statistics, or the
                table is partitioned.
        """
        self.check_unpartitioned(metadata.partition_columns)
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
        """Return the action that ALTER TABLE ... CLUSTER BY commits; None if nothing changes.

        Args:
            columns: the logical paths, in any case; empty for CLUSTER BY NONE.
            current: the physical paths of the current clustering columns; None if the log has none.

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
        """Raise SchemaMismatchError if a write names other clustering columns than the table has.

        Args:
            given: the logical paths that the writer names, in any case.
            current: the logical paths of the table; None if it is not clustered.
            described: whether a definition is compared with an existing table, and nothing is written.
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
        """Raise InvalidSchemaError if a table with the clustering feature, which cannot be dropped, is partitioned."""
        if metadata.partition_columns and CLUSTERING in writer_features(protocol):
            raise failed("DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE", at=self)

    def check_statistics_kept(self, physical: ClusteringColumns, before: Metadata, after: Metadata) -> None:
        """Raise InvalidSchemaError if new files would no longer have statistics of a clustering column.

        Args:
            physical: the physical paths of the clustering columns. Those without statistics before the change are not checked.
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
