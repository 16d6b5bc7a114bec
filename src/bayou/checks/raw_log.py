# SPDX-License-Identifier: Apache-2.0
"""The bytes of a log, parsed without judging them and without the replay of `bayou.log`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bayou.checks.checkpoint import Checkpoint
from bayou.checks.data_files import DataFolder
from bayou.checks.file_rows import EMPTY, FILE_KINDS, FileRows, rows_of_struct
from bayou.checks.log_file import Action, LogFile, Problem
from bayou.checks.row_counts import RowCounts
from bayou.checks.timeline import Epoch, Part, Timeline
from bayou.errors import DeltaError, StorageError
from bayou.log.actions.columns import to_objects
from bayou.protocol.actions.file_names import LAST_CHECKPOINT, LOG_FOLDER, SIDECAR_FOLDER, LogFileKind, parse_log_file_name
from bayou.storage.parallel import read_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bayou.checks.row_counts import CountRows
    from bayou.protocol.actions.file_names import LogFileName
    from bayou.storage.store import FileStatus, LogStore

_HEADS: Final = ("protocol", "metaData", "txn", "domainMetadata", "checkpointMetadata", "sidecar", "commitInfo")
# Columns of statistics and partition values that repeat other columns in another form.
_BULKY: Final = {"stats_parsed", "partitionValues_parsed"}
_WHOLE: Final = frozenset({LogFileKind.COMMIT, LogFileKind.COMPACTED, LogFileKind.CHECKSUM})
"""The kinds of files that are read whole. Checkpoints are read afterwards, column by column."""
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_DECODER: Final = json.JSONDecoder()
_READ_ERRORS: Final = (DeltaError, OSError, pa.ArrowException, ValueError)


@dataclass(eq=False)
class RawLog:
    """A log as it was read.

    Attributes:
        uri: the table.
        options: credentials and settings of stores.
        files: all parsed files; rows refer to them by number.
        commits: the commits by version, in ascending order.
        rows: the file actions of all commits, in the order of the log.
        other_names: files of the log folder whose names the protocol does not know.
        count_rows: counts the rows that violate conditions; None if rows are not read.
    """

    uri: str
    store: LogStore
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: list[LogFile] = field(default_factory=list)
    commits: dict[int, LogFile] = field(default_factory=dict)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    compactions: list[LogFile] = field(default_factory=list)
    checksums: dict[int, LogFile] = field(default_factory=dict)
    hint: LogFile | None = None
    other_names: list[LogFile] = field(default_factory=list)
    sidecar_names: dict[str, FileStatus] = field(default_factory=dict)
    rows: pa.Table = field(default_factory=lambda: EMPTY)
    compacted_rows: pa.Table = field(default_factory=lambda: EMPTY)
    count_rows: CountRows | None = None

    @cached_property
    def timeline(self) -> Timeline:
        """The protocol, the metadata and the files of each version."""
        return Timeline(self.commits, self.rows, self.checkpoints)

    @cached_property
    def live(self) -> pa.Table:
        """The live files of the latest version that follows from the log."""
        known = self.timeline.known
        return self.timeline.live_at(known[-1]) if known else EMPTY

    @cached_property
    def live_files(self) -> pa.Table:
        """The live files whose actions have a path."""
        return self.live.filter(pc.greater(pc.binary_length(self.live["path"]), 0))

    @cached_property
    def stored_sizes(self) -> pa.ChunkedArray:
        """The sizes of `live_files` in the store; null for a missing file."""
        return self.folder.sizes(self.live_files["path"])

    @property
    def latest(self) -> Epoch | None:
        """The protocol and metadata of the latest version that follows from the log; None without such a version."""
        known = self.timeline.known
        return self.timeline.epoch_at(known[-1]) if known else None

    @cached_property
    def row_counts(self) -> RowCounts:
        """The rows of the latest version that follows from the log."""
        known = self.timeline.known
        return self.count_rows(self.uri, known[-1]) if self.count_rows is not None and known else RowCounts()

    @cached_property
    def folder(self) -> DataFolder:
        """The files that the log names."""
        return DataFolder(self.uri, self.store, self.options)

    @property
    def epochs(self) -> Sequence[Epoch]:
        """The ranges of versions with one protocol and one metadata."""
        return self.timeline.epochs

    @cached_property
    def parts(self) -> list[Part]:
        """The file actions with the protocol and metadata in force: those of commits by epoch, then those of checkpoints."""
        return self.timeline.parts()

    @property
    def version(self) -> int:
        """The latest version; -1 for an empty log."""
        return max([*self.commits, *(each.version for each in self.checkpoints if each.is_complete)], default=-1)

    def add_file(self, path: str, status: FileStatus | None, version: int = -1) -> LogFile:
        """Add a file, not yet read."""
        size, time = (status.size, status.modification_time) if status is not None else (0, 0)
        file = LogFile(path, version, len(self.files), size, time)
        self.files.append(file)
        return file


def read_raw_log(uri: str, store: LogStore, options: Mapping[str, str]) -> RawLog:
    """Read all files of a log.

    Args:
        uri: the table.
        store: the store of the table.
        options: credentials and settings for stores of files outside the table.

    Raises:
        StorageError: the log cannot be listed or read.
    """
    log = RawLog(uri, store, options)
    rows, compacted = FileRows(uri), FileRows(uri)
    checkpoints: dict[tuple[Any, ...], tuple[LogFileName, list[LogFile]]] = {}
    for status in _listed(store, LOG_FOLDER):
        name = parse_log_file_name(status.name)
        file = log.add_file(f"{LOG_FOLDER}/{status.name}", status, -1 if name is None else name.end_version or name.version)
        file.name = name
        if name is None and file.path != LAST_CHECKPOINT and not status.name.startswith((".", "_")):
            log.other_names.append(file)
        elif name is not None and name.kind not in _WHOLE:
            own = status.name if name.kind is LogFileKind.V2_CHECKPOINT else name.parts
            checkpoints.setdefault((name.version, name.kind.value, own), (name, []))[1].append(file)
    whole = [each for each in log.files if each.path == LAST_CHECKPOINT or (each.name is not None and each.name.kind in _WHOLE)]
    for file, content in zip(whole, read_each(store, whole, lambda each: store.read(each.path)), strict=True):
        if file.name is None:
            log.hint = file
            file.document = _parsed_document(file, content)
        elif file.name.kind is LogFileKind.COMMIT:
            log.commits[file.name.version] = file
            _parse_lines(file, content, rows)
        elif file.name.kind is LogFileKind.COMPACTED:
            log.compactions.append(file)
            _parse_lines(file, content, compacted)
        else:
            log.checksums[file.name.version] = file
            file.document = _parsed_document(file, content)
    log.sidecar_names = {each.name: each for each in _listed(store, SIDECAR_FOLDER)}
    log.rows, log.compacted_rows = rows.build(), compacted.build()
    log.commits = dict(sorted(log.commits.items()))
    log.checkpoints = [_read_checkpoint(log, *each) for _, each in sorted(checkpoints.items(), key=lambda each: each[0][:2])]
    return log


def _listed(store: LogStore, folder: str) -> list[FileStatus]:
    try:
        return list(store.list_from(f"{folder}/"))
    except FileNotFoundError:
        return []


def _parsed_document(file: LogFile, content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        file.problems.append(Problem("json", str(error)))
        return None


def _parse_lines(file: LogFile, content: bytes, rows: FileRows) -> None:
    """Parse a file of one JSON object a line."""
    for number, value in _json_lines(file, content):
        kind, each = next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else (None, None)
        if kind in FILE_KINDS and isinstance(each, dict):
            rows.append(file, number, kind, each)
        else:
            _parse_line(file, number, value, rows)
    info = next(file.of_kind("commitInfo"), None)
    if info is not None:
        file.writer = info.value.get("engineInfo") or None


def _json_lines(file: LogFile, content: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each line that is not blank, and note lines that are not JSON as problems."""
    try:
        lines: list[Any] = content.decode().split("\n")
    except UnicodeDecodeError:
        lines = content.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            # For a valid line of UTF-8 this costs half of `json.loads`, which decides about any other line.
            value, end = _DECODER.raw_decode(line)
        except (TypeError, ValueError, RecursionError):
            end = -1
        if end != len(line):
            raw = line if isinstance(line, bytes) else line.encode()
            try:
                value = json.loads(raw)
            except (ValueError, RecursionError) as error:
                file.problems.append(Problem("json", f"{error}: {raw[:60]!r}", number))
                continue
        if isinstance(line, bytes) or _SURROGATE.search(line):
            _note_surrogates(file, number, value)
        yield number, value


