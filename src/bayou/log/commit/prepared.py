# SPDX-License-Identifier: Apache-2.0
"""A prepared commit: its actions and provenance, independent of the version that it becomes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from numbers import Number
from typing import TYPE_CHECKING, Any, Final

from bayou.log.actions.commit_info import COMPUTE_STATS, COUNTABLE_TAG
from bayou.log.commit.checks import check_staged
from bayou.log.conflict.state import CommitIntent, IsolationLevel, TableState
from bayou.log.rows.row_tracking import NO_ROW_ID, PRESERVED_TAG, high_water_mark, tracks_rows, with_row_ids
from bayou.log.segment.commit_times import InCommitTimestamps
from bayou.log.staging.staged import StagedActions, encode_line
from bayou.protocol import arguments, properties
from bayou.protocol.columns.identity_columns import high_water_marks, identity_columns
from bayou.protocol.columns.identity_rules import IdentityConflict, identity_conflict
from bayou.protocol.features.features import writer_features
from bayou.protocol.types.schema import parse_schema

if TYPE_CHECKING:
    from bayou.log.rows.deleted_rows import DeletedRows
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.read_set import ReadSet
    from bayou.protocol.actions.actions import Metadata


@dataclass(frozen=True, slots=True)
class Provenance:
    """The operation and its author, for the history.

    Attributes:
        operation: the operation's name.
        parameters: its parameters.
        engine_info: who writes.
        user_metadata: the user's note.
        txn_id: the commit's unique id, which identifies it in the log.
    """

    operation: str
    parameters: Mapping[str, Any]
    engine_info: str
    user_metadata: str | None
    txn_id: str

    @classmethod
    def of(
        cls,
        operation: str,
        parameters: Mapping[str, Any] | None,
        engine_info: str,
        user_metadata: str | None,
        txn_id: str,
        table: str,
    ) -> Provenance:
        """Return the provenance that a caller gives, or raise InvalidOptionError if an argument has the wrong type."""
        return cls(
            arguments.text(operation, "operation", table=table),
            checked_parameters(parameters, table),
            arguments.text(engine_info, "engine_info", table=table),
            arguments.optional_text(user_metadata, "user_metadata", table=table),
            txn_id,
        )


class PreparedCommit:
    """A commit that can be tried at one version after another.

    Attributes:
        base: the state that it is made from.
        intent: what it reads and changes, for conflict detection.
        provenance: who commits what.
        staged: its actions, as encoded last.
        commit_info: its provenance, as encoded last.
        configuration: the table's properties after the commit, as encoded last.
        metrics: its metrics, corrected for the state that it was encoded for last.
    """

    def __init__(
        self,
        table: str,
        snapshot: Snapshot | None,
        reads: ReadSet,
        staged: StagedActions,
        provenance: Provenance,
        *,
        clock: Callable[[], float],
        new_files: bool = False,
        rows: DeletedRows | None = None,
        dropped_features: Collection[str] = (),
        replaces_table: bool = False,
        keeps_row_ids: bool = False,
    ) -> None:
        # `_without_rows` are the actions without those that delete rows. The intent has only these: conflicts of rows follow other
        # rules than conflicts of removed and added files.
        self._without_rows, self._first_rows, self._rows = staged, rows, rows
        staged = staged if rows is None else rows.applied(staged)
        self.staged = staged
        self.commit_info: dict[str, Any] = {}
        self.configuration: Mapping[str, str] = {}
        self.metrics: Mapping[str, object] | None = None
        self.provenance = provenance
        self._table = table
        self._snapshot = snapshot
        self._reads = reads
        self._staged = staged
        self._new_files = new_files
        self._keeps_row_ids = keeps_row_ids or not staged.moves_rows_without_ids
        self._clock = clock
        self.base = TableState(-1, None, None) if snapshot is None else replace(_state_of(snapshot, staged), rows=rows)
        check_staged(
            staged,
            self.base,
            table,
            dropped_features=dropped_features,
            replaces_table=replaces_table,
            counts_live_rows=provenance.operation == COMPUTE_STATS,
        )
        self.intent = self._made_intent()
        # Files of remove_files and delete_rows are live, and no winning commit has removed them.
        self._countable = (new_files or not self._without_rows.has_adds) and not self._without_rows.removes
        self._file_lines = staged.file_lines()

    @property
    def read_version(self) -> int | None:
        """The version that it is based on; None if it creates the table."""
        return None if self._snapshot is None else self._snapshot.version

    def encode(self, state: TableState, version: int, metrics: Mapping[str, object] | None) -> bytes:
        """Return the content of the commit file, for a commit on top of a state.

        Args:
            state: the table as the latest known commit leaves it.
            version: the version to commit.
            metrics: its metrics, for the state that it is based on.
        """
        now = int(self._clock() * 1000)
        if state.rows is not None and state.rows is not self._rows:
            self._rows, self._staged = state.rows, state.rows.applied(self._without_rows)
            self._file_lines = self._staged.file_lines()
        if metrics is not None and self._rows is not None and self._first_rows is not None:
            metrics = self._rows.corrected(metrics, self._first_rows)
        self.metrics = metrics
        current = self._staged.metadata or state.metadata
        carries = current is not None and InCommitTimestamps.of(current.configuration).enabled
        stamp = max(now, (state.timestamp or 0) + 1) if carries else None
        staged = self._staged if stamp is None else self._staged.enabling_timestamps(self.base.metadata, version, stamp)
        staged = staged.noting_type_changes(self.base.protocol, version)
        file_lines = self._file_lines
        if tracks_rows(staged.protocol or state.protocol, current):
            staged = with_row_ids(staged, state.row_id_mark, version, self._table)
            file_lines = staged.file_lines()
        self.staged = staged
        self.commit_info = self._info(now, stamp, metrics)
        self.configuration = {} if current is None else current.configuration
        lines = [encode_line({"commitInfo": self.commit_info}), *self.staged.header_lines(), *file_lines]
        return b"\n".join([*lines, b""])

    def _made_intent(self) -> CommitIntent:
        staged, table = self._staged, self._table
        metadata = staged.metadata or self.base.metadata
        level = IsolationLevel.of(metadata.configuration if metadata is not None else {})
        # A RESTORE without file actions still states which rows the table has, so a concurrent change of rows is a conflict.
        relies_on_rows = self._reads.whole_table and not staged.touches_files
        return CommitIntent(
            table=table,
            operation=self.provenance.operation,
            reads=self._reads,
            isolation=IsolationLevel.SNAPSHOT if staged.changes_no_data and not relies_on_rows else level,
            changes_protocol=staged.protocol is not None,
            changes_metadata=staged.metadata is not None,
            app_ids=frozenset(self._reads.app_ids).union(each.app_id for each in staged.transactions),
            domains=frozenset(each.domain for each in staged.domains),
            # No other commit can add or remove a file with a name that was generated for this one.
            added=StagedActions().added_paths(table) if self._new_files else self._without_rows.added_paths(table),
            removed=self._without_rows.removed_paths(table),
            generated=_generated(self.base.metadata, staged.metadata),
        )

    def _info(self, now: int, stamp: int | None, metrics: Mapping[str, object] | None) -> dict[str, Any]:
        provenance = self.provenance
        info: dict[str, Any] = {} if stamp is None else {"inCommitTimestamp": stamp}
        info["timestamp"] = now
        info["operation"] = provenance.operation
        info["operationParameters"] = {name: _parameter(value) for name, value in provenance.parameters.items()}
        if self._snapshot is not None:
            info["readVersion"] = self._snapshot.version
        info["isolationLevel"] = self.intent.isolation.value
        info["isBlindAppend"] = self._rows is None and self._staged.only_adds and not self._reads.has_read_files
        if metrics is not None:
            info["operationMetrics"] = {name: str(value) for name, value in metrics.items()}
        if provenance.user_metadata is not None:
            info["userMetadata"] = provenance.user_metadata
        info |= {"engineInfo": provenance.engine_info, "txnId": provenance.txn_id}
        tags = self._tags()
        return {**info, "tags": tags} if tags else info

    def _tags(self) -> dict[str, str]:
        staged, before = self._staged, self.base.metadata
        tags = {COUNTABLE_TAG: "true"} if (staged.has_adds or staged.removed_files) and self._countable else {}
        if before is None:
            return tags
        after = staged.metadata or before
        if all(properties.ENABLE_ROW_TRACKING.read(each.configuration) for each in (before, after)):
            tags[PRESERVED_TAG] = "true" if self._keeps_row_ids else "false"
        return tags | metadata_tags(before, after)


def _state_of(snapshot: Snapshot, staged: StagedActions) -> TableState:
    configurations = [each.configuration for each in (snapshot.metadata, staged.metadata) if each is not None]
    carries = any(InCommitTimestamps.of(each).enabled for each in configurations)
    timestamp = snapshot.timestamp if carries else None
    # Only for a table with the feature is the checkpoint read for the high-water mark.
    tracks = "rowTracking" in writer_features(snapshot.protocol)
    mark = high_water_mark(snapshot.domain_metadata) if tracks else NO_ROW_ID
    return TableState(snapshot.version, snapshot.protocol, snapshot.metadata, timestamp, row_id_mark=mark)


def _generated(before: Metadata | None, after: Metadata | None) -> frozenset[str]:
    """Return the identity columns for which a commit generated numbers. Its metadata moves their high-water marks."""
    if before is None or after is None:
        return frozenset()
    schema = parse_schema(after.schema_string)
    old, new = high_water_marks(parse_schema(before.schema_string)), high_water_marks(schema)
    moved = (each for each in identity_columns(schema) if old.get(each.physical_name) != new.get(each.physical_name))
    return frozenset(each.name for each in moved)


def checked_parameters(parameters: Mapping[str, Any] | None, table: str) -> dict[str, Any]:
    """Return an operation's parameters in the format of the log.

    Args:
        parameters: the parameters; None for none.

    Raises:
        InvalidOptionError: they are not a dictionary, or a value cannot be JSON.
    """
    found = {}
    for name, value in arguments.mapping(parameters, "parameters", table).items():
        try:
            found[name] = _parameter(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise arguments.wrong(f"parameters[{name!r}]", value, "a value that JSON has", table=table) from error
        if isinstance(found[name], str):
            arguments.text(found[name], f"parameters[{name!r}]", table=table)
    return found


def checked_metrics(metrics: Mapping[str, object] | None, table: str) -> dict[str, object] | None:
    """Check an operation's metrics. The log stores the numbers as strings.

    Args:
        metrics: the counts; None for none.

    Raises:
        InvalidOptionError: they are not a dictionary, or a value is neither a number nor a string.
    """
    if metrics is None:
        return None
    found = arguments.mapping(metrics, "metrics", table)
    for name, value in found.items():
        name_of_value = f"metrics[{name!r}]"
        if isinstance(value, str):
            arguments.text(value, name_of_value, table=table)
        elif not (value is None or isinstance(value, Number) or hasattr(value, "__index__")):
            raise arguments.wrong(name_of_value, value, "a number or a string", table=table)
    return found


def _parameter(value: object) -> object:
    """Return a parameter in the format of the log: scalars unchanged, other values as a JSON string."""
    plain = value is None or isinstance(value, (str, bool, int))
    return value if plain else json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


_MARKS_ALONE: Final = "delta.identity.schemaUpdate"
_ROW_TRACKING_ALONE: Final = "rowTrackingEnablementOnly"
_OF_ROW_TRACKING: Final = frozenset(
    each.key
    for each in (properties.ENABLE_ROW_TRACKING, properties.MATERIALIZED_ROW_ID, properties.MATERIALIZED_ROW_COMMIT_VERSION)
)


def metadata_tags(before: Metadata, after: Metadata) -> dict[str, str]:
    """Return the tags of a commit that sets metadata. They let delta-spark's writers rebase on a commit with harmless changes.

    bayou's writers compare the metadata instead; other writers omit the tags. Source: delta-spark's `ConflictChecker`.
    """
    if before != after and identity_conflict(before, after, ()) is IdentityConflict.TAKE_MARKS:
        return {_MARKS_ALONE: "true"}
    return {_ROW_TRACKING_ALONE: "true"} if _enables_row_tracking_alone(before, after) else {}


def _enables_row_tracking_alone(before: Metadata, after: Metadata) -> bool:
    enabled = properties.ENABLE_ROW_TRACKING
    if enabled.read(before.configuration) or not enabled.read(after.configuration):
        return False
    return replace(before, configuration=_others(before)) == replace(after, configuration=_others(after))


def _others(metadata: Metadata) -> Mapping[str, str]:
    return {key: value for key, value in metadata.configuration.items() if key not in _OF_ROW_TRACKING}
