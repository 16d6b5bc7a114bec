# SPDX-License-Identifier: Apache-2.0
"""How far a batch gets, and what lies between its offsets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bayou.log.streaming.request.offsets import SourceOffset

if TYPE_CHECKING:
    from bayou.log.streaming.batches.batches import ReadCommit
    from bayou.log.streaming.batches.indexed_files import IndexedFiles
    from bayou.log.streaming.request.limits import Admission
    from bayou.log.streaming.table import StreamTable


@dataclass(frozen=True, slots=True)
class Backlog:
    """What a stream has still to read.

    Attributes:
        files: how many files.
        bytes: their size together.
    """

    files: int
    bytes: int


def taken(files: IndexedFiles, at: SourceOffset, admission: Admission, *, is_atomic: bool = False) -> SourceOffset:
    """How far a batch gets in the files of a version: to the next version where it takes all that are left.

    Args:
        at: where the batch is.
        is_atomic: whether it takes all of them or none.
    """
    place = files.position_after(at.index)
    sizes = files.sizes.slice(place)
    if is_atomic:
        count = len(sizes) if admission.admit_together(len(sizes), files.size_after(place)) else 0
    else:
        count = admission.admit(sizes)
    if count == len(sizes):
        return SourceOffset(at.table_id, at.version + 1)
    return at if not count else replace(at, index=files.index_at(place + count - 1))


def span(commit: ReadCommit, begin: SourceOffset, end: SourceOffset) -> tuple[int, int]:
    """The positions of a commit's files that lie between two offsets; the last one is not included."""
    files = commit.indexed
    is_first = commit.version == begin.version and not begin.is_starting_version
    start = files.position_after(begin.index) if is_first else 0
    return start, files.position_after(end.index) if commit.version == end.version else len(files)


def first_commit(begin: SourceOffset) -> int:
    """The first version whose commit a batch reads that begins here."""
    return begin.version + begin.is_starting_version


def last_commit(end: SourceOffset) -> int:
    """The last version whose commit a batch reads that ends here."""
    return end.version if end.index >= 0 and not end.is_starting_version else end.version - 1


def backlog(table: StreamTable, begin: SourceOffset) -> Backlog:
    """What lies after an offset, by what the last listing found.

    Commits that were not read count as many files and bytes as those that are held have on average, one file at least.
    """
    files = size = 0
    initial = table.initial
    if begin.is_starting_version and initial is not None and initial.snapshot.version == begin.version:
        place = initial.indexed.position_after(begin.index)
        files, size = len(initial.indexed) - place, initial.indexed.size_after(place)
    first = first_commit(begin)
    held = [(commit.indexed, version) for version, commit in table.tail.read_commits() if version >= first]
    places = [each.position_after(begin.index) if version == begin.version else 0 for each, version in held]
    read_files = sum(len(each) - place for (each, _), place in zip(held, places, strict=True))
    read_size = sum(each.size_after(place) for (each, _), place in zip(held, places, strict=True))
    unread = table.tail.count_from(first) - len(held)
    if held:
        unread_files, unread_size = unread * max(read_files // len(held), 1), unread * read_size // len(held)
    else:
        unread_files, unread_size = unread, 0
    return Backlog(files + read_files + unread_files, size + read_size + unread_size)
