# SPDX-License-Identifier: Apache-2.0
"""What the rows of a batch need to know about their files: partition values, deletion vectors, and changes of a change feed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import failed
from bayou.log.actions.keys import hadoop_uris
from bayou.log.changes.feed import ChangeFeed
from bayou.log.changes.files import CDC
from bayou.log.rows.vector_reader import read_vectors
from bayou.spark.portable.scan.vectors import words_of
from bayou.spark.scan.vector_loading import within_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.streaming.batches.files import StreamFiles
    from bayou.plan.predicates.predicate import Predicate


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes in some files of a change feed. A file may have several, each with some of its rows.

    Attributes:
        of_files: for each file the positions of its changes in the other attributes.
        kinds: the `_change_type` of the rows; None for a change data file, whose rows have it.
        versions: the versions of the commits.
        times: when they were committed, in ms since the epoch.
        wanted: 1 if only the rows in the change's deletion vector count, 0 if only the others do.
    """

    of_files: Sequence[Sequence[int]] = ()
    kinds: Sequence[str | None] = ()
    versions: Sequence[int] = ()
    times: Sequence[int] = ()
    wanted: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """What the rows of some files need to know about their files.

    Attributes:
        partitions: a string for each file, by the physical names of the partition columns.
        words: the bits of a deletion vector for each file, or for each change of a change feed, in 64-bit words. Empty if no column
            has them.
        changes: the changes; None for a stream of rows.
    """

    partitions: Mapping[str, Sequence[str | None]]
    words: Sequence[Sequence[int]]
    changes: Changes | None = None

    @property
    def num_words(self) -> int:
        """The number of all words."""
        return sum(len(each) for each in self.words)


NO_FACTS: Final = Facts({}, [])
"""The facts of no file."""


def joined(facts: Sequence[Facts], partitions: Sequence[str]) -> Facts:
    """Return the facts of the files of several batches, in their order.

    Args:
        partitions: the physical names of all partition columns.
    """
    texts = {name: [text for each in facts for text in each.partitions.get(name, ())] for name in partitions}
    words = [words for each in facts for words in each.words]
    parts = [each.changes for each in facts if each.changes is not None]
    if not parts:
        return Facts(texts, words)
    of_files: list[list[int]] = []
    first = 0
    for each in parts:
        of_files += [[first + place for place in places] for places in each.of_files]
        first += len(each.kinds)
    changes = Changes(
        of_files,
        [kind for each in parts for kind in each.kinds],
        [version for each in parts for version in each.versions],
        [time for each in parts for time in each.times],
        [wanted for each in parts for wanted in each.wanted],
    )
    return Facts(texts, words, changes)


@dataclass(frozen=True, slots=True)
class BatchFiles:
    """The files of one batch.

    Attributes:
        snapshot: the version whose schema, partition columns and column mapping apply to them.
        files: their `path` and `size`. No path occurs twice, because Spark reads each file of a list once.
        facts: what their rows need.
    """

    snapshot: Snapshot
    files: pa.Table
    facts: Facts


@dataclass(frozen=True, slots=True)
class FactReader:
    """Reads the facts of the files of batches.

    Attributes:
        partitions: the physical names of the partition columns.
        has_vectors: whether the plan of a stream of rows leaves out deleted rows.
        storage_options: credentials for this process.
        where: a predicate that all rows satisfy that the query keeps of a stream of rows; None for all rows.
    """

    partitions: tuple[str, ...]
    has_vectors: bool
    storage_options: Mapping[str, str] = field(repr=False)
    where: Predicate | None = None

    def read(self, files: StreamFiles | ChangeFeed) -> BatchFiles:
        """Return the files of a batch with their facts. No path of a stream of rows may occur twice.

        Files of a stream of rows are left out if none of their rows satisfies the predicate.

        Raises:
            DeletionVectorError: a deletion vector cannot be read.
            SchemaChangedError: a file has deletion vectors, and the plan does not leave out deleted rows.
        """
        if isinstance(files, ChangeFeed):
            return self._changes(files)
        if self.where is not None:
            files = files.which_may_match(self.where)
        return BatchFiles(files.snapshot, files.files.select(["path", "size"]), self._rows(files))

    def _rows(self, files: StreamFiles) -> Facts:
        partitions = self._texts(files.partition_texts() if self.partitions else {})
        descriptors = files.files["deletion_vector"].combine_chunks()
        if descriptors.null_count == len(descriptors):
            return Facts(partitions, [[]] * len(descriptors) if self.has_vectors else [])
        if not self.has_vectors:
            raise failed("stream-vectors-new", table=files.snapshot.table_uri)
        found = read_vectors(files.snapshot, descriptors, self.storage_options)
        return Facts(partitions, words_of(within_files(found, files.snapshot.table_uri, files.num_records)))

    def _changes(self, feed: ChangeFeed) -> BatchFiles:
        snapshot, changed = feed.snapshot, feed.changed_rows(self.storage_options)
        table = changed.files
        uris = hadoop_uris(table["path"], snapshot.table_uri)
        uris = uris.combine_chunks() if isinstance(uris, pa.ChunkedArray) else uris
        numbers = uris.dictionary_encode().indices.to_numpy()
        firsts = pa.array(np.unique(numbers, return_index=True)[1], pa.int64())
        of_files: list[list[int]] = [[] for _ in range(len(firsts))]
        for change, number in enumerate(numbers.tolist()):
            of_files[number].append(change)
        kinds = pc.if_else(pc.equal(table["kind"], CDC), None, table["kind"])
        changes = Changes(
            of_files,
            kinds.to_pylist(),
            table["commit_version"].to_pylist(),
            table["commit_timestamp"].to_pylist(),
            [int(each) for each in table["is_difference"].to_pylist()],
        )
        words = words_of(within_files(changed.rows, snapshot.table_uri))
        files = table.take(firsts)
        partitions = self._texts(replace(feed, files=files).partition_texts() if self.partitions else {})
        return BatchFiles(snapshot, files.select(["path", "size"]), Facts(partitions, words, changes))

    def _texts(self, texts: Mapping[str, pa.ChunkedArray]) -> dict[str, list[str | None]]:
        return {name: [text or None for text in texts[name].to_pylist()] for name in self.partitions}  # an empty string is NULL
