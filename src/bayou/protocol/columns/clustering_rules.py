# SPDX-License-Identifier: Apache-2.0
"""What the clustering columns of a table must be, and what must not be done to a clustered table.

Source: delta-spark's `ClusteredTableUtils` and `AlterTableClusterByDeltaCommand`, whose error classes these are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bayou.errors import InvalidOptionError, InvalidSchemaError, SchemaMismatchError
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
            raise InvalidOptionError(f"the setting {_LIMIT} is {text!r}, and should be a number", table=table, option=_LIMIT)
        return cls(table, version, int(text))

    def refuse_beside(self, partition_columns: Sequence[str]) -> None:
        """Refuses clustering of a table that is partitioned.

        Raises:
            InvalidSchemaError: there are partition columns.
        """
        if partition_columns:
            message = "Clustering and partitioning cannot both be specified."
            raise self._refusal(message, "DELTA_CLUSTER_BY_WITH_PARTITIONED_BY", next_step="leave one of them out.")

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
            message = f"CLUSTER BY supports up to {self.limit} clustering columns, but the table has {len(columns)}."
            raise self._refusal(message, "DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS", columns=names_of(columns))
        schema = parse_schema(metadata.schema_string)
        found = [self._found(path, schema) for path in columns]
        paths = tuple(tuple(field.name for field in fields) for fields in found)
        twice = sorted({path for path in paths if paths.count(path) > 1})
        if twice:
            message = f"Found duplicate column(s) in CLUSTER BY: {', '.join(names_of(tuple(twice)))}."
            raise self._refusal(message, "DELTA_DUPLICATE_COLUMNS_FOUND.CLUSTER_BY", columns=names_of(tuple(twice)))
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
            error_class = "DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED"
            raise self._refusal("ALTER TABLE CLUSTER BY cannot be applied to a partitioned table.", error_class)
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
        what = "The specified clustering columns do not match" if described else "The provided clustering columns do not match"
        step = "leave clusterBy out, or overwrite the table with overwriteSchema."
        raise SchemaMismatchError(
            f"{what} the existing table's: provided: {provided}; existing: {existing}.",
            at=self,
            error_class="DELTA_CREATE_TABLE_WITH_DIFFERENT_CLUSTERING" if described else "DELTA_CLUSTERING_COLUMNS_MISMATCH",
            next_step="leave clusterBy out, or describe the columns as they are." if described else step,
            problems=(f"clustering columns {provided or '(none)'} instead of {existing or '(none)'}",),
        )

    def check_not_partitioned(self, protocol: Protocol, metadata: Metadata) -> None:
        """Refuse partition columns for a table with the feature, which no table loses.

        Raises:
            InvalidSchemaError: it has some.
        """
        if metadata.partition_columns and CLUSTERING in writer_features(protocol):
            error_class = "DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE"
            message = "Replacing a clustered Delta table with a partitioned table is not allowed."
            raise self._refusal(message, error_class, next_step="write the partitioned table to another place.")

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
            name = names_of((path,))[0]
            message = f"Couldn't find column {name} in {list(schema.names)}."
            raise self._refusal(message, "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", columns=[name])
        return found

    def _check_types(self, paths: ClusteringColumns, fields: list[StructField]) -> None:
        refused = [(path, field) for path, field in zip(paths, fields, strict=True) if not gets_bounds(field)]
        if refused:
            shown = ", ".join(f"{names_of((path,))[0]} : {type_text(field.type).upper()}" for path, field in refused)
            message = f"CLUSTER BY is not supported because the following column(s): {shown} don't support data skipping."
            names = names_of(tuple(path for path, _ in refused))
            raise self._refusal(message, "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED", columns=names)

    def _check_statistics(self, physical: ClusteringColumns, metadata: Metadata, schema: StructType) -> None:
        lacking = _without_statistics(physical, metadata, schema)
        if lacking:
            names = names_of(logical_columns(lacking, schema))
            raise self._refusal(
                f"Clustering requires clustering columns to have stats. Couldn't find clustering column(s) '{', '.join(names)}' "
                "in the stats schema.",
                "DELTA_CLUSTERING_COLUMN_MISSING_STATS",
                next_step="name the columns in delta.dataSkippingStatsColumns, or move them to the front.",
                columns=names,
            )

    def _refusal(self, message: str, error_class: str, *, next_step: str = "", columns: Sequence[str] = ()) -> InvalidSchemaError:
        facts: dict[str, Any] = {"columns": tuple(columns)} if columns else {}
        return InvalidSchemaError(message, at=self, error_class=error_class, next_step=next_step, **facts)


def _without_statistics(physical: ClusteringColumns, metadata: Metadata, schema: StructType) -> ClusteringColumns:
    leaves = indexed_leaves(schema, metadata.configuration, metadata.partition_columns)
    bounded = set(_lower(tuple(leaf.path for leaf in leaves if leaf.has_bounds)))
    return tuple(path for path in physical if tuple(part.lower() for part in path) not in bounded)


def _lower(columns: ClusteringColumns) -> list[tuple[str, ...]]:
    return [tuple(part.lower() for part in path) for path in columns]
