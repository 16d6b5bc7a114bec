# SPDX-License-Identifier: Apache-2.0
"""ALTER TABLE ... CLUSTER BY: change the clustering columns. No file is rewritten; OPTIMIZE clusters rows.

Source: delta-spark's `AlterTableClusterByDeltaCommand`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.log.snapshot.clustering import logical_clustering, physical_clustering
from bayou.protocol.columns.clustering import CLUSTERING, logical_columns, names_of, physical_columns
from bayou.protocol.columns.clustering_rules import ClusteringRules
from bayou.protocol.evolution.property_rules import PropertyChange
from bayou.spark.alter.columns import path_of
from bayou.spark.alter.metadata_actions import altered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.spark.alter.columns import ColumnPath
    from bayou.spark.read.session_table import SessionTable


def alter_cluster_by(target: SessionTable, columns: Sequence[ColumnPath]) -> None:
    """Set a table's clustering columns, or remove them if no column is passed. A no-op if they do not change.

    Raises:
        InvalidSchemaError: the table is partitioned, a column does not exist or is named twice, or files have no minimum and
            maximum of it.
        InvalidOptionError: a string is not the path of one column.
    """
    snapshot = target.snapshot()
    rules = ClusteringRules.of(target.settings, target.uri, snapshot.version)
    paths = tuple(path_of(each) for each in columns)
    domain = rules.altered(paths, snapshot.protocol, snapshot.metadata, physical_clustering(snapshot))
    if domain is None:
        return
    new = logical_columns(physical_columns({domain.domain: domain}) or (), snapshot.schema)
    parameters = {
        "oldClusteringColumns": ",".join(names_of(logical_clustering(snapshot) or ())),
        "newClusteringColumns": ",".join(names_of(new)),
    }
    head = altered(snapshot, snapshot.metadata, snapshot.schema, PropertyChange(features=(CLUSTERING,)))
    target.commit(snapshot, "CLUSTER BY", parameters, [*head, domain])
