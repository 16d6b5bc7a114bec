# SPDX-License-Identifier: Apache-2.0
"""Conflict detection: check the rules by which winning commits exclude a commit, and return the state to rebase it on.

Source: delta-spark, `ConflictChecker.scala`, which only checks the partition filters of a read. bayou also uses the statistics of
added files: a file that cannot hold a row that the read matches does not conflict. Rows that are deleted by deletion vectors have
their own rules (`bayou.log.conflict.row_rebase`).

Terms: a blind append may be ordered after our commit ("may wait"), even if our commit would have read it. Our commit then has
"overlooked" it, and another rule ensures that no commit in between has read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentModificationError,
    ConcurrentTransactionException,
    DeltaError,
    MetadataChangedException,
    ProtocolChangedException,
    failed,
    reason,
)
from bayou.log.actions.commit_info import VACUUM_END, VACUUM_START
from bayou.log.actions.keys import canonical_paths
from bayou.log.conflict.row_rebase import Rebased, RowConflict, rebase
from bayou.log.conflict.state import CommitIntent, IsolationLevel, TableState
from bayou.log.conflict.winning_commits import WinningCommit, WinningFiles, data_changes, winning_files
from bayou.log.rows.row_tracking import high_water_mark
from bayou.log.segment.commit_times import ICT_KEYS, ICT_PREVIEW_KEYS, InCommitTimestamps
from bayou.log.segment.time_travel import format_timestamp
from bayou.log.snapshot.added_files import AddedFiles
from bayou.log.snapshot.data_skipping import may_match
from bayou.protocol import properties
from bayou.protocol.actions.actions import Metadata
from bayou.protocol.columns.identity_rules import IdentityConflict, identity_conflict
from bayou.protocol.features.features import check_writable, table_features

if TYPE_CHECKING:
    from bayou.log.staging.read_set import ReadSet

_MAY_BE_TURNED_ON: Final[Mapping[str, str]] = {
    properties.ENABLE_DELETION_VECTORS.key.lower(): "true",
    properties.CHECKPOINT_POLICY.key.lower(): "v2",
    **{keys.enabled.key.lower(): "true" for keys in (ICT_KEYS, ICT_PREVIEW_KEYS)},
}
"""Properties that a winning commit may enable without a conflict, by lower-case name, and the value that enables them.

