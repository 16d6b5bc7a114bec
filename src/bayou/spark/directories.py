# SPDX-License-Identifier: Apache-2.0
"""The files of a scan as Spark's `FileIndex` lists them: grouped by the constants that they share.

Spark removes the partition filters from the plan once the index has them, so they are applied here, exactly, by Spark's own
evaluation in the JVM on the distinct partition values. Data filters stay in the plan; files are skipped for them elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bayou.protocol import paths
from bayou.spark.jvm.bulk import Bulk, FileGroup
from bayou.spark.jvm.relation import bound_predicate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bayou.spark.jvm.bridge import JavaObject, Jvm


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """A partition column of a scan.

    Attributes:
        name: the physical name.
        type: Spark's SQL name of its type.
        texts: the value of each file as the log has it: a string, NULL for NULL.
    """

    name: str
    type: str
    texts: pa.Array


@dataclass(frozen=True, slots=True)
class ScanFiles:
    """The files of a scan and what is constant for each of them; all arrays are aligned.

    Attributes:
        uris: absolute, not percent-encoded.
        sizes: bytes.
        modification_times: milliseconds since the epoch.
        partitions: the partition columns.
        hidden: further constants by the name of their hidden column, in the type that Spark shall see.
    """

    uris: pa.Array
    sizes: pa.Array
    modification_times: pa.Array
    partitions: Sequence[PartitionColumn]
    hidden: Mapping[str, pa.Array]

    def take(self, positions: pa.Array) -> ScanFiles:
        """Some of the files, in the order of `positions`."""
        return ScanFiles(
            self.uris.take(positions),
            self.sizes.take(positions),
            self.modification_times.take(positions),
            [PartitionColumn(c.name, c.type, c.texts.take(positions)) for c in self.partitions],
            {name: values.take(positions) for name, values in self.hidden.items()},
        )


def uris(encoded: pa.Array, table_uri: str) -> pa.Array:
    """Where files are, by their paths in the log. Only paths that need it are looked at one by one."""
    plain = pc.binary_join_element_wise(table_uri.rstrip("/"), encoded, "/")
    odd = pc.match_substring_regex(encoded, "^/|%|:")
    if not pc.any(odd).as_py():
        return plain
    given = encoded.filter(odd).to_pylist()
    mended = pa.array([paths.to_uri(path, table_uri) for path in given], pa.string())
    return pc.replace_with_mask(plain, odd, mended)


def list_directories(
    jvm: Jvm, session: JavaObject, files: ScanFiles, partition_schema: str, partition_filters: Sequence[JavaObject]
) -> JavaObject:
    """The files that pass the partition filters, as a Scala `Seq` of `PartitionDirectory`.

    Args:
        jvm: the JVM.
        session: the JVM session under whose settings partition values are cast.
        files: the files to list.
        partition_schema: JSON of the partition columns, without hidden ones.
        partition_filters: Catalyst conditions over partition columns.
    """
    bulk = Bulk.of(jvm)
    if partition_filters and files.partitions:
        files = _passing(jvm, session, files, partition_schema, partition_filters)
    if len(files.uris) == 0:
        return jvm.seq([])
    if not files.partitions and not files.hidden:
        return bulk.directories(_group(files, [len(files.uris)]), None)
    ids, firsts = _distinct([c.texts for c in files.partitions] + [_as_key(v) for v in files.hidden.values()])
    order = pc.sort_indices(ids)
    counts = pc.value_counts(ids.take(order))
    ends = pc.cumulative_sum(counts.field("counts")).to_pylist() if len(counts) > 1 else [len(ids)]
    representatives = firsts.take(counts.field("values"))
    rows = bulk.rows(session, *_constants(files, representatives))
    return bulk.directories(_group(files.take(order), ends), rows)


def _group(files: ScanFiles, ends: list[int]) -> FileGroup:
    return FileGroup(files.uris, files.sizes, files.modification_times, pa.array(ends, pa.int64()))


def _passing(jvm: Jvm, session: JavaObject, files: ScanFiles, partition_schema: str, filters: Sequence[JavaObject]) -> ScanFiles:
    ids, firsts = _distinct([column.texts for column in files.partitions])
    only_partitions = ScanFiles(files.uris, files.sizes, files.modification_times, files.partitions, {})
    bulk = Bulk.of(jvm)
    rows = bulk.rows(session, *_constants(only_partitions, firsts))
    kept = bulk.matching(rows, bound_predicate(jvm, filters, partition_schema))
    if len(kept) == len(firsts):
        return files
    return files.take(pc.indices_nonzero(pc.is_in(ids, pa.array(kept, ids.type))))


def _constants(files: ScanFiles, positions: pa.Array) -> tuple[pa.Table, list[str]]:
    """The constants of some files as an Arrow table, and the SQL expressions that give them their types."""
    columns: dict[str, pa.Array] = {}
    projection = []
    for number, column in enumerate(files.partitions):
        texts = column.texts.take(positions)
        columns[f"p{number}"] = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
        projection.append(f"cast(p{number} as {column.type})")
    for number, values in enumerate(files.hidden.values()):
        columns[f"h{number}"] = values.take(positions)
        projection.append(f"h{number}")
    return pa.table(columns), projection


def _distinct(columns: Sequence[pa.Array]) -> tuple[pa.Array, pa.Array]:
    """For each row the number of its combination of values, and for each combination a row that has it."""
    ids: pa.Array | None = None
    for column in columns:
        indices = _codes(column)
        if ids is None:
            ids = indices
        else:
            width = (pc.max(indices).as_py() or 0) + 1
            ids = _codes(pc.add(pc.multiply(ids, width), indices))
    if ids is None:
        return pa.nulls(0, pa.int64()), pa.nulls(0, pa.int64())
    found = pa.table({"id": ids, "row": pa.array(np.arange(len(ids)))}).group_by("id").aggregate([("row", "min")])
    ordered = found.sort_by("id")
    return ids, ordered["row_min"].combine_chunks()


def _codes(values: pa.Array) -> pa.Array:
    return values.dictionary_encode(null_encoding="encode").indices.cast(pa.int64())


def _as_key(values: pa.Array) -> pa.Array:
    """What distinguishes the values of a hidden column: a large constant is told by its row, for it is its file's own."""
    if pa.types.is_binary(values.type):
        rows = pa.array(np.arange(len(values)))
        return pc.if_else(pc.is_valid(values), rows, pa.scalar(None, pa.int64()))
    return values
