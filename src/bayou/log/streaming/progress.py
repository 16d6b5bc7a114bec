# SPDX-License-Identifier: Apache-2.0
"""Where a batch ends, and what lies between its offsets."""

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
    """What a stream has yet to read: the number of files and their total size."""

    files: int
    bytes: int


def taken(files: IndexedFiles, at: SourceOffset, admission: Admission, *, is_atomic: bool = False) -> SourceOffset:
    """Return the offset that a batch reaches in the files of a version: the next version if it takes all remaining files.

    Args:
        is_atomic: whether the files are taken all together or not at all.
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
    """Return the positions of a commit's files between two offsets; the end is excluded."""
    files = commit.indexed
    is_first = commit.version == begin.version and not begin.is_starting_version
    start = files.position_after(begin.index) if is_first else 0
    return start, files.position_after(end.index) if commit.version == end.version else len(files)


def first_commit(begin: SourceOffset) -> int:
    """Return the version of the first commit of a batch that begins here."""
    return begin.version + begin.is_starting_version


def last_commit(end: SourceOffset) -> int:
    """Return the version of the last commit of a batch that ends here."""
    return end.version if end.index >= 0 and not end.is_starting_version else end.version - 1


def backlog(table: StreamTable, begin: SourceOffset) -> Backlog:
    """Return what lies after an offset, according to the last listing.

    An unread commit counts as the average of the held ones, and at least one file.
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
