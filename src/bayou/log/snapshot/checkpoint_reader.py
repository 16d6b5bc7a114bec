# SPDX-License-Identifier: Apache-2.0
"""Reading checkpoints of every kind, column by column and on demand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from bayou.errors import CorruptLogError, failed, reason
from bayou.log.actions.action_files import ActionFile, DerivedFileError, FileActions, Header, file_actions
from bayou.log.actions.columns import ADD_SCHEMA, REMOVE_SCHEMA
from bayou.log.actions.keys import action_keys
from bayou.log.actions.parquet_actions import ParquetActions
from bayou.log.snapshot.checkpoint_part import Part
from bayou.plan.statistics.members import one_array
from bayou.protocol.actions.actions import DomainMetadata, Metadata, SetTransaction
from bayou.protocol.actions.file_names import SIDECAR_FOLDER
from bayou.protocol.actions.paths import decode, is_absolute
from bayou.protocol.types.schema import parse_schema
from bayou.storage.store import FileStatus, LogStore

if TYPE_CHECKING:
    from bayou.log.snapshot.statistics_cache import Fields, StatisticsCache
    from bayou.plan.statistics.columns import FileStatistics

T = TypeVar("T")

# Each action has one of these fields; some writers leave the schema out if the table has no column yet.
_HEADS: Final = {"protocol": ("minReaderVersion",), "metaData": ("id", "schemaString")}


class Checkpoint:
    """The state of the table at one version, as a checkpoint holds it.

    Guarantees: the rows of every column that `columns` returns are the live files, in one fixed order. A column is read once.
    Threads may share a checkpoint.
    """

    def __init__(
        self, files: Sequence[FileStatus], version: int, store: LogStore, table: str, *, metadata: Metadata | None = None
    ) -> None:
        """Name a checkpoint, without reading it; its metadata is the default for `metadata`."""
        self.version = version
        self._metadata = metadata
        self.files = tuple(files)
        self._store = store
        self._table = table
        self._lock = threading.RLock()
        self._columns: dict[str, pa.ChunkedArray] = {}
        self._keys: pa.ChunkedArray | None = None
        self._parts: tuple[Part, ...] | None = None
        self._header: Header | None = None
        self._statistics: StatisticsCache | None = None
        self._top: tuple[ParquetActions | ActionFile, ...] | None = None

    @property
    def path(self) -> str:
        """The path of the checkpoint's first file."""
        return self.files[0].path

    def header(self) -> Header:
        """Return the protocol and the metadata, without reading the file list."""
        with self._lock:
            if self._header is None:
                self._header = self._guard(self._read_header)
            return self._header

    def transactions(self) -> dict[str, SetTransaction]:
        """Return the latest `txn` of each application."""
        found = (SetTransaction.from_json(value) for value in self._others("txn", "appId"))
        return {transaction.app_id: transaction for transaction in found}

    def domains(self) -> dict[str, DomainMetadata]:
        """Return the domain metadata by domain."""
        found = (DomainMetadata.from_json(value) for value in self._others("domainMetadata", "domain"))
        return {domain.domain: domain for domain in found}

    def columns(self, names: Iterable[str]) -> Mapping[str, pa.ChunkedArray]:
        """Return columns of the live files by the names of ADD_SCHEMA; all missing ones are read together.

        Statistics that the checkpoint only has as structs are converted to JSON.
        """
        with self._lock:
            wanted = list(names)
            if "path" in wanted:
                # Both are the key, which later commits need: read them together.
                wanted.append("deletion_vector")
            missing = [name for name in dict.fromkeys(wanted) if name not in self._columns]
            if missing:
                loaded = self._guard(lambda: [self._load(part, missing) for part in self.parts()])
                for name in missing:
                    chunks = [chunk for part in loaded for chunk in part[name].chunks if len(chunk)]
                    self._columns[name] = pa.chunked_array(chunks, ADD_SCHEMA.field(name).type)
            return self._columns

    def keys(self, table_uri: str) -> pa.ChunkedArray:
        """Return the live files' keys, for reconciling with later commits."""
        with self._lock:
            if self._keys is None:
                columns = self.columns(["path", "deletion_vector"])
                self._keys = action_keys(columns["path"], columns["deletion_vector"], table_uri)
            return self._keys

    def statistics(self, fields: Fields) -> FileStatistics:
        """Return column statistics of the live files, by physical path; each column is read once."""
        # Imported on use: most readers of a log plan nothing.
        from bayou.log.snapshot.statistics_cache import StatisticsCache, part_statistics  # noqa: PLC0415
        from bayou.plan.statistics.columns import concat  # noqa: PLC0415

        with self._lock:
            if self._statistics is None:
                self._statistics = StatisticsCache(lambda wanted: concat([part_statistics(part, wanted) for part in self.parts()]))
            cache = self._statistics
        return self._guard(lambda: cache.get(fields))

    def batches(self, rows: int) -> Iterator[pa.Table]:
        """Yield the live files in the order of `columns`, in tables of at most `rows` rows; nothing is cached.

        A table has the columns of ADD_SCHEMA, and `stats_parsed` if its part of the checkpoint has it.
        """
        batches = (batch for part in self.parts() for batch in part.batches(rows))
        while (batch := self._guard(lambda: next(batches, None))) is not None:
            yield batch

    def removes(self) -> pa.Table:
        """Return the tombstones, REMOVE_SCHEMA; read at each call."""
        tables = self._guard(lambda: [part.removes() for part in self.parts()])
        return pa.concat_tables(tables) if tables else REMOVE_SCHEMA.empty_table()

    @property
    def num_files(self) -> int:
        """The number of live files."""
        return len(self.columns(["path"])["path"])

    @property
    def most_files(self) -> int:
        """The maximum number of live files, from the footers only."""
        return sum(part.num_rows for part in self.parts())

    @property
    def shard_files(self) -> tuple[str, ...]:
        """The Parquet files that hold its file actions; empty if some file actions are in JSON."""
        parts = self.parts()
        files = tuple(part.path for part in parts if isinstance(part, ParquetActions))
        return files if all(isinstance(part, ParquetActions) or not part.num_rows for part in parts) else ()

    @property
    def nbytes(self) -> int:
        """The memory of the columns read so far."""
        with self._lock:
            columns: list[Any] = [*self._columns.values()]
            if self._statistics is not None:
                columns.append(self._statistics)
            if self._keys is not None and self._keys is not self._columns.get("path"):
                columns.append(self._keys)
        return sum(column.nbytes for column in columns)

    def parts(self) -> tuple[Part, ...]:
        """Return the parts that hold file actions, in the order of the rows."""
        with self._lock:
            if self._parts is None:
                self._parts = self._guard(lambda: tuple(self._open_parts()))
            return self._parts

    def sidecars(self) -> list[str]:
        """Return the paths of the checkpoint's sidecar files, in its order."""
        return [_sidecar_path(value, self._table) for value in self.sidecar_actions()]

    def sidecar_actions(self) -> list[Mapping[str, Any]]:
        """Return the `sidecar` actions of its top-level file."""
        return self._others("sidecar", "path")

    @property
    def holds_files_itself(self) -> bool:
        """Whether a top-level file holds file actions in addition to those of the sidecars."""
        for top in self._opened():
            part = ManifestPart(file_actions([top])) if isinstance(top, ActionFile) else top
            if len(part.load(["path"])["path"]) or part.removes().num_rows:
                return True
        return False

    def _load(self, part: Part, names: Sequence[str]) -> Mapping[str, pa.ChunkedArray]:
        loaded = part.load(names)
        texts = loaded.get("stats")
        if texts is None or not texts.null_count or not isinstance(part, ParquetActions):
            return loaded
        parsed = part.parsed_stats()
        if parsed is None:
            return loaded
        # Imported on use: most checkpoints have the JSON.
        from bayou.log.actions.stats_texts import stats_texts, wall_clocks  # noqa: PLC0415

        metadata = self._metadata or self.header().metadata
        clocks = frozenset[tuple[str, ...]]() if metadata is None else wall_clocks(parse_schema(metadata.schema_string))
        made = stats_texts(one_array(texts), one_array(parsed), clocks)
        return {**loaded, "stats": pa.chunked_array([made], texts.type)}

    def _opened(self) -> tuple[ParquetActions | ActionFile, ...]:
        with self._lock:
            if self._top is None:
                self._top = tuple(self._open(each.path) for each in self.files)
            return self._top

    def _open(self, path: str) -> ParquetActions | ActionFile:
        if path.endswith(".json"):
            return ActionFile(self._store.read(path), table=self._table, path=path, version=self.version)
        return ParquetActions(self._store, path)

    def _open_parts(self) -> Iterable[Part]:
        for top in self._opened():
            if isinstance(top, ActionFile):
                yield ManifestPart(file_actions([top]))
            elif top.has("add") or top.has("remove"):
                yield top
        for sidecar in self.sidecars():
            yield ParquetActions(self._store, sidecar)

    def _read_header(self) -> Header:
        header = Header()
        for top in self._opened():
            if isinstance(top, ActionFile):
                header = header.later(top.header())
                continue
            for action, wanted in _HEADS.items():
                for value in top.values(action, *wanted):
                    header.apply({action: value})
        return Header(header.protocol, header.metadata)

    def _others(self, action: str, wanted: str) -> list[Mapping[str, Any]]:
        return self._guard(
            lambda: [
                value
                for top in self._opened()
                for value in (top.other_actions(action) if isinstance(top, ActionFile) else top.values(action, wanted))
            ]
        )

    def _guard(self, read: Callable[[], T]) -> T:
        """Convert any read error to a DerivedFileError, so that the caller can do without this checkpoint."""
        try:
            return read()
        except DerivedFileError:
            raise
        except (pa.ArrowException, CorruptLogError, OSError, ValueError, TypeError, KeyError) as error:
            raise DerivedFileError(
                f"The checkpoint cannot be read: {reason(error)}.",
                table=self._table,
                version=self.version,
                file=self.path,
                next_step="Restore the file, or delete the checkpoint if the commits before it are still there.",
            ) from error


