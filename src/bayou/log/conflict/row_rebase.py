# SPDX-License-Identifier: Apache-2.0
"""Row-level concurrency: rebasing deleted rows on commits that deleted other rows of the same files.

delta-spark compares paths, so one of two such commits fails. Here the second one is rebased on the first if a serial order, with
the winning commits first, gives the same table:

1. Each file in which it deletes rows is still the same file: winning commits only replaced its deletion vector.
2. No winning commit deleted a row that it deletes or relies on. A MERGE that only inserts finds the rows that it relies on when a
   winning commit has changed their file (`RowConflictOracle.needed_rows`).
3. No row that winning commits added or restored is one that it would have deleted or relied on. Statistics decide this for most
   files. The operation reads these rows in the other files (`RowConflictOracle.matches_added_rows`), and a failure there counts as
   a match. A MERGE joins them with its source: two MERGEs that insert the same key share no row or file.
4. If a winning commit only moved the rows of a file and states where they are, they are followed (`bayou.log.rows.moved_rows`).

Rows that were scanned and neither deleted nor relied on do not matter: other commits may delete or move them.
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
from bayou.log.rows.deleted_rows import MarkedFile, NotEvaluated, live_files, read_gone
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
    """Why rows cannot be deleted after a winning commit.

    Attributes:
        rule: the number of the rule, in one order with the rules for files; the first one that a commit breaks is reported.
        winner: the winning commit's position.
        why: what the winning commit did.
    """

    rule: int
    winner: int
    kind: type[ConcurrentModificationError]
    why: str
    paths: Sequence[str]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Step:
    """The actions of one winning commit on one file."""

    removed: list[Vector] = field(default_factory=list)
    added: list[AddFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rebased:
    """The changes of winning commits to the files whose rows are to be deleted.

    Attributes:
        files: the files that they changed or moved rows into, which still need new deletion vectors.
        left: the canonical paths of files whose rows they moved elsewhere.
    """

    files: Sequence[MarkedFile] = ()
    left: frozenset[str] = frozenset()


def rebase(ours: DeletedRows, winners: WinningFiles, missed: pa.Array) -> Rebased | RowConflict:
    """Return the files whose deleted rows change because of some winning commits, or the conflict.

    Args:
        ours: the rows, as they were to be deleted before.
        missed: for each file that they added, whether its statistics allow a row to delete.

    Raises:
        DeletionVectorError: a winning commit's deletion vector cannot be read.
    """
    changed: set[str] = set()
    left: set[str] = set()
    now, start = ours, 0
    for mover in [*_movers(winners), None]:
        part = winners.between(start, mover)
        in_part = pc.greater_equal(winners.add_winner, start)
        in_part = in_part if mover is None else pc.and_(in_part, pc.less(winners.add_winner, mover))
        found = _rebased(now, part, missed.filter(in_part))
        if isinstance(found, RowConflict):
            return found
        changed |= {each.path for each in found}
        now = replace(now, files={**now.files, **{each.path: each for each in found}})
        if mover is None:
            break
        now, gone, new = _followed(now, winners.between(mover, mover + 1))
        left |= gone
        changed |= new
        start = mover
    return Rebased([now.files[path] for path in changed if path in now.files], frozenset(left - now.files.keys()))


def _movers(winners: WinningFiles) -> list[int]:
    """Return the winning commits that state the new places of rows that they moved."""
    return sorted(winners.remove_winner.filter(have_places(winners.removes["tags"])).unique().to_pylist())


def _followed(ours: DeletedRows, mover: WinningFiles) -> tuple[DeletedRows, set[str], set[str]]:
    """Return the rows at the places where a commit moved them, the files that they were in, and those that they are in."""
    ours = ours.relying(_touched(ours, mover))
    removes, paths, _ = _of_files(mover.removes, mover.remove_winner, pa.array(list(ours.files), pa.string()), ours)
    moves = [MovedRows.of(None if each is None else dict(each)) for each in removes["tags"].to_pylist()]
    new = {canonical(each.path, ours.snapshot.table_uri): each for each in live_files(mover.adds)}
    files, gone, found = dict(ours.files), set[str](), set[str]()
    places: defaultdict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for path, move, vector in zip(paths, moves, _vectors(removes), strict=True):
        old = ours.files[path]
        at = None if move is None else canonical(move.path, ours.snapshot.table_uri)
        if move is None or at not in new or new[at].deletion_vector is not None or _id(vector) != _id(old.live.deletion_vector):
            continue  # the rules about files treat it as removed
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
        found.add(at)
    relied = ours.relied
    if gone and len(relied):
        relied = relied.filter(pc.invert(pc.is_in(relied, value_set=pa.array(sorted(gone), pa.string()))))
    return replace(ours, files=files, relied=relied), gone, found


def _rebased(ours: DeletedRows, winners: WinningFiles, missed: pa.Array) -> list[MarkedFile] | RowConflict:
    """Return the files that winning commits changed, with their changes; or the first conflict."""
    ours = ours.relying(_touched(ours, winners))
    steps = _steps(ours, winners)
    found = _first(_other_files(ours, steps))
    if found is not None:
        return found
    gone = _read(ours, [each.added[-1].deletion_vector for taken in steps.values() for each in taken.values()], {})
    found = _first(_shared_rows(ours, steps, gone)) or _missed_rows(ours, winners, missed, gone)
    return found or [_moved(ours.files[path], list(taken.values())[-1], gone) for path, taken in steps.items()]


def overlap(file: MarkedFile, deleted: Bitmap) -> tuple[Bitmap, Bitmap]:
    """Return the rows of a file that a commit deletes, and those that it relies on, among rows that another commit deleted."""
    return file.rows.intersection(deleted), file.needed.intersection(deleted)


def _first(conflicts: Iterator[RowConflict]) -> RowConflict | None:
    return min(conflicts, key=lambda each: (each.winner, each.rule), default=None)


def _touched(ours: DeletedRows, winners: WinningFiles) -> list[str]:
    """Return the changed files in which the commit relies on rows that are not known yet."""
    if not len(ours.relied):
        return []
    both = (canonical_paths(actions["path"], ours.snapshot.table_uri) for actions in (winners.removes, winners.adds))
    paths = pa.concat_arrays([pa.array([], pa.string()), *(chunk for each in both for chunk in each.chunks)]).unique()
    return [path for path in paths.filter(pc.is_in(paths, value_set=ours.relied)).to_pylist() if path not in ours.files]


def _steps(ours: DeletedRows, winners: WinningFiles) -> dict[str, dict[int, _Step]]:
    """Return the actions of the winning commits, in order, on each file whose rows are deleted."""
    wanted = pa.array(list(ours.files), pa.string())
    found: dict[str, dict[int, _Step]] = {}
    removes, paths, owners = _of_files(winners.removes, winners.remove_winner, wanted, ours)
    for path, owner, vector in zip(paths, owners, _vectors(removes), strict=True):
        found.setdefault(path, {}).setdefault(owner, _Step()).removed.append(vector)
    adds, paths, owners = _of_files(winners.adds, winners.add_winner, wanted, ours)
    for path, owner, add in zip(paths, owners, live_files(adds), strict=True):
        found.setdefault(path, {}).setdefault(owner, _Step()).added.append(add)
    return {path: dict(sorted(taken.items())) for path, taken in found.items()}


def _of_files(actions: pa.Table, owners: pa.Array, wanted: pa.Array, ours: DeletedRows) -> tuple[pa.Table, list[str], list[int]]:
    paths = canonical_paths(actions["path"], ours.snapshot.table_uri)
    mask = pc.is_in(paths, value_set=wanted)
    return actions.filter(mask), paths.filter(mask).to_pylist(), pa.chunked_array([owners]).filter(mask).to_pylist()


def _vectors(actions: pa.Table) -> list[Vector]:
    return [None if each is None else DeletionVectorDescriptor(**each) for each in actions["deletion_vector"].to_pylist()]


def _other_files(ours: DeletedRows, steps: Mapping[str, Mapping[int, _Step]]) -> Iterator[RowConflict]:
    """Yield conflicts for files that are no longer the same, by the first winning commit that changed them."""
    others: defaultdict[int, list[str]] = defaultdict(list)
    for path, taken in steps.items():
        live = ours.files[path].live
        for winner, step in taken.items():
            if not _is_same(live, step):
                others[winner].append(ours.files[path].live.path)
                break
            live = step.added[0]
    changed = {each.live.path for each in ours.files.values() if each.is_changed}
    for winner, paths in others.items():
        what = "deletes rows of" if changed.intersection(paths) else "has read"
        yield RowConflict(2, winner, ConcurrentDeleteReadException, f"removed files that this operation {what}", paths)


def _is_same(live: AddFile, step: _Step) -> bool:
    """Return whether a winning commit left the file in the table, with another deletion vector or other facts."""
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
    """Yield conflicts over rows that a winning commit deleted too, one per commit and kind, with the rows of the first file."""
    first: dict[tuple[int, bool], Bitmap] = {}
    paths: defaultdict[tuple[int, bool], list[str]] = defaultdict(list)
    for path, taken in steps.items():
        file = ours.files[path]
        for winner, step in taken.items():
            both = overlap(file, gone[_id(step.added[0].deletion_vector)])
            for shared, is_deleted in zip(both, (True, False), strict=True):
                if shared.containers:
                    first.setdefault((winner, is_deleted), shared)
                    paths[winner, is_deleted].append(file.live.path)
            if any(each.containers for each in both):
                break
    for (winner, is_deleted), shared in first.items():
        yield _conflict_of_rows(winner, shared, paths[winner, is_deleted], is_deleted=is_deleted)


def _conflict_of_rows(winner: int, shared: Bitmap, paths: Sequence[str], *, is_deleted: bool) -> RowConflict:
    rows, count = shared.first(_SAMPLE), shared.cardinality
    more = f" and {count - _SAMPLE} more" if count > _SAMPLE else ""
    what = "deletes or changes too" if is_deleted else "has read"
    why = f"deleted rows that this operation {what} (row {', '.join(map(str, rows))}{more} of the first file, counted from 0)"
    kind = ConcurrentDeleteDeleteException if is_deleted else ConcurrentDeleteReadException
    return RowConflict(3 if is_deleted else 2, winner, kind, why, paths, {"rows": tuple(rows), "num_rows": count})


def _missed_rows(
    ours: DeletedRows, winners: WinningFiles, missed: pa.Array, known: Mapping[str | None, Bitmap]
) -> RowConflict | None:
    """Return the conflict with added rows that would have been deleted if the commit had seen them."""
    places = pc.indices_nonzero(missed).to_pylist()
    if not places:
        return None
    asked = _new_rows(ours, winners, places, known)
    if not asked:
        return None
    positions = pa.array(list(asked), pa.int64())
    files = winners.adds.take(positions)
    matches = ours.oracle is None or ours.oracle.matches_added_rows(files, list(asked.values()))
    if not matches:
        return None
    owners = winners.add_winner.take(positions)
    first = pc.min(owners).as_py()
    paths = files["path"].filter(pc.equal(owners, first)).to_pylist()
    why = "added rows that this operation should have read, in files"
    if isinstance(matches, NotEvaluated):
        why = f"added rows that this operation cannot be asked about ({matches.reason}), in files"
    return RowConflict(1, first, ConcurrentAppendException, why, paths)


def _new_rows(
    ours: DeletedRows, winners: WinningFiles, places: Sequence[int], known: Mapping[str | None, Bitmap]
) -> dict[int, Bitmap | None]:
    """Return those of some added files, by position, that have new rows, and the new rows; None for all rows.

    A file that only got a deletion vector, or a larger one, has no new rows. A file with a smaller one has the restored rows.
    """
    adds = winners.adds.select(["path", "size", "deletion_vector"]).take(pa.array(places, pa.int64()))
    paths = canonical_paths(adds["path"], ours.snapshot.table_uri)
    wanted = pa.concat_arrays([pa.array([], pa.string()), *paths.chunks])
    removes, removed, owners = _of_files(winners.removes, winners.remove_winner, wanted, ours)
    before = dict(zip(zip(removed, owners, strict=True), _sized(removes), strict=True))
    of_places = winners.add_winner.take(pa.array(places, pa.int64())).to_pylist()
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
    """Return the rows that deletion vectors delete, by unique id; the known ones are not read again."""
    wanted = {key: each for each in vectors if (key := _id(each)) is not None and key not in known}
    found = read_gone(ours.snapshot, ours.store, list(wanted.values()), ours.storage_options)
    return {None: Bitmap(), **known, **dict(zip(wanted, found, strict=True))}


def _id(vector: Vector) -> str | None:
    return None if vector is None else vector.unique_id


def _moved(file: MarkedFile, last: _Step, gone: Mapping[str | None, Bitmap]) -> MarkedFile:
    live = last.added[0]
    return replace(file, live=live, gone=gone[_id(live.deletion_vector)], vector=None)
