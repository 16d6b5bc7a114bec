# SPDX-License-Identifier: Apache-2.0
"""The contents of a checkpoint: the actions of a snapshot that have not expired, with file actions in bounded tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import failed
from bayou.log.actions.keys import vector_ids
from bayou.log.checkpoint.columns import CheckpointColumns, action_rows, file_rows, removes
from bayou.log.checkpoint.part_hash import parts_of
from bayou.log.snapshot.replay import FileState
from bayou.log.snapshot.snapshot import Snapshot
from bayou.log.snapshot.source import SnapshotSource
from bayou.protocol import properties
from bayou.protocol.actions.actions import SetTransaction
from bayou.storage.store import LogStore

ROWS: Final = 100_000
"""How many file actions are held as columns at once; also the size of a row group."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CheckpointContents:
    """The actions of one checkpoint.

    Attributes:
        heads: the actions that are not about files, in JSON.
        tombstones: the `remove` actions within their retention, REMOVE_SCHEMA.
    """

    table_uri: str
    version: int
    store: LogStore
    columns: CheckpointColumns
    heads: tuple[Mapping[str, Any], ...]
    files: FileState
    tombstones: pa.Table
    now_ms: int

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        source: SnapshotSource,
        columns: CheckpointColumns,
        now_ms: int,
        *,
        files: FileState | None = None,
    ) -> CheckpointContents:
        """Return the parts of a snapshot that have not expired at a time; `files` (None: all) are the files to hold."""
        retention = properties.DELETED_FILE_RETENTION_MS.read(snapshot.metadata.configuration)
        files = source.state() if files is None else files
        gone = files.tombstones(snapshot.table_uri)
        # A tombstone without a timestamp has expired.
        young = pc.greater(pc.fill_null(gone["deletion_timestamp"], 0), now_ms - retention)
        return cls(
            snapshot.table_uri,
            snapshot.version,
            source.store,
            columns,
            tuple(_heads(snapshot, source, now_ms)),
            files,
            gone.filter(young),
            now_ms,
        )

    @property
    def num_file_actions(self) -> int:
        """The number of `add` and `remove` actions."""
        return self.files.num_files + int(self.tombstones.num_rows)

    def head_table(self) -> pa.Table:
        """Return the actions that are not about files."""
        return action_rows(self.heads, self.columns.schema)

    def file_tables(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the file actions: the live files in the snapshot's order, then the tombstones.

        Raises CorruptLogError if the base checkpoint changed while it was read.
        """
        for kind, actions in self._actions():
            yield self._rows(kind, actions, schema)

    def partitioned_tables(self, schema: pa.Schema, parts: int) -> Iterator[tuple[int, pa.Table]]:
        """Yield the file actions of each part with its number, counted from zero."""
        for kind, actions in self._actions():
            numbers = parts_of(actions["path"], vector_ids(actions["deletion_vector"]), parts)
            for part in range(parts):
                chosen = actions.filter(pc.equal(numbers, part))
                if chosen.num_rows:
                    yield part, self._rows(kind, chosen, schema)

    def _actions(self) -> Iterator[tuple[str, pa.Table]]:
        found = 0
        for files in _read_ahead(self.files.batches(ROWS)):
            found += files.num_rows
            yield "add", files
        if found != self.files.num_files:
            raise failed("DELTA_CHECKPOINT_SNAPSHOT_MISMATCH", at=self, expected=self.files.num_files, found=found)
        for start in range(0, self.tombstones.num_rows, ROWS):
            yield "remove", self.tombstones.slice(start, ROWS)

    def _rows(self, kind: str, actions: pa.Table, schema: pa.Schema) -> pa.Table:
        return file_rows(kind, self.columns.adds(actions) if kind == "add" else removes(actions), schema)


def _heads(snapshot: Snapshot, source: SnapshotSource, now_ms: int) -> Iterator[Mapping[str, Any]]:
    # From the log only: a wrong checksum file must not affect the checkpoint.
    protocol, metadata = source.replayed_header()
    yield {"protocol": (protocol or snapshot.protocol).to_json()}
    yield {"metaData": (metadata or snapshot.metadata).to_json()}
    retention = properties.SET_TRANSACTION_RETENTION_MS.read(snapshot.metadata.configuration)
    for transaction in source.transactions().values():
        if retention is None or _is_younger(transaction, now_ms - retention):
            yield {"txn": transaction.to_json()}
    for domain in source.domains().values():
        if not domain.removed:
            yield {"domainMetadata": domain.to_json()}


def _is_younger(transaction: SetTransaction, oldest_ms: int) -> bool:
    return transaction.last_updated is not None and transaction.last_updated > oldest_ms


def _read_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items, which are never None, while another thread fetches the next one."""
    pool = ThreadPoolExecutor(1)
    try:
        pending = pool.submit(next, items, None)
        while (item := pending.result()) is not None:
            pending = pool.submit(next, items, None)
            yield item
    finally:
        pool.shutdown(wait=False)  # may run in the garbage collector, which must not wait for a thread (see `in_chunks`)
