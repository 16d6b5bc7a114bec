# SPDX-License-Identifier: Apache-2.0
"""List the files of a scan for Spark's `FileIndex`, grouped by the constants that they share.

Once the index has the partition filters, Spark removes them from the plan. They are applied here, exactly, by Spark's own
evaluation of the distinct partition values in the JVM. Data filters stay in the plan; data skipping uses them elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bayou.spark.jvm.core.bulk import Bulk, FileGroup
from bayou.spark.jvm.relations.relation import bound_predicate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """A partition column of a scan: its physical name, Spark's SQL name of its type, and each file's value as the log has it."""

    name: str
    type: str
    texts: pa.Array


@dataclass(frozen=True, slots=True)
class FileGroups:
    """Files grouped by the constants that they share.

    Attributes:
        ids: the number of each file's group, from 0 on.
        rows: the typed constants of each group, as an array of Spark's rows in the JVM; None without constants.
    """

    ids: pa.Array
    rows: JavaObject | None

    def take(self, positions: pa.Array) -> FileGroups:
        """Return the groups of some of the files."""
        return FileGroups(self.ids.take(positions), self.rows)


@dataclass(frozen=True, slots=True)
class ScanFiles:
    """The files of a scan: URIs without percent-encoding, sizes in bytes, times in ms since the epoch. All arrays are aligned."""

    uris: pa.Array
    sizes: pa.Array
    modification_times: pa.Array
    groups: FileGroups

    def take(self, positions: pa.Array) -> ScanFiles:
        """Return some of the files, in the order of `positions`."""
        return ScanFiles(
            self.uris.take(positions),
            self.sizes.take(positions),
            self.modification_times.take(positions),
            self.groups.take(positions),
        )


def group_files(
    jvm: Jvm, session: JavaObject, partitions: Sequence[PartitionColumn], hidden: Mapping[str, pa.Array], count: int
) -> FileGroups:
    """Group files by their partition values and hidden constants. Runs no job.

    Args:
        session: the JVM session whose settings apply to casts of partition values.
        hidden: further constants of each file by the name of their column, in the type that Spark sees.
    """
    if not partitions and not hidden:
        return FileGroups(pa.array(np.zeros(count, np.int64)), None)
    ids, firsts = _distinct([c.texts for c in partitions] + [_as_key(v) for v in hidden.values()])
    columns: dict[str, pa.Array] = {}
    projection = []
    for number, column in enumerate(partitions):
        texts = column.texts.take(firsts)
        # The empty string is NULL too (PROTOCOL.md, "Partition Value Serialization").
        columns[f"p{number}"] = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
        projection.append(f"cast(p{number} as {column.type})")
    for number, values in enumerate(hidden.values()):
        constants = values.take(firsts)
        is_time = pa.types.is_timestamp(values.type)
        columns[f"h{number}"] = constants.cast(pa.int64()) if is_time else constants
        projection.append(f"timestamp_micros(h{number})" if is_time else f"h{number}")
    rows = Bulk.of(jvm).rows(session, pa.table(columns), projection) if count else None
    return FileGroups(ids, rows)


_groups: Final[WeakKeyDictionary[Jvm, WeakKeyDictionary[Snapshot, dict[int, FileGroups]]]] = WeakKeyDictionary()
"""The groups of a snapshot's files in a JVM, by the id of the session that cast their partition values."""


def partition_groups(
    jvm: Jvm, snapshot: Snapshot, session: JavaObject, partitions: Callable[[], list[PartitionColumn]]
) -> FileGroups:
    """Group a snapshot's files by their partition values, and cache the groups with the snapshot.

    `session` is one of `Application.workbench`: its settings apply to casts of partition values.
    """
    groups_by_session = _groups.setdefault(jvm, WeakKeyDictionary()).setdefault(snapshot, {})
    if id(session) not in groups_by_session:
        groups_by_session[id(session)] = group_files(jvm, session, partitions(), {}, snapshot.files(columns=["path"]).num_rows)
    return groups_by_session[id(session)]


def list_directories(jvm: Jvm, files: ScanFiles, partition_schema: str, partition_filters: Sequence[JavaObject]) -> JavaObject:
    """Return the files that pass Catalyst's partition filters, as a Scala `Seq` of `PartitionDirectory`.

    `partition_schema` is JSON of the partition columns, then the hidden ones.
    """
    rows = files.groups.rows
    if partition_filters and rows is not None:
        matching = Bulk.of(jvm).matching(rows, bound_predicate(jvm, partition_filters, partition_schema))
        passing = pc.is_in(files.groups.ids, pa.array(matching, pa.int64()))
        files = files.take(pc.indices_nonzero(passing))
    if len(files.uris) == 0:
        return jvm.seq([])
    files = files.take(pc.sort_indices(files.groups.ids))
    runs = pc.run_end_encode(files.groups.ids)
    group = FileGroup(files.uris, files.sizes, files.modification_times, runs.run_ends, runs.values)
    return Bulk.of(jvm).directories(group, rows)


def _distinct(columns: Sequence[pa.Array]) -> tuple[pa.Array, pa.Array]:
    """Return the number of each row's combination of values, and the first row of each combination."""
    ids = _codes(columns[0])
    for column in columns[1:]:  # dense codes after each column, so that the products do not overflow
        codes = _codes(column)
        width = (pc.max(codes).as_py() or 0) + 1
        ids = _codes(pc.add(pc.multiply(ids, width), codes))
    rows = pa.table({"id": ids, "row": pa.array(np.arange(len(ids)))})
    first = rows.group_by("id").aggregate([("row", "min")]).sort_by("id")
    return ids, first["row_min"].combine_chunks()


def _codes(values: pa.Array) -> pa.Array:
    return values.dictionary_encode(null_encoding="encode").indices.cast(pa.int64())


def _as_key(values: pa.Array) -> pa.Array:
    """Return a key for the values of a hidden column. A large constant belongs to one file, so its row is the key."""
    if pa.types.is_binary(values.type):
        rows = pa.array(np.arange(len(values)))
        return pc.if_else(pc.is_valid(values), rows, pa.scalar(None, pa.int64()))
    return values
