# SPDX-License-Identifier: Apache-2.0
"""Parse the JSON files of the log: commits, log compaction files and V2 checkpoints. File actions are parsed only on demand.

Compaction files and checkpoints are derived: they only repeat commits. If one is damaged, a reader can fall back to others;
`DerivedFileError` allows it to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import CorruptLogError, DeletionVectorError, reason
from bayou.log.actions.columns import ADD_SCHEMA, BROKEN_ACTION, REMOVE_SCHEMA, actions_table
from bayou.log.actions.keys import action_keys
from bayou.protocol.actions.actions import CommitInfo, DomainMetadata, Metadata, Protocol, SetTransaction
from bayou.protocol.actions.exact_json import Number
from bayou.protocol.actions.file_names import commit_path

if TYPE_CHECKING:
    from typing_extensions import Self

    from bayou.storage.store import LogStore

# Lines with these beginnings are most of a log, and are parsed only when the file list is read. A line in another format is parsed
# more often than necessary, but never skipped.
_BULKY: Final = (b'{"add":{', b'{"remove":{', b'{"cdc":{', b'{"commitInfo":{')

_ADD: Final = _BULKY[0]

_DECODER: Final = json.JSONDecoder(parse_float=Number)
_FILE_ACTIONS: Final = ("add", "remove")


@dataclass(slots=True)
class Header:
    """The latest actions that are not about files.

    Attributes:
        transactions: the latest `txn` of each application.
        domains: the latest `domainMetadata` of each domain, removed ones included.
    """

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: dict[str, SetTransaction] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)

    def apply(self, action: Mapping[str, Any]) -> None:
        """Apply one action of a commit, in the order of the log; actions of other kinds are ignored."""
        if (value := action.get("protocol")) is not None:
            self.protocol = Protocol.from_json(value)
        if (value := action.get("metaData")) is not None:
            self.metadata = Metadata.from_json(value)
        if (value := action.get("txn")) is not None:
            transaction = SetTransaction.from_json(value)
            self.transactions[transaction.app_id] = transaction
        if (value := action.get("domainMetadata")) is not None:
            domain = DomainMetadata.from_json(value)
            self.domains[domain.domain] = domain

    def later(self, newer: Header) -> Header:
        """Return this header overridden by a newer one."""
        return Header(
            newer.protocol or self.protocol,
            newer.metadata or self.metadata,
            {**self.transactions, **newer.transactions},
            {**self.domains, **newer.domains},
        )


@dataclass(frozen=True, slots=True)
class FileActions:
    """The file actions of some commits as Arrow columns, one row each.

    Attributes:
        add_order: each add's position among all file actions of the log; later is higher.
        remove_order: the same for removes.
    """

    adds: pa.Table
    removes: pa.Table
    add_order: pa.Array
    remove_order: pa.Array


class ActionFile:
    """One file of JSON actions, one per line: a commit, a compacted file, or a V2 checkpoint's manifest.

    Lines with file actions stay bytes until `file_actions` needs them, so that reading protocol and metadata only costs the search
    for line ends.
    """

    def __init__(self, data: bytes, *, table: str, path: str, version: int, derived: bool = False) -> None:
        """Split a file into lines; `derived` if it repeats commits, so that a broken one can be skipped."""
        self.version = version
        self._derived = derived
        self._table = table
        self.path = path
        self._size = len(data)
        self._lines = data.split(b"\n")
        if not data.strip():
            raise self._error("the file is empty")

    @classmethod
    def of_commit(cls, store: LogStore, version: int, table: str) -> Self:
        """Read the commit of a version, or raise FileNotFoundError."""
        path = commit_path(version)
        return cls(store.read(path), table=table, path=path, version=version)

    @property
    def nbytes(self) -> int:
        """The memory of the unparsed lines."""
        return self._size

    def header(self) -> Header:
        """Return the actions that are not about files, or raise CorruptLogError if one is malformed."""
        header = Header()
        for number, action in self._actions(bulky=False):
            try:
                header.apply(action)
            except CorruptLogError as error:
                raise self._error(f"{reason(error)}, line {number}") from error
        return header

    def other_actions(self, name: str) -> Iterator[Mapping[str, Any]]:
        """Yield the values of one kind of action, which is neither a file action nor `commitInfo`."""
        for number, action in self._actions(bulky=False):
            value = action.get(name)
            if value is None:
                continue
            if not isinstance(value, dict):
                raise self._error(f"the action {name} is not a JSON object, line {number}")
            yield value

    def commit_info(self) -> CommitInfo | None:
        """Return the `commitInfo`; None if the writer left it out."""
        for number, line in enumerate(self._lines, 1):
            if b'"commitInfo"' in line:
                value = self._parse(line, number).get("commitInfo")
                if value is not None:
                    try:
                        return CommitInfo.from_json(value)
                    except CorruptLogError as error:
                        raise self._error(f"{reason(error)}, line {number}") from error
        return None

    def changes(self) -> list[Mapping[str, Any]]:
        """Return the values of the `cdc` actions. Only lines that may hold one are parsed."""
        values = (self._parse(line, number).get("cdc") for number, line in enumerate(self._lines, 1) if b'"cdc"' in line)
        return [value for value in values if value is not None]

    def without_adds(self) -> Self:
        """Return the file without the lines of `add` actions, which take most of the time to parse."""
        reduced = copy(self)
        reduced._lines = [b"" if line.startswith(_ADD) else line for line in self._lines]  # noqa: SLF001  (of the same class)
        return reduced

    def actions(self) -> list[dict[str, Any]]:
        """Parse all actions, in the order of the file, or raise CorruptLogError if a line is not a JSON object."""
        lines = [line for line in self._lines if line and not line.isspace()]
        try:
            # One call for the whole file is twice as fast as one per line.
            parsed: list[dict[str, Any]] = json.loads(b"[" + b",".join(lines) + b"]")
        except (ValueError, RecursionError):
            parsed = []
        if len(parsed) == len(lines) and all(type(action) is dict for action in parsed):
            return parsed
        return [action for _, action in self._actions(bulky=True)]

    def _actions(self, *, bulky: bool) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in enumerate(self._lines, 1):
            if line and not line.isspace() and (bulky or not line.startswith(_BULKY)):
                yield number, self._parse(line, number)

    def _parse(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            # Other readers tolerate text after the object, but a second object would be a lost action.
            text = line.decode("utf-8").strip()
            action, end = _DECODER.raw_decode(text)
        except (ValueError, RecursionError) as error:
            raise self._error(f"line {number} is not valid JSON: {error}") from error
        if text[end:].lstrip().startswith("{"):
            raise self._error(f"line {number} holds two JSON objects")
        if not isinstance(action, dict):
            raise self._error(f"line {number} is not a JSON object")
        return action

    @property
    def is_derived(self) -> bool:
        """Whether the file only repeats commits, so that a reader can do without it."""
        return self._derived

    def check_action(self, value: Mapping[str, Any], kind: str, place: int, schema: pa.Schema) -> None:
        """Raise CorruptLogError or DeletionVectorError if the `place`-th file action of its kind cannot become a row."""
        try:
            actions_table([value], schema)
        except BROKEN_ACTION as error:
            raised = DeletionVectorError if isinstance(error, DeletionVectorError) else CorruptLogError
            raise self._error(f"the {kind} action number {place} is broken: {reason(error)}", raised) from error

    def check_reconciled(self, adds: pa.Table, removes: pa.Table) -> None:
        """Raise DerivedFileError if a compacted file holds a logical file twice: its actions have no order that could decide."""
        keys = [
            key for table in (adds, removes) for key in action_keys(table["path"], table["deletion_vector"], self._table).chunks
        ]
        if pc.count_distinct(pa.chunked_array(keys, pa.string())).as_py() < adds.num_rows + removes.num_rows:
            raise self._error("its actions are not reconciled")

    def _error(self, message: str, raised: type[CorruptLogError] = CorruptLogError) -> CorruptLogError:
        kind = DerivedFileError if self._derived else raised
        return kind(
            f"A file of the log cannot be read: {message}.",
            table=self._table,
            version=self.version,
            file=self.path,
            error_class=CorruptLogError.error_class,
            next_step="Restore that file from a backup; a reader may not skip it, because its changes would be lost.",
        )


def file_actions(files: Sequence[ActionFile]) -> FileActions:
    """Parse the file actions of commits in the order of their versions, or raise CorruptLogError if an action is malformed."""
    adds = _Actions("add", ADD_SCHEMA)
    removes = _Actions("remove", REMOVE_SCHEMA)
    place = 0
    for file in files:
        for kind in (adds, removes):
            kind.begin(file)
        for action in file.actions():
            place += 1
            for kind in (adds, removes):
                value = action.get(kind.name)
                if value is not None:
                    kind.values.append(value)
                    kind.order.append(place)
    columns = FileActions(adds.table(), removes.table(), pa.array(adds.order, pa.int64()), pa.array(removes.order, pa.int64()))
    for number, file in enumerate(files):
        if file.is_derived:
            file.check_reconciled(adds.part(columns.adds, number), removes.part(columns.removes, number))
    return columns


class _Actions:
    """Collects the actions of one kind from several files, so that their columns are built once."""

    def __init__(self, name: str, schema: pa.Schema) -> None:
        self.name = name
        self.values: list[Mapping[str, Any]] = []
        self.order: list[int] = []
        self._schema = schema
        self._files: list[tuple[ActionFile, int]] = []

    def begin(self, file: ActionFile) -> None:
        self._files.append((file, len(self.values)))

    def table(self) -> pa.Table:
        try:
            return actions_table(self.values, self._schema)
        except BROKEN_ACTION:
            # Find the broken action one by one, for an error with its file and number.
            for number, (file, _) in enumerate(self._files):
                for place, value in enumerate(self.values[slice(*self._span(number))], 1):
                    file.check_action(value, self.name, place, self._schema)
            raise

    def part(self, table: pa.Table, number: int) -> pa.Table:
        start, end = self._span(number)
        return table.slice(start, end - start)

    def _span(self, number: int) -> tuple[int, int]:
        last = number + 1 == len(self._files)
        return self._files[number][1], len(self.values) if last else self._files[number + 1][1]


class DerivedFileError(CorruptLogError):
    """A checkpoint or log compaction file cannot be used; `file` is its path in the listing."""