The rebased commit applies them. Disabling them conflicts: our commit may have relied on them, for example by writing a deletion
vector.
"""

_SAY_SINCE_WHEN: Final = frozenset(key.lower() for keys in (ICT_KEYS, ICT_PREVIEW_KEYS) for key in keys.since)
"""Properties that state since which version in-commit timestamps are enabled, and are set together with them."""


def resolve(intent: CommitIntent, base: TableState, winning_commits: Sequence[WinningCommit]) -> TableState:
    """Check the winning commits for conflicts, and return the table state after them, for the next attempt.

    If winning commits changed files in which the commit deletes rows by deletion vectors, this writes merged deletion vectors, and
    deletes the unused ones.

    Args:
        winning_commits: the commits after `base`, in order.

    Raises:
        ConcurrentModificationError: a winning commit conflicts; the first such commit is named.
        CorruptLogError: a winning commit lacks the timestamp that the table's properties require, or its deletion vectors cannot be
            read.
        StorageError: new deletion vectors cannot be written.
    """
    state = base
    passed: list[WinningCommit] = []
    excluded: ConcurrentModificationError | None = None
    for winning in winning_commits:
        try:
            state = _check_header(intent, state, winning)
        except ConcurrentModificationError as error:
            excluded = error
            break
        passed.append(winning)
    # A file rule that an earlier commit breaks takes precedence over the conflict of `excluded`.
    overlooked, rebased = _check_files(intent, base, passed)
    if excluded is not None:
        raise excluded
    rows = base.rows
    # Last, so that a conflict leaves no new deletion vectors behind.
    if rows is not None and (rebased.files or rebased.left):
        rows = rows.with_vectors(rebased.files, rebased.left)
    return replace(state, overlooked=overlooked, rows=rows)


def _check_header(intent: CommitIntent, state: TableState, winning: WinningCommit) -> TableState:
    """Check the rules about actions that are not about files, and return the table state after the winning commit."""
    after = _checked_protocol(intent, state, winning)
    after = _checked_metadata(intent, after, winning)
    if (winning.header.protocol or winning.header.metadata) and after.protocol and after.metadata:
        try:
            check_writable(after.protocol, after.metadata, intent.table, winning.version)
        except DeltaError as error:
            kind = ProtocolChangedException if winning.header.protocol else MetadataChangedException
            raise conflict_error(kind, intent, winning, f"requires what this writer does not support ({reason(error)})") from error
    shared = intent.domains.intersection(winning.header.domains)
    if shared:
        raise conflict_error(ConcurrentTransactionException, intent, winning, f"set the domain metadata {min(shared)!r} too")
    again = intent.app_ids.intersection(winning.header.transactions)
    if again:
        why = f"committed a transaction of the application {min(again)!r}, whose last one this operation relied on"
        raise conflict_error(ConcurrentTransactionException, intent, winning, why)
    if intent.reads.unneeded_files and winning.info.operation in {VACUUM_START, VACUUM_END}:
        raise conflict_error(
            ConcurrentDeleteReadException, intent, winning, "may have deleted files that this operation brings back"
        )
    mark = high_water_mark(winning.header.domains, after.row_id_mark)
    return replace(after, version=winning.version, timestamp=_timestamp_after(intent, after, winning), row_id_mark=mark)


def _timestamp_after(intent: CommitIntent, state: TableState, winning: WinningCommit) -> int | None:
    """Return the lower bound of timestamps after a winning commit. It never decreases, so times follow the order of versions."""
    own = winning.info.in_commit_timestamp
    if own is not None:
        return own if state.timestamp is None else max(own, state.timestamp)
    if state.metadata is not None and InCommitTimestamps.of(state.metadata.configuration).covers(winning.version):
        raise failed("DELTA_MISSING_COMMIT_TIMESTAMP", table=intent.table, version=winning.version, file=winning.file.path)
    # If the file of a commit is not newer than its predecessor's, readers compute the same time: 1 ms after the predecessor.
    return None if state.timestamp is None else max(winning.file_time, state.timestamp + 1)


def _checked_protocol(intent: CommitIntent, state: TableState, winning: WinningCommit) -> TableState:
    protocol = winning.header.protocol
    if protocol is None:
        return state
    if intent.changes_protocol:
        raise conflict_error(ProtocolChangedException, intent, winning, "set the table's protocol, as this operation does")
    before = state.protocol
    if before is not None:
        dropped = table_features(before) - table_features(protocol)
        if dropped:
            raise conflict_error(ProtocolChangedException, intent, winning, f"dropped the table feature {min(dropped)}")
    return replace(state, protocol=protocol)


def _checked_metadata(intent: CommitIntent, state: TableState, winning: WinningCommit) -> TableState:
    metadata = winning.header.metadata
    if metadata is None:
        return state
    why = _why_metadata_conflict(intent, state.metadata, metadata)
    if why:
        raise conflict_error(MetadataChangedException, intent, winning, why)
    return replace(state, metadata=metadata)


def _why_metadata_conflict(intent: CommitIntent, before: Metadata | None, after: Metadata) -> str:
    """Return why a commit conflicts with the metadata of a winning commit; empty if it does not.

    A commit without metadata does not conflict if the winning commit only enabled properties of `_MAY_BE_TURNED_ON`, or only moved
    high water marks of identity columns for which this commit generated no numbers. A commit with metadata always conflicts, even
    if its own metadata only moves marks: another commit may have generated the same numbers.
    """
    if before is None:
        return "set the table's metadata"
    moved = identity_conflict(before, replace(after, configuration=before.configuration), intent.generated)
    if moved is IdentityConflict.GENERATE_AGAIN:
        return "moved the marks of identity columns that this operation generated numbers for, too"
    harmful = _harmful_properties(before.configuration, after.configuration)
    if harmful and moved is not IdentityConflict.METADATA_CHANGED:
        return f"changed the table's property {min(harmful)}"
    if harmful or intent.changes_metadata or moved is IdentityConflict.METADATA_CHANGED:
        return "changed the table's metadata"
    return ""


def _harmful_properties(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """Return the changed properties, except those that a winning commit may enable. Source: delta-spark, ConflictChecker."""
    old = {key.lower(): value for key, value in before.items()}
    new = {key.lower(): value for key, value in after.items()}
    names = {key.lower(): key for key in (*before, *after)}
    return {names[key] for key in names if old.get(key) != new.get(key) and not _may_change(key, old, new)}


def _may_change(key: str, old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    if key not in new:
        return False
    if key in _SAY_SINCE_WHEN:
        return InCommitTimestamps.of(new).enabled and not InCommitTimestamps.of(old).enabled
    return new[key].strip().lower() == _MAY_BE_TURNED_ON.get(key)


def _check_files(intent: CommitIntent, base: TableState, winning_commits: Sequence[WinningCommit]) -> tuple[int | None, Rebased]:
    """Check the rules about files and rows. The error names the first winning commit that breaks one, and its first broken rule.

    The rules about rows may read files, so they are only checked if all others hold.

    Returns:
        The first version with an overlooked append or None, and the rebased files in which the commit deletes rows.
    """
    rows = base.rows
    if not winning_commits or not (intent.reads.has_read_files or len(intent.removed) or len(intent.added) or rows is not None):
        return base.overlooked, Rebased()
    files = winning_files(winning_commits)
    # The masks have one value for each added file. These state whether the commit would have read the file if it had begun later.
    matching = _read_by(intent.reads, intent, base, files)
    of_rows = matching if rows is None else _read_by(rows.reads, intent, base, files)
    may_wait = _may_wait(intent, winning_commits, files)
    overlooked = _first_overlooked(base, winning_commits, files, pc.and_(pc.or_(matching, of_rows), may_wait))
    missed = pc.and_(matching, pc.invert(may_wait))
    conflicts = chain(_file_conflicts(intent, files, missed), _readers_of(overlooked, winning_commits, files))
    first = min(conflicts, key=lambda conflict: (conflict.position, conflict.rule), default=None)
    partitioned = bool(base.metadata and base.metadata.partition_columns)
    if first is not None:
        raise first.error(intent, winning_commits[first.position], files, partitioned=partitioned)
    rebased = Rebased() if rows is None else rebase(rows, files, pc.and_(of_rows, pc.invert(may_wait)))
    if isinstance(rebased, RowConflict):
        paths = pa.chunked_array([rebased.paths], pa.string())
        conflict = _FileConflict(rebased.rule, rebased.position, rebased.kind, rebased.why, paths, rebased.facts)
        raise conflict.error(intent, winning_commits[rebased.position], files, partitioned=partitioned)
    return overlooked, rebased


@dataclass(frozen=True, slots=True)
class _FileConflict:
    """A conflict with one winning commit over files; the attributes are those of `RowConflict`."""

    rule: int
    position: int
    kind: type[ConcurrentModificationError]
    why: str
    paths: pa.ChunkedArray
    facts: Mapping[str, Any] = field(default_factory=dict)

    def error(
        self, intent: CommitIntent, winning: WinningCommit, files: WinningFiles, *, partitioned: bool
    ) -> ConcurrentModificationError:
        # If the commit only moved rows, the operation may be planned again on the new files: it would select the same rows.
        only_moved = self.position in files.moved_only().to_pylist() and not (winning.header.metadata or winning.header.protocol)
        named = (self.kind.error_class or "").partition(".")[0]
        hint = "WITH_PARTITION_HINT" if partitioned else "WITHOUT_HINT"
        return conflict_error(
            self.kind,
            intent,
            winning,
            self.why,
            paths=self.paths,
            error_class=f"{named}.{hint}",
            rows_only_moved=only_moved,
            **self.facts,
        )


def _file_conflicts(intent: CommitIntent, files: WinningFiles, missed: pa.Array) -> Iterator[_FileConflict]:
    """Yield for each broken rule the conflict with the first winning commit that breaks it.

    Args:
        missed: for each added file, whether the commit should have read it.
    """
    yield from _first(1, ConcurrentAppendException, "added files that this operation should have read", missed, files.adds, files)
    removed = canonical_paths(files.removes["path"], intent.table)
    if intent.reads.whole_table:
        was_read = pa.chunked_array([pa.repeat(pa.scalar(value=True), files.removes.num_rows)])
    else:
        was_read = intent.reads.has_read(removed)
    # A commit that only moved rows to other files does not change the result of a read.
    was_read = pc.and_(was_read, pc.invert(pc.is_in(files.remove_commit, value_set=files.moved_only())))
    why = "removed files that this operation has read"
    yield from _first(2, ConcurrentDeleteReadException, why, was_read, files.removes, files)
    why = "removed files that this operation removes too"
    yield from _first(3, ConcurrentDeleteDeleteException, why, _among(removed, intent.removed), files.removes, files)
    # _readers_of checks rule 4. Rules 5 and 6: our commit has checked against its snapshot whether each path that it adds is live,
    # and with which deletion vector; a winning commit on the same path makes that check obsolete.
    why = "added files that this operation adds too"
    added = canonical_paths(files.adds["path"], intent.table)
    yield from _first(5, ConcurrentAppendException, why, _among(added, intent.added), files.adds, files)
    why = "removed files that this operation adds"
    yield from _first(6, ConcurrentDeleteReadException, why, _among(removed, intent.added), files.removes, files)


def _among(paths: pa.ChunkedArray, known: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.is_in(paths, value_set=pa.concat_arrays([pa.array([], pa.string()), *known.chunks]))


def _first(
    rule: int,
    kind: type[ConcurrentModificationError],
    why: str,
    mask: pa.ChunkedArray | pa.Array,
    table: pa.Table,
    files: WinningFiles,
) -> Iterator[_FileConflict]:
    """Yield the conflict with the first winning commit that has a file action in the mask, if there is one.

    Args:
        mask: for each action of `table`, whether it breaks the rule.
        table: `files.adds` or `files.removes`.
    """
    owners = files.add_commit if table is files.adds else files.remove_commit
    mask = pa.concat_arrays(mask.chunks) if isinstance(mask, pa.ChunkedArray) and mask.num_chunks else mask
    if not len(mask) or not pc.any(mask).as_py():
        return
    position = pc.min(owners.filter(mask)).as_py()
    paths = table["path"].filter(pc.and_(mask, pc.equal(owners, position)))
    yield _FileConflict(rule, position, kind, why, paths)


def _read_by(reads: ReadSet, intent: CommitIntent, base: TableState, files: WinningFiles) -> pa.Array:
    """Return for each added file whether it may hold a row that some reads match, and changed data."""
    if intent.isolation is IsolationLevel.SNAPSHOT or not reads.has_read_files:
        return pa.repeat(pa.scalar(value=False), files.adds.num_rows)
    counted = data_changes(files.adds["data_change"])
    if reads.whole_table or base.metadata is None or not files.adds.num_rows:
        return counted
    matched = pa.repeat(pa.scalar(value=False), files.adds.num_rows)
    added = AddedFiles(files.adds, base.metadata)
    for predicate in reads.predicates:
        matched = pc.or_(matched, may_match(added, predicate))
    return pc.and_(counted, matched)


def _may_wait(intent: CommitIntent, winning_commits: Sequence[WinningCommit], files: WinningFiles) -> pa.Array:
    """Return for each added file whether it may be ordered after our commit, as a blind append under WriteSerializable may."""
    if intent.isolation is not IsolationLevel.WRITE_SERIALIZABLE or intent.changes_metadata:
        return pa.repeat(pa.scalar(value=False), files.adds.num_rows)
    blind = pa.array([position for position, winning in enumerate(winning_commits) if winning.is_blind_append], pa.int32())
    return pc.is_in(files.add_commit, value_set=blind)


def _first_overlooked(
    base: TableState, winning_commits: Sequence[WinningCommit], files: WinningFiles, mask: pa.Array
) -> int | None:
    """Return the first version with an overlooked append (`mask`), possibly of an earlier attempt; None without any."""
    if base.overlooked is not None or not pc.any(mask).as_py():
        return base.overlooked
    first: int = pc.min(files.add_commit.filter(mask)).as_py()
    return winning_commits[first].version


def _readers_of(overlooked: int | None, winning_commits: Sequence[WinningCommit], files: WinningFiles) -> Iterator[_FileConflict]:
    """Yield the conflict with the first winning commit that changed rows and may have read an overlooked append.

    Only an append that no winning commit has read may be ordered after our commit: the winning commit is ordered before ours, and
    the append before the winning commit. The log states the version that a winning commit read, but not its files. delta-spark does
    not check this.
    """
    if overlooked is None:
        return
    changed = {
        *files.add_commit.filter(data_changes(files.adds["data_change"])).to_pylist(),
        *files.remove_commit.filter(data_changes(files.removes["data_change"])).to_pylist(),
    }
    for position, winning in enumerate(winning_commits):
        if position in changed and not winning.is_blind_append and winning.may_have_read(overlooked):
            why = f"may have read the append of version {overlooked}, which this operation has not"
            yield _FileConflict(4, position, ConcurrentAppendException, why, pa.chunked_array([], pa.string()))
            return


_SAMPLE: Final = 5


def conflict_error(
    kind: type[ConcurrentModificationError],
    intent: CommitIntent,
    winning: WinningCommit,
    why: str,
    *,
    paths: pa.ChunkedArray | None = None,
    error_class: str | None = None,
    **facts: Any,
) -> ConcurrentModificationError:
    """Return the error for a commit that conflicts with a winning commit."""
    info = winning.info
    when = info.in_commit_timestamp or info.timestamp
    at = f" of {format_timestamp(when)}" if when is not None else ""
    sample = tuple(paths.slice(0, _SAMPLE).to_pylist()) if paths is not None else ()
    total = 0 if paths is None else len(paths)
    shown = f": {', '.join(sample)}{f' and {total - _SAMPLE} more' if total > _SAMPLE else ''}" if sample else ""
    return kind(
        f"{intent.operation} was not committed: version {winning.version}, a concurrent {info.operation or 'operation'}{at}, "
        f"{why}{shown}.",
        table=intent.table,
        version=winning.version,
        file=winning.file.path,
        error_class=error_class,
        next_step="Run the operation again, which then sees that version.",
        conflicting_version=winning.version,
        conflicting_operation=info.operation,
        conflicting_timestamp=when,
        conflicting_commit=dict(info.raw),
        files=sample,
        num_files=total,
        **facts,
    )