class ManifestPart:
    """The file actions in a manifest in JSON."""

    def __init__(self, actions: FileActions) -> None:
        self._actions = actions

    @property
    def num_rows(self) -> int:
        """The number of file actions."""
        return int(self._actions.adds.num_rows + self._actions.removes.num_rows)

    def load(self, names: Iterable[str]) -> Mapping[str, pa.ChunkedArray]:
        """Return columns of the adds."""
        return {name: self._actions.adds[name] for name in names}

    def batches(self, rows: int) -> Iterator[pa.Table]:
        """Return the adds in slices."""
        adds = self._actions.adds
        return (adds.slice(start, rows) for start in range(0, adds.num_rows, rows))

    def removes(self) -> pa.Table:
        """Return the tombstones."""
        return self._actions.removes


def _sidecar_path(value: Mapping[str, Any], table: str) -> str:
    path = value.get("path")
    if not isinstance(path, str) or not path:
        raise failed("DELTA_STATE_RECOVER_ERROR/sidecar-path")
    if not is_absolute(path):
        return f"{SIDECAR_FOLDER}/{decode(path)}"
    # An absolute sidecar must be under the table: the store reaches nothing else.
    _, found, name = decode(path).rpartition(f"/{SIDECAR_FOLDER}/")
    if not found:
        raise failed("DELTA_STATE_RECOVER_ERROR/sidecar-outside", table=table, sidecar=path)
    return f"{SIDECAR_FOLDER}/{name}"
