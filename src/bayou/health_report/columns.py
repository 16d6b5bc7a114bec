# SPDX-License-Identifier: Apache-2.0
"""How complete the statistics of each column are, and how many files a point filter reads by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.health_report.facts import ColumnFacts
from bayou.health_report.point_reads import point_reads
from bayou.plan.predicates import exact
from bayou.plan.statistics.bounds import ColumnBounds
from bayou.protocol.columns.clustering import names_of
from bayou.protocol.stats.file_stats import indexed_leaves, skipping_types, statistics_type
from bayou.protocol.types.traverse import leaves

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.plan.statistics.columns import FileStatistics
    from bayou.protocol.stats.file_stats import IndexedLeaf
    from bayou.protocol.types.schema import StructField


def column_facts(snapshot: Snapshot) -> tuple[tuple[ColumnFacts, ...], tuple[str, ...]]:
    """Return the facts of the columns with statistics and of partition columns, and the names of the columns without statistics.

    A column without statistics is not read: its filters read all files. Arrays and maps are left out: no file is skipped by them.
    """
    leaves_with_statistics = indexed_leaves(snapshot.schema, snapshot.properties, snapshot.partition_columns)
    indexed = [leaf for leaf in leaves_with_statistics if isinstance(leaf.field.type, str)]
    types = skipping_types(snapshot.schema)
    statistics = snapshot.statistics({leaf.path: types[leaf.path] for leaf in indexed})
    partitions = [_of_partition(snapshot, name) for name in snapshot.partition_columns]
    of_leaves = [_of_leaf(leaf, statistics) for leaf in indexed]
    known = {leaf.path for leaf in indexed}
    others = (
        names_of((logical,))[0]
        for logical, physical, field in leaves(snapshot.schema)
        if physical not in known and logical[0] not in snapshot.partition_columns and isinstance(field.type, str)
    )
    return (*partitions, *of_leaves), tuple(others)


def _of_leaf(leaf: IndexedLeaf, statistics: FileStatistics) -> ColumnFacts:
    num_records = statistics.num_records
    bounds = ColumnBounds(statistics.columns[leaf.path], num_records)
    has_value, limits = bounds.has_value(), bounds.limits
    low, high = limits or (pa.nulls(len(num_records)), pa.nulls(len(num_records)))
    reads = point_reads(low, high, has_value)
    return ColumnFacts(
        name=names_of((leaf.logical_path,))[0],
        type=_type_text(leaf.field),
        is_partition=False,
        has_bounds=statistics_type(leaf.field) is not None,
        missing=_count(statistics.lacks(leaf)),
        average_reads=reads.average,
        most_reads=reads.most,
        single_values=0 if limits is None else _count(pc.equal(*limits)),
    )


def _of_partition(snapshot: Snapshot, name: str) -> ColumnFacts:
    field = snapshot.schema.field(name)
    physical = name if field is None else field.physical_name
    values = exact.plain(snapshot.partitions()[(physical,)])
    reads = point_reads(values, values, pc.is_valid(values))
    kind = "string" if field is None else _type_text(field)
    return ColumnFacts(
        names_of(((name,),))[0],
        kind,
        is_partition=True,
        has_bounds=True,
        missing=0,
        average_reads=reads.average,
        most_reads=reads.most,
        single_values=len(values) - values.null_count,
    )


def _type_text(field: StructField) -> str:
    if isinstance(field.type, str):
        return field.type
    return type(field.type).__name__.removesuffix("Type").lower()


def _count(mask: pa.Array) -> int:
    return pc.sum(mask).as_py() or 0
