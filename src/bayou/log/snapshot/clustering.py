# SPDX-License-Identifier: Apache-2.0
"""The clustering columns of a version of a table, and the action that sets them when a table is replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.protocol.columns.clustering import CLUSTERING, clustering_domain, logical_columns, names_of, physical_columns
from bayou.protocol.columns.clustering_rules import ClusteringRules
from bayou.protocol.features.features import writer_features
from bayou.protocol.types.schema import parse_schema

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.actions.actions import DomainMetadata, Metadata
    from bayou.protocol.columns.clustering import ClusteringColumns


def clustering_columns(snapshot: Snapshot) -> list[str]:
    """Return the logical names of the clustering columns, dotted if nested; empty for a table that is not clustered."""
    return names_of(logical_columns(physical_columns(snapshot.domain_metadata) or (), snapshot.schema))


def physical_clustering(snapshot: Snapshot) -> ClusteringColumns | None:
    """Return the physical paths of the clustering columns; None for a table that is not clustered.

    Domain metadata is only read for tables with the feature.
    """
    return physical_columns(snapshot.domain_metadata) if CLUSTERING in writer_features(snapshot.protocol) else None


def logical_clustering(snapshot: Snapshot) -> ClusteringColumns | None:
    """Return the logical paths of the clustering columns; None for a table that is not clustered."""
    physical = physical_clustering(snapshot)
    return None if physical is None else logical_columns(physical, snapshot.schema)


def replaced_clustering(snapshot: Snapshot, metadata: Metadata, columns: ClusteringColumns | None) -> tuple[DomainMetadata, ...]:
    """Return the action that sets the clustering columns of a replaced table; empty if they stay the same.

    A clustered table that is replaced by an unclustered one stays clustered, by no columns: no table loses the feature.

    Args:
        columns: the logical paths of its new columns; None for a table that is not clustered.

    Raises:
        InvalidSchemaError: a clustered table would be partitioned.

    Source: delta-spark's `ClusteredTableUtils.getDomainMetadataFromTransaction`.
    """
    ClusteringRules(snapshot.table_uri, snapshot.version).check_not_partitioned(snapshot.protocol, metadata)
    current = physical_clustering(snapshot)
    if columns is None and current is None:
        return ()
    domain = clustering_domain(columns or (), parse_schema(metadata.schema_string))
    return () if physical_columns({domain.domain: domain}) == current else (domain,)
