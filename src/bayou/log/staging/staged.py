# SPDX-License-Identifier: Apache-2.0
"""The actions of a commit before it is written, sorted by kind, and their lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import pyarrow as pa

from bayou.errors import failed, reason
from bayou.log.actions.keys import canonical_paths
from bayou.log.segment.commit_times import ict_keys
from bayou.log.staging.added_files import AddedFiles
from bayou.log.staging.removed_files import RemovedFiles
from bayou.protocol.actions.action_checks import check_action
from bayou.protocol.actions.actions import AddCDCFile, AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.features.type_widening import TYPE_CHANGES, notes_versions, with_noted_version
from bayou.protocol.types.schema import parse_schema, schema_to_json

Action: TypeAlias = AddFile | RemoveFile | AddCDCFile | Metadata | Protocol | SetTransaction | DomainMetadata

_NAMES: Final[Mapping[type, str]] = {
    Protocol: "protocol",
    Metadata: "metaData",
    DomainMetadata: "domainMetadata",
    SetTransaction: "txn",
    RemoveFile: "remove",
    AddFile: "add",
    AddCDCFile: "cdc",
}


@dataclass(frozen=True, slots=True)
class StagedActions:
    """The actions of a commit, by kind.

    Attributes:
        adds: the files that it adds, except those without rows.
        removed_files: further files that it removes, as columns.
        added_files: further files that it adds, as columns.
        changes: the change data files.
    """

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    domains: tuple[DomainMetadata, ...] = ()
    transactions: tuple[SetTransaction, ...] = ()
    removes: Sequence[RemoveFile] = field(default=())
    adds: Sequence[AddFile] = field(default=())
    removed_files: RemovedFiles | None = None
    added_files: AddedFiles | None = None
    changes: Sequence[AddCDCFile] = field(default=())

    @classmethod
    def of(
        cls,
        actions: Iterable[Action],
        table: str,
        removed_files: RemovedFiles | None = None,
        added_files: AddedFiles | None = None,
    ) -> StagedActions:
        """Sort actions by kind, or raise InvalidCommitError if one is malformed or sets protocol or metadata twice."""
        given = list(actions)
        kinds: dict[type, list[Any]] = {kind: [] for kind in _NAMES}
        for action in given:
            check_action(action, table)
            kinds[type(action)].append(action)
        for kind in (Protocol, Metadata):
            if len(kinds[kind]) > 1:
                raise failed("DELTA_DUPLICATE_ACTIONS_FOUND/header", table=table, action=_NAMES[kind], count=len(kinds[kind]))
        return cls(
            next(iter(kinds[Protocol]), None),
            next(iter(kinds[Metadata]), None),
            tuple(kinds[DomainMetadata]),
            tuple(kinds[SetTransaction]),
            kinds[RemoveFile],
            [add for add in kinds[AddFile] if not _has_no_rows(add)],
            removed_files or None,
            added_files or None,
            kinds[AddCDCFile],
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        header = self.protocol or self.metadata or self.domains or self.transactions
        return not (header or self.touches_files)

    @property
    def only_adds(self) -> bool:
        """Whether no file is removed."""
        return not (self.removes or self.removed_files)

    @property
    def touches_files(self) -> bool:
        """Whether a file is added or removed."""
        return bool(self.removes or self.has_adds or self.removed_files or self.changes)

    @property
    def has_adds(self) -> bool:
        """Whether a file is added."""
        return bool(self.adds or self.added_files)

    @property
    def changes_no_data(self) -> bool:
        """Whether rows are only moved to other files, and nothing else is set."""
        if self.protocol or self.metadata or self.domains or self.transactions:
            return False
        many = self.added_files is not None and self.added_files.changes_data
        return not (self.removes_data or many or any(each.data_change for each in self.adds))

    @property
    def moves_rows_without_ids(self) -> bool:
        """Whether rows move to new files whose actions do not state their ids; the files themselves may hold them."""
        many = self.added_files is not None and self.added_files.moves_rows_without_ids
        return many or any(not each.data_change and each.base_row_id is None for each in self.adds)

    @property
    def removes_data(self) -> bool:
        """Whether rows are removed from the table."""
        many = self.removed_files is not None and self.removed_files.data_change
        return many or any(each.data_change for each in self.removes)

    def removed_paths(self, table: str) -> pa.ChunkedArray:
        """Return the canonical paths of the removed files."""
        paths = pa.chunked_array([[each.path for each in self.removes]], pa.string())
        if self.removed_files is not None:
            paths = pa.chunked_array([*paths.chunks, *self.removed_files.files["path"].chunks], pa.string())
        return canonical_paths(paths, table)

    def added_paths(self, table: str) -> pa.ChunkedArray:
        """Return the canonical paths of the added files."""
        paths = pa.chunked_array([[each.path for each in self.adds]], pa.string())
        if self.added_files is not None:
            paths = pa.chunked_array([*paths.chunks, *self.added_files.files["path"].chunks], pa.string())
        return canonical_paths(paths, table)

    def documents(self) -> Iterator[dict[str, Any]]:
        """Yield the actions as JSON objects, in the order of the commit."""
        for group in (self._header(), self.removes, self.adds, self.changes):
            for action in group:
                yield {_NAMES[type(action)]: action.to_json()}
        for files in (self.removed_files, self.added_files):
            if files is not None:
                yield from files.documents()

    def header_lines(self) -> list[bytes]:
        """Return the lines of the actions that are not about files."""
        return [_line(each) for each in self._header()]

    def file_lines(self) -> list[bytes]:
        """Return the lines of the file actions; a piece may hold several."""
        removed = () if self.removed_files is None else self.removed_files.lines()
        added = () if self.added_files is None else self.added_files.lines()
        return [*map(_line, self.removes), *removed, *map(_line, self.adds), *added, *map(_line, self.changes)]

    def _header(self) -> list[Action]:
        found: list[Action] = [each for each in (self.protocol, self.metadata) if each is not None]
        return [*found, *self.domains, *self.transactions]

    def enabling_timestamps(self, metadata_before: Metadata | None, version: int, timestamp: int) -> StagedActions:
        """Return the actions with the first version and time of in-commit timestamps in the metadata.

        These are this version and time if this commit enables the timestamps, otherwise those of the table: metadata that were
        built without the table's must not make old commits look as if they had timestamps.

        Source: PROTOCOL.md, "In-Commit Timestamps": both properties are set when they are enabled on an existing table.

        Args:
            metadata_before: the table's metadata that the commit was prepared for; None before the first version.
        """
        if self.metadata is None or metadata_before is None:
            return self
        configuration, before = self.metadata.configuration, metadata_before.configuration
        keys, keys_before = ict_keys(configuration), ict_keys(before)
        if keys is None:
            return self
        since: tuple[int | None, int | None] = (version, timestamp)
        if keys_before is not None:
            since = (keys_before.version.read(before), keys_before.timestamp.read(before))
        known = {key: str(value) for key, value in zip(keys.since, since, strict=True) if value is not None}
        return replace(self, metadata=replace(self.metadata, configuration={**configuration, **known}))

    def noting_type_changes(self, protocol_before: Protocol | None, version: int) -> StagedActions:
        """Return the actions with the version of each type widening in the metadata, if the table's protocol requires it."""
        protocol = self.protocol or protocol_before
        if self.metadata is None or protocol is None or TYPE_CHANGES not in self.metadata.schema_string:
            return self
        if not notes_versions(protocol):
            return self
        schema = with_noted_version(parse_schema(self.metadata.schema_string), version)
        return replace(self, metadata=replace(self.metadata, schema_string=schema_to_json(schema)))


def encode_line(action: Mapping[str, Any]) -> bytes:
    """Return one action as a line of a commit, without the line end.

    Raises InvalidCommitError for a value without a JSON form or a string with an unpaired surrogate.
    """
    try:
        text = json.dumps(action, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise failed("DELTA_DUPLICATE_ACTIONS_FOUND/no-json", action=next(iter(action)), reason=reason(error)) from error
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        part = text[max(error.start - 20, 0) : error.end]
        raise failed("DELTA_DUPLICATE_ACTIONS_FOUND/unicode", action=next(iter(action)), part=part) from error


def encode_commit(actions: Iterable[Mapping[str, Any]]) -> bytes:
    """Return a commit file: one action per line."""
    return b"\n".join([*(encode_line(action) for action in actions), b""])


def _line(action: Action) -> bytes:
    return encode_line({_NAMES[type(action)]: action.to_json()})


def _has_no_rows(add: AddFile) -> bool:
    if add.stats is None or '"numRecords":0' not in add.stats.replace(" ", ""):
        return False
    try:
        return bool(json.loads(add.stats).get("numRecords") == 0)
    except (ValueError, AttributeError, RecursionError):
        return False
