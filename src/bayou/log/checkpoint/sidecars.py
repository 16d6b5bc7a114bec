# SPDX-License-Identifier: Apache-2.0
"""The sidecars of a V2 checkpoint, made sequentially here or in shards by an engine's jobs."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import pyarrow as pa

from bayou.log.checkpoint.columns import CheckpointColumns
from bayou.log.checkpoint.contents import CheckpointContents
from bayou.log.checkpoint.parquet_file import CheckpointFile
from bayou.log.checkpoint.sharding import LogJobError, Shards, jobs_for
from bayou.log.snapshot.snapshot import Snapshot
from bayou.log.snapshot.source import SnapshotSource
from bayou.protocol import properties

SIDECAR_SCHEMA: Final = pa.schema([("num_actions", pa.int64()), ("num_adds", pa.int64()), ("data", pa.binary())])

_logger = logging.getLogger("bayou")


@dataclass(frozen=True, slots=True)
class SidecarFile:
    """A Parquet file with `num_actions` file actions that is not written yet."""

    num_actions: int
    num_adds: int
    data: bytes


def sidecar_files(contents: CheckpointContents, most: int) -> Iterator[SidecarFile]:
    """Yield the file actions of a checkpoint in Parquet files of at most `most` each."""
    file, adds = CheckpointFile(contents.columns.file_schema), 0
    for table in contents.file_tables(file.schema):
        rest = table
        while rest.num_rows:
            taken = rest.slice(0, most - file.rows)
            file.write(taken)
            adds += taken.num_rows - taken["add"].null_count
            rest = rest.slice(taken.num_rows)
            if file.rows == most:
                yield SidecarFile(file.rows, adds, file.finish())
                file, adds = CheckpointFile(file.schema), 0
    if file.rows:
        yield SidecarFile(file.rows, adds, file.finish())


@dataclass(frozen=True, slots=True)
class MakeSidecars:
    """A job's work: return the sidecars of the shards of a checkpoint, SIDECAR_SCHEMA."""

    shards: Shards
    columns: CheckpointColumns
    oldest_ms: int
    most: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """See Work."""
        for snapshot in self.shards.states(batches):
            tombstones = self.shards.tombstones(snapshot, self.oldest_ms)
            source = snapshot.source
            contents = CheckpointContents(
                snapshot.table_uri, snapshot.version, source.store, self.columns, (), source.state(), tombstones, 0
            )
            for each in sidecar_files(contents, self.most):
                values = ([each.num_actions], [each.num_adds], [each.data])
                yield pa.RecordBatch.from_arrays(
                    [pa.array(value, field.type) for value, field in zip(values, SIDECAR_SCHEMA, strict=True)],
                    schema=SIDECAR_SCHEMA,
                )


def sidecars_by_jobs(
    snapshot: Snapshot, source: SnapshotSource, columns: CheckpointColumns, now_ms: int, most: int
) -> tuple[CheckpointContents, Iterable[SidecarFile]] | None:
    """Return the contents of the top-level file, and the sidecars; None if an engine's jobs are not to be used."""
    jobs, checkpoint = jobs_for(source), source.checkpoint
    if jobs is None or checkpoint is None:
        return None
    tail = source.tail()
    oldest = now_ms - properties.DELETED_FILE_RETENTION_MS.read(snapshot.metadata.configuration)
    work = MakeSidecars(Shards.of(snapshot, tail), columns, oldest, most)
    try:
        tables = jobs.run(source, checkpoint.shard_files, work, SIDECAR_SCHEMA, stream=True)
    except LogJobError as error:
        _logger.warning("%s: the checkpoint is made in this process, because its job failed: %s", snapshot.table_uri, error)
        return None
    contents = CheckpointContents.of(snapshot, source, columns, now_ms, files=tail)
    return contents, chain(_of_tables(tables), sidecar_files(contents, most))


def _of_tables(tables: Iterable[pa.Table]) -> Iterator[SidecarFile]:
    for table in tables:
        for row in table.to_pylist():
            yield SidecarFile(row["num_actions"], row["num_adds"], row["data"])
