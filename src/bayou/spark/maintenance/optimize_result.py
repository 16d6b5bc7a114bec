# SPDX-License-Identifier: Apache-2.0
"""The result of an OPTIMIZE, and delta-spark's row for it. Source: delta-spark's `OptimizeMetrics`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from bayou.plan.maintenance.clustering import ClusteringPlan
from bayou.protocol.actions.paths import hadoop_text

if TYPE_CHECKING:
    from bayou.plan.maintenance.compaction import CompactionPlan


def _longs(*names: str) -> list[pa.Field]:
    return [pa.field(name, pa.int64()) for name in names]


_SIZES: Final = pa.struct([*_longs("min", "max"), pa.field("avg", pa.float64()), *_longs("totalFiles", "totalSize")])
_CUBES: Final = pa.struct(_longs("num", "size"))
_Z_ORDER: Final = pa.struct(
    [
        pa.field("strategyName", pa.string()),
        pa.field("inputCubeFiles", _CUBES),
        pa.field("inputOtherFiles", _CUBES),
        *_longs("inputNumCubes"),
        pa.field("mergedFiles", _CUBES),
        *_longs("numOutputCubes", "mergedNumCubes"),
    ]
)
_CLUSTER_FILES: Final = pa.struct(_longs("numFiles", "size"))
_CLUSTERING: Final = pa.struct(
    [
        pa.field("inputZCubeFiles", _CLUSTER_FILES),
        pa.field("inputOtherFiles", _CLUSTER_FILES),
        *_longs("inputNumZCubes"),
        pa.field("mergedFiles", _CLUSTER_FILES),
        *_longs("numOutputZCubes"),
    ]
)
_PARALLELISM: Final = pa.struct(
    _longs(
        "maxClusterActiveParallelism", "minClusterActiveParallelism", "maxSessionActiveParallelism", "minSessionActiveParallelism"
    )
)
_METRICS: Final = pa.struct(
    [
        *_longs("numFilesAdded", "numFilesRemoved"),
        pa.field("filesAdded", _SIZES),
        pa.field("filesRemoved", _SIZES),
        *_longs("partitionsOptimized"),
        pa.field("zOrderStats", _Z_ORDER),
        pa.field("clusteringStats", _CLUSTERING),
        *_longs("numBins", "numBatches", "totalConsideredFiles", "totalFilesSkipped"),
        pa.field("preserveInsertionOrder", pa.bool_()),
        *_longs("numFilesSkippedToReduceWriteAmplification", "numBytesSkippedToReduceWriteAmplification"),
        *_longs("startTimeMs", "endTimeMs", "totalClusterParallelism", "totalScheduledTasks"),
        pa.field("autoCompactParallelismStats", _PARALLELISM),
        pa.field("deletionVectorStats", pa.struct(_longs("numDeletionVectorsRemoved", "numDeletionVectorRowsRemoved"))),
        *_longs("numTableColumns", "numTableColumnsWithStats"),
    ]
)
RESULT_SCHEMA: Final = pa.schema([("path", pa.string()), ("metrics", _METRICS)])


@dataclass(frozen=True, slots=True)
class OptimizeResult:
    """The result of an OPTIMIZE.

    Attributes:
        versions: the versions that it committed.
        added_sizes: the sizes of the new files in bytes, ascending.
        removed_sizes: the sizes of the files that they replace, ascending.
        removed_vectors: how many deletion vectors these had.
        removed_rows: how many rows these vectors had deleted.
        left_out: how many bins were dropped because winning commits removed or changed their files.
        started, ended: when it ran, in milliseconds since the epoch.
        columns: how many columns the table has.
        columns_with_statistics: how many of them have statistics.
        is_clustering: whether the rows were ordered by the table's clustering columns.
    """

    path: str
    plan: CompactionPlan
    versions: tuple[int, ...] = ()
    added_sizes: tuple[int, ...] = ()
    removed_sizes: tuple[int, ...] = ()
    removed_vectors: int = 0
    removed_rows: int = 0
    left_out: int = 0
    started: int = 0
    ended: int = 0
    columns: int = 0
    columns_with_statistics: int = 0
    is_clustering: bool = False

    def as_table(self) -> pa.Table:
        """Return the row with which delta-spark answers."""
        return pa.Table.from_pylist([{"path": hadoop_text(self.path), "metrics": self._metrics()}], schema=RESULT_SCHEMA)

    def _metrics(self) -> dict[str, Any]:
        vectors = {"numDeletionVectorsRemoved": self.removed_vectors, "numDeletionVectorRowsRemoved": self.removed_rows}
        return {
            "numFilesAdded": len(self.added_sizes),
            "numFilesRemoved": len(self.removed_sizes),
            "filesAdded": _sizes(self.added_sizes),
            "filesRemoved": _sizes(self.removed_sizes),
            "partitionsOptimized": self.plan.partitions,
            **self._cubes(),
            "numBins": self.plan.num_bins,
            "numBatches": max(1, len(self.versions)),
            "totalConsideredFiles": self.plan.considered,
            "totalFilesSkipped": self.plan.considered - len(self.removed_sizes),
            "preserveInsertionOrder": False,
            "numFilesSkippedToReduceWriteAmplification": 0,
            "numBytesSkippedToReduceWriteAmplification": 0,
            "startTimeMs": self.started,
            "endTimeMs": self.ended,
            "totalClusterParallelism": 0,
            "totalScheduledTasks": 0,
            "deletionVectorStats": vectors if self.removed_vectors else None,
            "numTableColumns": self.columns,
            "numTableColumnsWithStats": self.columns_with_statistics,
        }

    def _cubes(self) -> dict[str, Any]:
        """Return delta-spark's statistics of the cubes of a clustering, or of a Z-order."""
        if not isinstance(self.plan, ClusteringPlan):
            return {}
        counts, merged = self.plan.counts, (self.plan.num_files, self.plan.num_bytes)
        if self.is_clustering:
            return {
                "clusteringStats": {
                    "inputZCubeFiles": _files(counts.cube_files, counts.cube_bytes),
                    "inputOtherFiles": _files(counts.other_files, counts.other_bytes),
                    "inputNumZCubes": counts.cubes,
                    "mergedFiles": _files(*merged),
                    "numOutputZCubes": self.plan.num_bins,
                }
            }
        return {
            "zOrderStats": {
                "strategyName": "all" if self.plan.is_whole else "sizeClasses",
                "inputCubeFiles": {"num": counts.cube_files, "size": counts.cube_bytes},
                "inputOtherFiles": {"num": counts.other_files, "size": counts.other_bytes},
                "inputNumCubes": counts.cubes,
                "mergedFiles": {"num": merged[0], "size": merged[1]},
                "numOutputCubes": self.plan.num_bins,
                "mergedNumCubes": counts.merged_cubes or None,
            }
        }


def _files(count: int, size: int) -> dict[str, int]:
    return {"numFiles": count, "size": size}


def _sizes(sizes: Sequence[int]) -> dict[str, float | None]:
    total = sum(sizes)
    return {
        "min": sizes[0] if sizes else None,
        "max": sizes[-1] if sizes else None,
        "avg": total / len(sizes) if sizes else 0.0,
        "totalFiles": len(sizes),
        "totalSize": total,
    }