def _note_surrogates(file: LogFile, number: int, value: Any) -> None:
    """Note half a character as a problem: some readers refuse it."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        file.problems.append(Problem("unicode", f"the line has half a character: {error.object[error.start]!r}", number))


def _parse_line(file: LogFile, number: int, value: Any, rows: FileRows) -> None:
    found = [(kind, each) for kind, each in value.items() if each is not None] if isinstance(value, dict) else []
    if len(found) != 1:
        shown = f"it has {len(found)} actions" if isinstance(value, dict) else "it is not an object"
        file.problems.append(Problem("action", shown, number))
    for kind, each in found:
        if not isinstance(each, dict):
            file.problems.append(Problem("type", f"it is {each!r:.60}", number, kind))
        elif kind in FILE_KINDS:
            rows.append(file, number, kind, each)
        else:
            file.actions.append(Action(kind, each, file, number))


def _read_checkpoint(log: RawLog, name: LogFileName, files: list[LogFile]) -> Checkpoint:
    found = Checkpoint(name.version, name.kind, files, name.parts or 1)
    tables = list(read_each(log.store, files, lambda each: _read_checkpoint_file(log, each)))
    for own in found.sidecar_names:
        if own in log.sidecar_names and own not in found.sidecars:
            found.sidecars[own] = log.add_file(f"{SIDECAR_FOLDER}/{own}", log.sidecar_names[own], name.version)
    tables += read_each(log.store, list(found.sidecars.values()), lambda each: _read_checkpoint_file(log, each))
    found.rows = pa.concat_tables([EMPTY, *tables]).combine_chunks()
    return found


def _read_checkpoint_file(log: RawLog, file: LogFile) -> pa.Table:
    if not file.is_parquet:
        rows = FileRows(log.uri)
        _parse_lines(file, log.store.read(file.path), rows)
        return rows.build()
    try:
        return _read_parquet(log, file)
    except StorageError:
        raise
    except _READ_ERRORS as error:
        file.problems.append(Problem("parquet", f"{error}"[:200]))
        return EMPTY


def _read_parquet(log: RawLog, file: LogFile) -> pa.Table:
    with log.store.open(file.path) as source, pq.ParquetFile(source) as parquet:
        schema = parquet.schema_arrow
        file.writer = parquet.metadata.created_by or None
        file.columns = {each.name: _members(each.type) for each in schema}
        wanted = [
            f"{each.name}.{name}" if name else each.name
            for each in schema
            if each.name in {*_HEADS, *FILE_KINDS}
            for name in (_members(each.type) or ("",))
            if name not in _BULKY
        ]
        table = parquet.read(columns=wanted)
    tables = [EMPTY]
    for name in table.column_names:
        if not pa.types.is_struct(table[name].type):
            file.problems.append(Problem("type", f"the column {name} has the type {table[name].type}", None, name))
        elif name in FILE_KINDS:
            tables.append(rows_of_struct(table[name], file, name, log.uri))
        else:
            file.actions.extend(_heads(table[name], file, name))
    return pa.concat_tables(tables)


def _heads(column: pa.ChunkedArray, file: LogFile, name: str) -> list[Action]:
    """Return the actions of a column that are not file actions. Their number is small."""
    if not len(column):
        return []  # Arrow 15 ends the process if a column has no chunk
    lines = pc.indices_nonzero(pc.is_valid(column))
    values = zip(lines.to_pylist(), to_objects(column.take(lines)), strict=True)
    return [Action(name, _plain(value), file, line + 1) for line, value in values]


def _plain(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Drop absent fields, as JSON does."""
    return {name: each for name, each in value.items() if each is not None}


def _members(kind: pa.DataType) -> tuple[str, ...]:
    return tuple(each.name for each in kind) if pa.types.is_struct(kind) else ()
