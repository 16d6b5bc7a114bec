# SPDX-License-Identifier: Apache-2.0
"""Clustering and Z-order for OPTIMIZE: the columns, the existing cubes, and the tags of new ones.

A clustered table's cubes have delta-spark's tags, so that both engines continue each other's work. delta-spark has no tags for
Z-order: those are bayou's own.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bayou.errors import failed
from bayou.log.snapshot.clustering import logical_clustering
from bayou.plan.maintenance.clustering import ClusteringPlan, CubeRules, plan_clustering
from bayou.plan.maintenance.cubes import CUBE_COLUMNS, CUBE_ID, PROVIDER, Z_ORDER_COLUMNS, Z_ORDER_ID, cube_facts
from bayou.protocol.columns.clustering import CLUSTERING, fields_on, names_of
from bayou.protocol.features.features import writer_features
from bayou.spark.maintenance.curve_columns import CurveColumn, curve_columns, name_of, z_order_columns
from bayou.spark.maintenance.rewrite import rewrite_uncommitted
from bayou.spark.maintenance.written_bins import WrittenBins, task_of
from bayou.spark.maintenance.written_cubes import WrittenCubes
from bayou.spark.maintenance.zorder import write_in_order
from bayou.spark.session.settings import bytes_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.plan.maintenance.clustering import CubeFacts
    from bayou.plan.maintenance.compaction import FileFacts, SizeRules
    from bayou.protocol.columns.clustering import ClusteringColumns
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.read.session_table import SessionTable

_CUBE_CURVE: Final = "ZCUBE_ZORDER_CURVE"
_CURVE: Final = "hilbert"
_THRESHOLD: Final = "spark.databricks.delta.optimize.clustering.mergeStrategy.minCubeSize.threshold"
_TARGET: Final = "spark.databricks.delta.optimize.clustering.mergeStrategy.minCubeSize.targetCubeSize"


@dataclass(frozen=True, slots=True)
class Order:
    """The order of rows.

    Attributes:
        columns: the logical paths of the columns.
        is_clustering: whether they are the table's clustering columns; otherwise those of a Z-order.
        is_full: whether all files are clustered again.
        named: the columns as the tags of files have them.
        curve: the columns as the curve uses them.
    """

    columns: ClusteringColumns
    is_clustering: bool
    is_full: bool
    named: str
    curve: tuple[CurveColumn, ...]

    @property
    def parameters(self) -> dict[str, object]:
        """Return its parameters in the history."""
        if self.is_clustering:
            return {"zOrderBy": "[]", "clusterBy": _json(names_of(self.columns)), "auto": False, "isFull": self.is_full}
        return {"zOrderBy": _json([name_of(path) for path in self.columns]), "clusterBy": "[]", "auto": False}

    def cubes(self, snapshot: Snapshot) -> CubeFacts:
        """Return the cubes of a table's files."""
        files = snapshot.files(["tags", "clustering_provider"])
        return cube_facts(files, json.loads(self.named), is_clustering=self.is_clustering)

    def tags(self) -> dict[str, str]:
        """Return the tags of a new cube's files."""
        if self.is_clustering:
            return {CUBE_ID: str(uuid.uuid4()), CUBE_COLUMNS: self.named, _CUBE_CURVE: _CURVE}
        return {Z_ORDER_ID: str(uuid.uuid4()), Z_ORDER_COLUMNS: self.named}


def _json(names: Sequence[object]) -> str:
    return json.dumps(names, separators=(",", ":"), ensure_ascii=False)


