# SPDX-License-Identifier: Apache-2.0
"""Row-level concurrency: rebase a commit that deletes rows on winning commits that deleted other rows of the same files.

delta-spark compares the paths of files, so that one of two such commits fails. bayou rebases the second commit ("ours") if it would
have made the same changes after the winning commits:

1. Each file in which it deletes rows is still the same file: winning commits only replaced its deletion vector.
2. No winning commit deleted a row that it deletes or relies on. A MERGE that only inserts does not store the rows that it relies
   on; it searches them again in the files that winning commits changed (`RowConflictOracle.needed_rows`).
3. It would not have deleted or relied on any row that winning commits added or restored. Statistics decide this for most files. The
   operation reads the rows of the other files (`RowConflictOracle.matches_added_rows`), and a failure there counts as a match. A
   MERGE joins these rows with its source, because two MERGEs that insert the same key share no row or file.
4. If a winning commit only moved the rows of a file and states their new positions, as OPTIMIZE by bayou does, our deleted rows are
   translated to these positions (`bayou.log.rows.moved_rows`).

Rows that our commit scanned and neither deletes nor relies on do not matter: winning commits may delete or move them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentModificationError,
)
from bayou.log.actions.keys import canonical_paths
from bayou.log.rows.deleted_rows import MarkedFile, NotEvaluated, live_files, read_deleted
from bayou.log.rows.moved_rows import MovedRows, have_places
from bayou.protocol.actions.paths import canonical
from bayou.protocol.deletion_vectors.descriptor import Bitmap, DeletionVectorDescriptor
from bayou.protocol.stats.wide_stats import num_records

if TYPE_CHECKING:
    from bayou.log.conflict.winning_commits import WinningFiles
    from bayou.log.rows.deleted_rows import DeletedRows
    from bayou.protocol.actions.actions import AddFile

_SAMPLE: Final = 5
Vector: TypeAlias = DeletionVectorDescriptor | None


@dataclass(frozen=True, slots=True)
class RowConflict:
    """A conflict with a winning commit over rows.

    Attributes:
        rule: the number of the broken rule. It continues the numbers of the rules for files in `checker`: of several rules that a
            winning commit breaks, the error reports the one with the lowest number.
        position: the position of the winning commit, from 0 on.
        why: what the winning commit did, for the error.
        paths: the files with these rows.
        facts: further attributes of the error.
    """

    rule: int
    position: int
    kind: type[ConcurrentModificationError]
    why: str
    paths: Sequence[str]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Step:
    """The actions of one winning commit on one file: the deletion vectors of its removes, and its adds."""

    removed: list[Vector] = field(default_factory=list)
    added: list[AddFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rebased:
    """Our files as winning commits left them. Their new deletion vectors are not written yet.

    Attributes:
        files: the files that winning commits changed or moved our rows into.
        left: the canonical paths of files whose rows winning commits moved to other files.
    """

    files: Sequence[MarkedFile] = ()
    left: frozenset[str] = frozenset()


def rebase(ours: DeletedRows, winning_files: WinningFiles, missed: pa.Array) -> Rebased | RowConflict:
    """Rebase deleted rows on winning commits, or return the first conflict.

    The winning commits are processed in runs that end before each commit that moved rows, because our rows are in other files after
    such a commit.

    Args:
        ours: the rows that our commit deletes, before the rebase.
        missed: for each file that the winning commits added, whether its statistics allow a row that our reads match.

    Raises:
        DeletionVectorError: a winning commit's deletion vector cannot be read.
    """
    changed: set[str] = set()
    left: set[str] = set()
    now, start = ours, 0
    for mover in [*_movers(winning_files), None]:
        part = winning_files.between(start, mover)
        in_part = pc.greater_equal(winning_files.add_commit, start)
        in_part = in_part if mover is None else pc.and_(in_part, pc.less(winning_files.add_commit, mover))
        rebased = _rebased(now, part, missed.filter(in_part))
        if isinstance(rebased, RowConflict):
            return rebased
        changed |= {file.path for file in rebased}
        now = replace(now, files={**now.files, **{file.path: file for file in rebased}})
        if mover is None:
            break
        now, gone, new = _followed(now, winning_files.between(mover, mover + 1))
        left |= gone
        changed |= new
        start = mover
    return Rebased([now.files[path] for path in changed if path in now.files], frozenset(left - now.files.keys()))


def _movers(winning_files: WinningFiles) -> list[int]:
    """Return the positions of the winning commits that moved rows and state their new positions."""
    return sorted(winning_files.remove_commit.filter(have_places(winning_files.removes["tags"])).unique().to_pylist())


def _followed(ours: DeletedRows, mover: WinningFiles) -> tuple[DeletedRows, set[str], set[str]]:
    """Translate our rows to the files into which a winning commit moved them.

    Returns:
        Our rows, the paths of the files that they left, and the paths of the files that they are in now.
    """
    ours = ours.relying(_touched(ours, mover))
    removes, paths, _ = _of_files(mover.removes, mover.remove_commit, pa.array(list(ours.files), pa.string()), ours)
    moves = [MovedRows.of(None if each is None else dict(each)) for each in removes["tags"].to_pylist()]
    new = {canonical(each.path, ours.snapshot.table_uri): each for each in live_files(mover.adds)}
    files, gone, entered = dict(ours.files), set[str](), set[str]()
    places: defaultdict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for path, move, vector in zip(paths, moves, _vectors(removes), strict=True):
        old = ours.files[path]
        at = None if move is None else canonical(move.path, ours.snapshot.table_uri)
        if move is None or at not in new or new[at].deletion_vector is not None or _id(vector) != _id(old.live.deletion_vector):
            continue  # _rebased then reports the file as removed
        if num_records(new[at].stats) is None:
            continue
        deleted, needed = places[at]
        deleted += move.places(old.rows, old.gone)
        needed += move.places(old.needed, old.gone)
        gone.add(path)
        del files[path]
    for at, (deleted, needed) in places.items():
        count = num_records(new[at].stats) or 0
        files[at] = MarkedFile(at, new[at], count, Bitmap(), Bitmap.from_positions(deleted), Bitmap.from_positions(needed))
        entered.add(at)
    relied = ours.relied
    if gone and len(relied):
        relied = relied.filter(pc.invert(pc.is_in(relied, value_set=pa.array(sorted(gone), pa.string()))))
    return replace(ours, files=files, relied=relied), gone, entered


def _rebased(ours: DeletedRows, winning_files: WinningFiles, missed: pa.Array) -> list[MarkedFile] | RowConflict:
    """Return our files that winning commits changed, with their latest state in the table; or the first conflict."""
    ours = ours.relying(_touched(ours, winning_files))
    steps = _steps(ours, winning_files)
    conflict = _first(_other_files(ours, steps))
    if conflict is not None:
        return conflict
    gone = _read(ours, [step.added[-1].deletion_vector for taken in steps.values() for step in taken.values()], {})
    conflict = _first(_shared_rows(ours, steps, gone)) or _missed_rows(ours, winning_files, missed, gone)
    return conflict or [_moved(ours.files[path], list(taken.values())[-1], gone) for path, taken in steps.items()]


def overlap(file: MarkedFile, deleted: Bitmap) -> tuple[Bitmap, Bitmap]:
    """Return the rows that a commit deletes in a file, and the rows that it relies on, of those that another commit deleted."""
    return file.rows.intersection(deleted), file.needed.intersection(deleted)


def _first(conflicts: Iterator[RowConflict]) -> RowConflict | None:
    return min(conflicts, key=lambda each: (each.position, each.rule), default=None)


def _touched(ours: DeletedRows, winning_files: WinningFiles) -> list[str]:
    """Return the changed files of `relied`: our commit relies on rows in them that the oracle has not returned yet."""
    if not len(ours.relied):
        return []
    both = (canonical_paths(actions["path"], ours.snapshot.table_uri) for actions in (winning_files.removes, winning_files.adds))
    paths = pa.concat_arrays([pa.array([], pa.string()), *(chunk for each in both for chunk in each.chunks)]).unique()
    return [path for path in paths.filter(pc.is_in(paths, value_set=ours.relied)).to_pylist() if path not in ours.files]


def _steps(ours: DeletedRows, winning_files: WinningFiles) -> dict[str, dict[int, _Step]]:
    """Return the actions of winning commits on our files: by path, and then by the position of the commit, in order."""
    our_paths = pa.array(list(ours.files), pa.string())
    steps: dict[str, dict[int, _Step]] = {}
    removes, paths, owners = _of_files(winning_files.removes, winning_files.remove_commit, our_paths, ours)
    for path, owner, vector in zip(paths, owners, _vectors(removes), strict=True):
        steps.setdefault(path, {}).setdefault(owner, _Step()).removed.append(vector)
    adds, paths, owners = _of_files(winning_files.adds, winning_files.add_commit, our_paths, ours)
    for path, owner, add in zip(paths, owners, live_files(adds), strict=True):
        steps.setdefault(path, {}).setdefault(owner, _Step()).added.append(add)
    return {path: dict(sorted(taken.items())) for path, taken in steps.items()}


def _of_files(actions: pa.Table, owners: pa.Array, selected: pa.Array, ours: DeletedRows) -> tuple[pa.Table, list[str], list[int]]:
    """Return the actions on some files, with the canonical path and the position of the commit of each."""
    paths = canonical_paths(actions["path"], ours.snapshot.table_uri)
    mask = pc.is_in(paths, value_set=selected)
    return actions.filter(mask), paths.filter(mask).to_pylist(), pa.chunked_array([owners]).filter(mask).to_pylist()


def _vectors(actions: pa.Table) -> list[Vector]:
    return [None if each is None else DeletionVectorDescriptor(**each) for each in actions["deletion_vector"].to_pylist()]


def _other_files(ours: DeletedRows, steps: Mapping[str, Mapping[int, _Step]]) -> Iterator[RowConflict]:
    """Yield the conflicts for our files that winning commits removed or replaced; the first commit that did so counts."""
    others: defaultdict[int, list[str]] = defaultdict(list)
    for path, taken in steps.items():
        live = ours.files[path].live
        for winning, step in taken.items():
            if not _is_same(live, step):
                others[winning].append(ours.files[path].live.path)
                break
            live = step.added[0]
    changed = {each.live.path for each in ours.files.values() if each.is_changed}
    for winning, paths in others.items():
        what = "deletes rows of" if changed.intersection(paths) else "has read"
        yield RowConflict(2, winning, ConcurrentDeleteReadException, f"removed files that this operation {what}", paths)


def _is_same(live: AddFile, step: _Step) -> bool:
    """Return whether a winning commit kept the file in the table, and at most changed its deletion vector, statistics or tags."""
    if len(step.added) != 1 or len(step.removed) > 1:
        return False
    add = step.added[0]
    if step.removed and _id(step.removed[0]) != _id(live.deletion_vector):
        return False
    if not step.removed and _id(add.deletion_vector) != _id(live.deletion_vector):
        return False
    return add.size == live.size and add.partition_values == live.partition_values


def _shared_rows(
    ours: DeletedRows, steps: Mapping[str, Mapping[int, _Step]], gone: Mapping[str | None, Bitmap]
) -> Iterator[RowConflict]:
    """Yield the conflicts over rows that a winning commit deleted and that our commit deletes or relies on.

    There is one conflict for each winning commit and each of the two kinds. It has the rows of the first file only.
    """
    first: dict[tuple[int, bool], Bitmap] = {}
    paths: defaultdict[tuple[int, bool], list[str]] = defaultdict(list)
    for path, taken in steps.items():
        file = ours.files[path]
        for winning, step in taken.items():
            both = overlap(file, gone[_id(step.added[0].deletion_vector)])
            for shared, is_deleted in zip(both, (True, False), strict=True):
                if shared.containers:
                    first.setdefault((winning, is_deleted), shared)
                    paths[winning, is_deleted].append(file.live.path)
            if any(each.containers for each in both):
                break
    for (winning, is_deleted), shared in first.items():
        yield _conflict_of_rows(winning, shared, paths[winning, is_deleted], is_deleted=is_deleted)


def _conflict_of_rows(winning: int, shared: Bitmap, paths: Sequence[str], *, is_deleted: bool) -> RowConflict:
    rows, count = shared.first(_SAMPLE), shared.cardinality
    more = f" and {count - _SAMPLE} more" if count > _SAMPLE else ""
    what = "deletes or changes too" if is_deleted else "has read"
    why = f"deleted rows that this operation {what} (row {', '.join(map(str, rows))}{more} of the first file, counted from 0)"
    kind = ConcurrentDeleteDeleteException if is_deleted else ConcurrentDeleteReadException
    return RowConflict(3 if is_deleted else 2, winning, kind, why, paths, {"rows": tuple(rows), "num_rows": count})


def _missed_rows(
    ours: DeletedRows, winning_files: WinningFiles, missed: pa.Array, known: Mapping[str | None, Bitmap]
) -> RowConflict | None:
    """Return the conflict with added or restored rows that our commit would have deleted or relied on, if there is one.

    Args:
        known: the rows that some deletion vectors delete, by unique id, which need not be read again.
    """
    places = pc.indices_nonzero(missed).to_pylist()
    if not places:
        return None
    new_rows = _new_rows(ours, winning_files, places, known)
    if not new_rows:
        return None
    positions = pa.array(list(new_rows), pa.int64())
    files = winning_files.adds.take(positions)
    matches = ours.oracle is None or ours.oracle.matches_added_rows(files, list(new_rows.values()))
    if not matches:
        return None
    owners = winning_files.add_commit.take(positions)
    first = pc.min(owners).as_py()
    paths = files["path"].filter(pc.equal(owners, first)).to_pylist()
    why = "added rows that this operation should have read, in files"
    if isinstance(matches, NotEvaluated):
        why = f"added rows that this operation cannot be asked about ({matches.reason}), in files"
    return RowConflict(1, first, ConcurrentAppendException, why, paths)


def _new_rows(
    ours: DeletedRows, winning_files: WinningFiles, places: Sequence[int], known: Mapping[str | None, Bitmap]
) -> dict[int, Bitmap | None]:
    """Return the new rows in added files, by the file's position in `winning_files.adds`; None if all rows are new.

    A file whose deletion vector grew has no new rows, and is left out. If the vector shrank, the restored rows are new.

    Args:
        places: the positions of the files to examine.
        known: see `_missed_rows`.
    """
    adds = winning_files.adds.select(["path", "size", "deletion_vector"]).take(pa.array(places, pa.int64()))
    paths = canonical_paths(adds["path"], ours.snapshot.table_uri)
    added_paths = pa.concat_arrays([pa.array([], pa.string()), *paths.chunks])
    removes, removed, owners = _of_files(winning_files.removes, winning_files.remove_commit, added_paths, ours)
    # By path and commit: a commit that replaces a deletion vector removes and adds the same path.
    before = dict(zip(zip(removed, owners, strict=True), _sized(removes), strict=True))
    of_places = winning_files.add_commit.take(pa.array(places, pa.int64())).to_pylist()
    after = dict(zip(places, zip(zip(paths.to_pylist(), of_places, strict=True), _sized(adds), strict=True), strict=True))
    pairs = {
        place: (before[key][1], vector)
        for place, (key, (size, vector)) in after.items()
        if key in before and before[key][0] in {None, size}
    }
    gone = _read(ours, [vector for pair in pairs.values() for vector in pair], known)
    back = {place: gone[_id(old)].difference(gone[_id(new)]) for place, (old, new) in pairs.items()}
    return {place: back.get(place) for place in places if place not in back or back[place].containers}


def _sized(actions: pa.Table) -> list[tuple[int | None, Vector]]:
    return list(zip(actions["size"].to_pylist(), _vectors(actions), strict=True))


def _read(ours: DeletedRows, vectors: Sequence[Vector], known: Mapping[str | None, Bitmap]) -> dict[str | None, Bitmap]:
    """Return the rows that deletion vectors delete, by unique id; vectors in `known` are not read again."""
    unread = {key: vector for vector in vectors if (key := _id(vector)) is not None and key not in known}
    bitmaps = read_deleted(ours.snapshot, ours.store, list(unread.values()), ours.storage_options)
    return {None: Bitmap(), **known, **dict(zip(unread, bitmaps, strict=True))}


def _id(vector: Vector) -> str | None:
    return None if vector is None else vector.unique_id


def _moved(file: MarkedFile, last: _Step, gone: Mapping[str | None, Bitmap]) -> MarkedFile:
    """Return one of our files as the last winning commit left it."""
    live = last.added[0]
    return replace(file, live=live, gone=gone[_id(live.deletion_vector)], vector=None)
