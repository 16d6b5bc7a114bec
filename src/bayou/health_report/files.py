# SPDX-License-Identifier: Apache-2.0
"""The sizes of the live files, and the rows that deletion vectors delete."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bayou.health_report.facts import DeletedRows, FileSizes, PartitionSizes, Rewrite, SizeClass
from bayou.log.maintenance.file_facts import file_facts
from bayou.log.snapshot.clustering import logical_clustering
from bayou.log.snapshot.partition_columns import physical_names
from bayou.plan.maintenance.clustering import CubeRules, estimate_clustering
from bayou.plan.maintenance.compaction import FileFacts, SizeRules, plan_compaction
from bayou.plan.maintenance.cubes import cube_facts
from bayou.protocol import properties
from bayou.protocol.columns.clustering import CLUSTERING, fields_on, names_of
from bayou.protocol.features.features import writer_features
from bayou.protocol.stats.file_stats import parse_column_list

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.plan.maintenance.clustering import ClusteringEstimate
    from bayou.plan.maintenance.compaction import CompactionPlan

_CLASSES: Final = tuple(1 << bits for bits in (20, 22, 24, 26, 28, 30))
"""The bounds between the classes of sizes: 1, 4, 16, 64, 256 and 1,024 MiB."""
MOST_PARTITIONS: Final = 20


class LiveFiles(NamedTuple):
    """The live files of a snapshot, as OPTIMIZE sees them.

    Attributes:
        facts: their columns; `rows` counts live rows.
        sizes: the limits of OPTIMIZE by the properties of the table.
    """

    facts: FileFacts
    sizes: SizeRules


def live_files(snapshot: Snapshot) -> LiveFiles:
    """Return the live files of a snapshot."""
    facts = file_facts(snapshot)
    target = properties.TARGET_FILE_SIZE.read(snapshot.properties) or None  # another engine may have stored 0
    rules = SizeRules.of(pc.sum(facts.sizes).as_py() or 0, target=target)
    return LiveFiles(facts, rules)


def file_sizes(snapshot: Snapshot, files: LiveFiles) -> FileSizes:
    """Return the sizes of all files, and of the files by partition."""
    sizes = files.facts.sizes
    count = len(sizes)
    limits = pc.min_max(sizes).as_py()
    groups = _partitions(files)
    return FileSizes(
        files=count,
        bytes=pc.sum(sizes).as_py() or 0,
        smallest=limits["min"],
        median=pc.quantile(sizes, 0.5, interpolation="lower")[0].as_py() if count else None,
        largest=limits["max"],
        target=files.sizes.target,
        classes=_classes(sizes),
        num_partitions=groups.num_rows,
        partitions=_worst(snapshot, groups),
        compaction=optimized(snapshot, files),
    )


def deleted_rows(files: LiveFiles) -> DeletedRows:
    """Return how many rows are deleted by deletion vectors."""
    facts = files.facts
    count = len(facts.deleted) - facts.deleted.null_count
    live = None if facts.rows.null_count else pc.sum(facts.rows).as_py() or 0
    purge = plan_compaction(facts, files.sizes, purged=pc.is_valid(facts.deleted))
    return DeletedRows(count, pc.sum(facts.deleted).as_py() or 0, live, _compacted(purge))


def _classes(sizes: pa.Array) -> tuple[SizeClass, ...]:
    found, rest = [], sizes
    for least, bound in pairwise((0, *_CLASSES)):
        is_below = pc.less(rest, bound)
        part, rest = rest.filter(is_below), rest.filter(pc.invert(is_below))
        found.append(SizeClass(least, bound, len(part), pc.sum(part).as_py() or 0))
    return (*found, SizeClass(_CLASSES[-1], None, len(rest), pc.sum(rest).as_py() or 0))


def _partitions(files: LiveFiles) -> pa.Table:
    """Return a row for each partition, with the position of one of its files."""
    facts = files.facts
    columns = {
        "partition": facts.partitions,
        "size": facts.sizes,
        "small": pc.less(facts.sizes, files.sizes.small).cast(pa.int64()),
        "deleted": facts.deleted,
        "at": pc.subtract(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), len(facts.sizes))), 1),
    }
    wanted = [
        ("size", "count"),
        ("size", "sum"),
        ("size", "min"),
        ("size", "max"),
        ("small", "sum"),
        ("deleted", "sum"),
        ("at", "min"),
    ]
    return pa.table(columns).group_by("partition").aggregate(wanted)


def _worst(snapshot: Snapshot, groups: pa.Table) -> tuple[PartitionSizes, ...]:
    if not groups.num_rows:
        return ()  # Arrow 15 selects from no rows with an error
    keys = [("small_sum", "descending"), ("size_sum", "descending"), ("at_min", "ascending")]
    rows: list[dict[str, Any]] = groups.take(pc.select_k_unstable(groups, MOST_PARTITIONS, keys)).to_pylist()
    names = physical_names(snapshot.schema, snapshot.partition_columns)
    texts = snapshot.partition_texts()
    return tuple(
        PartitionSizes(
            values={name: texts[physical][row["at_min"]].as_py() for name, physical in names.items()},
            files=row["size_count"],
            bytes=row["size_sum"],
            small_files=row["small_sum"],
            smallest=row["size_min"],
            largest=row["size_max"],
            deleted_rows=row["deleted_sum"] or 0,
        )
        for row in rows
    )


def optimized(snapshot: Snapshot, files: LiveFiles, *, is_full: bool = False) -> Rewrite:
    """Return what OPTIMIZE, or OPTIMIZE FULL, would rewrite: it clusters a table with clustering columns, and compacts others."""
    columns = logical_clustering(snapshot)
    if not columns:
        return _compacted(plan_compaction(files.facts, files.sizes))
    cubes = cube_facts(snapshot.files(["tags", "clustering_provider"]), names_of(columns), is_clustering=True)
    return _ordered(estimate_clustering(files.facts, cubes, files.sizes, CubeRules(is_full=is_full)))


def z_ordered(snapshot: Snapshot, files: LiveFiles, name: str) -> Rewrite:
    """Return what OPTIMIZE ... ZORDER BY would rewrite for a column, given as SQL names it; tables with clustering refuse it."""
    if CLUSTERING in writer_features(snapshot.protocol):
        return Rewrite(0, 0, 0)
    (path,) = parse_column_list(name)
    physical = [[field.physical_name for field in fields_on(path, snapshot.schema) or ()]]
    cubes = cube_facts(snapshot.files(["tags", "clustering_provider"]), physical, is_clustering=False)
    return _ordered(estimate_clustering(files.facts, cubes, files.sizes, CubeRules()))


def _compacted(plan: CompactionPlan) -> Rewrite:
    return Rewrite(plan.num_files, plan.num_bytes, plan.num_bins)


def _ordered(found: ClusteringEstimate) -> Rewrite:
    return Rewrite(found.num_files, found.num_bytes, found.new_files)