def order_of(
    table: SessionTable, snapshot: Snapshot, z_order: Sequence[str], *, is_full: bool, where: Sequence[str]
) -> Order | None:
    """Return the order for an OPTIMIZE; None if it compacts files.

    Args:
        z_order: the columns of ZORDER BY, as the user names them.
        is_full: whether all files of a clustered table are clustered again.

    Raises:
        UnsupportedFeatureError: a table with the clustering feature gets conditions or ZORDER BY, all files of a table without
            clustering columns are to be clustered, or a column's type has no order.
        InvalidOptionError: a column of ZORDER BY is a partition column, or does not exist.
        InvalidSchemaError: files have no statistics of a column.
    """
    columns = logical_clustering(snapshot)
    if CLUSTERING in writer_features(snapshot.protocol):
        _check_clustered(snapshot, where, z_order)
    if is_full and not columns:
        raise failed("DELTA_OPTIMIZE_FULL_NOT_SUPPORTED", at=snapshot, features=("OPTIMIZE FULL without clustering columns",))
    if columns:
        named = _json(names_of(columns))
        return Order(columns, is_clustering=True, is_full=is_full, named=named, curve=tuple(curve_columns(snapshot, columns)))
    if not z_order:
        return None
    columns = z_order_columns(snapshot, z_order, table.settings)
    physical = [[field.physical_name for field in fields_on(path, snapshot.schema) or ()] for path in columns]
    named = _json(physical)
    return Order(columns, is_clustering=False, is_full=False, named=named, curve=tuple(curve_columns(snapshot, columns)))


def _check_clustered(snapshot: Snapshot, where: Sequence[str], z_order: Sequence[str]) -> None:
    if where:
        raise failed("DELTA_CLUSTERING_WITH_PARTITION_PREDICATE", at=snapshot, conditions=tuple(where), features=("clustering",))
    if z_order:
        raise failed("DELTA_CLUSTERING_WITH_ZORDER_BY", at=snapshot, columns=tuple(z_order), features=("clustering",))


def plan_order(
    settings: Mapping[str, str], snapshot: Snapshot, order: Order, facts: FileFacts, sizes: SizeRules, chosen: pa.Array | None
) -> ClusteringPlan:
    """Return which files are ordered together. Raise InvalidOptionError if a setting is not a number."""
    threshold = target = None
    if order.is_clustering:
        threshold = bytes_of(settings, _THRESHOLD, snapshot.table_uri)
        target = bytes_of(settings, _TARGET, snapshot.table_uri)
    rules = CubeRules(threshold, target, order.is_full)
    return plan_clustering(facts, order.cubes(snapshot), sizes, rules, chosen)


def write_cubes(
    table: SessionTable,
    snapshot: Snapshot,
    order: Order,
    plan: ClusteringPlan,
    bins: tuple[int, int],
    uncommitted: UncommittedFiles,
) -> tuple[WrittenBins, list[int]]:
    """Write some cubes of a plan, with their tags. Nothing is committed.

    If each of them becomes one file, no row is shuffled, and the new files have the rows in the order of the old ones.

    Args:
        order: what their rows are put in order by.
        bins: the first cube, and the one after the last.
        uncommitted: takes over the new files.

    Returns:
        The cubes, and the number of the cube that each task wrote a file of.
    """
    positions, numbers = plan.positions(*bins)
    outputs = plan.outputs[bins[0] : bins[1]]
    is_moved = max(outputs) == 1
    if is_moved:
        added = rewrite_uncommitted(table, snapshot, positions, uncommitted, tasks=numbers)
    else:
        added = write_in_order(table, snapshot, positions, numbers, outputs, order.curve, uncommitted=uncommitted)
    cube_of_task = [number for number, count in enumerate(outputs) for _ in range(count)]
    tags = [order.tags() for _ in outputs]
    files = []
    for add in added.files:
        provider = PROVIDER if order.is_clustering else add.clustering_provider
        cube = cube_of_task[task_of(add)]
        files.append(replace(add, tags={**(add.tags or {}), **tags[cube]}, clustering_provider=provider))
    facts = (table, uncommitted, replace(added, files=files), snapshot.files().take(positions), numbers, snapshot)
    return (WrittenBins(*facts) if is_moved else WrittenCubes(*facts, cube_of_task=cube_of_task)), cube_of_task
