# SPDX-License-Identifier: Apache-2.0
"""Writing checkpoints: the state of a snapshot as a few files, so that readers need no earlier commit.

Sources: PROTOCOL.md, "Checkpoints", "Sidecar Files", "V2 Spec"; delta-spark's `Checkpoints` for what is optional.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bayou.errors import StorageError, failed, reason
from bayou.log import events
from bayou.log.checkpoint.columns import CheckpointColumns, spark_schema
from bayou.log.checkpoint.contents import CheckpointContents
from bayou.log.checkpoint.last_checkpoint import MOST_SCHEMA_CHARACTERS, LastCheckpoint, V2Hint, compact_json, write_last_checkpoint
from bayou.log.checkpoint.parquet_file import CheckpointFile
from bayou.log.checkpoint.part_hash import part_of_others
from bayou.log.checkpoint.sidecars import SidecarFile, sidecar_files, sidecars_by_jobs
from bayou.log.snapshot.snapshot import Snapshot
from bayou.log.snapshot.source import SnapshotSource
from bayou.protocol import properties
from bayou.protocol.actions.file_names import SIDECAR_FOLDER, checkpoint_part_path, checkpoint_path, version_prefix
from bayou.protocol.features.features import FEATURES, MAX_WRITER_VERSION, writer_features

SIDECAR_ACTIONS: Final = 50_000
"""How many file actions a sidecar holds at most, as in delta-spark."""


@dataclass(frozen=True, slots=True)
class WrittenCheckpoint:
    """A checkpoint that was written: its files, the top-level file of a V2 checkpoint first, and its number of actions (`size`)."""

    version: int
    files: tuple[str, ...]
    size: int
    num_adds: int
    size_in_bytes: int


def write_checkpoint(
    snapshot: Snapshot,
    *,
    now_ms: int | None = None,
    part_size: int | None = None,
    sidecar_actions: int = SIDECAR_ACTIONS,
) -> WrittenCheckpoint:
    """Write the checkpoint of a snapshot, and `_last_checkpoint` unless that names a later one.

    The table's properties decide: `delta.checkpointPolicy` the kind (V2 if the protocol has the feature, otherwise classic),
    `delta.checkpoint.writeStatsAsJson` and `delta.checkpoint.writeStatsAsStruct` the form of statistics,
    `delta.deletedFileRetentionDuration` and `delta.setTransactionRetentionDuration` what expires. If JSON is enabled, files whose
    statistics are only in structs get them as JSON too. Writing a checkpoint again is safe.

    Memory: some row groups, and one finished file. If an engine has registered its jobs and there are very many files, its tasks
    make the sidecars of a V2 checkpoint.

    Args:
        now_ms: the time in ms since the epoch at which expiry is evaluated; None means now.
        part_size: the approximate number of file actions per part of a classic checkpoint. The protocol deprecates parts.
        sidecar_actions: how many file actions a sidecar of a V2 checkpoint holds.

    Raises:
        InvalidOptionError: parts are requested and the table has V2 checkpoints, or a number is not positive.
        UnsupportedFeatureError: the table has unknown writer features, whose actions could be lost.
        CorruptLogError: the log cannot be read.
        StorageError: the store failed; it may have left files of no use.
    """
    _check_protocol(snapshot)
    _check_sizes(snapshot, part_size, sidecar_actions)
    now = int(time.time() * 1000) if now_ms is None else now_ms
    columns = CheckpointColumns.of(snapshot)

    def write(source: SnapshotSource) -> tuple[LastCheckpoint, tuple[str, ...]]:
        if _wants_v2(snapshot):
            return _write_v2(*_sidecars(snapshot, source, columns, now, sidecar_actions))
        contents = CheckpointContents.of(snapshot, source, columns, now)
        parts = 1 if part_size is None else max(1, -(-contents.num_file_actions // part_size))
        return _write_classic(contents) if parts == 1 else _write_parts(contents, parts)

    hint, files = snapshot.read_source(write)
    _write_hint(snapshot, hint)
    return WrittenCheckpoint(hint.version, files, hint.size, hint.num_adds, hint.size_in_bytes)


def _write_hint(snapshot: Snapshot, hint: LastCheckpoint) -> None:
    """Write `_last_checkpoint`. The checkpoint is found without it, so a failure is only reported."""
    try:
        write_last_checkpoint(snapshot.source.store, hint)
    except (OSError, StorageError) as error:
        text = f"{type(error).__name__}: {reason(error)}"
        events.emit(events.HookFailedEvent(table=snapshot.table_uri, version=snapshot.version, hook="checkpoint", error=text))


def _check_protocol(snapshot: Snapshot) -> None:
    version = snapshot.protocol.min_writer_version
    if version > MAX_WRITER_VERSION:
        raise failed(
            "DELTA_INVALID_PROTOCOL_VERSION/checkpoint", at=snapshot, features=(), required=version, supported=MAX_WRITER_VERSION
        )
    unknown = tuple(sorted(writer_features(snapshot.protocol) - FEATURES.keys()))
    if unknown:
        raise failed("DELTA_UNSUPPORTED_FEATURES_FOR_WRITE/checkpoint", at=snapshot, features=unknown)


def _check_sizes(snapshot: Snapshot, part_size: int | None, sidecar_actions: int) -> None:
    for name, size in (("part_size", part_size), ("sidecar_actions", sidecar_actions)):
        if size is not None and size < 1:
            raise failed("DELTA_ILLEGAL_OPTION/checkpoint-size", table=snapshot.table_uri, option=name, size=size)
    if part_size is not None and _has_v2(snapshot):
        raise failed("DELTA_ILLEGAL_OPTION/multi-part", at=snapshot)


def _has_v2(snapshot: Snapshot) -> bool:
    return "v2Checkpoint" in writer_features(snapshot.protocol)


def _wants_v2(snapshot: Snapshot) -> bool:
    policy = properties.CHECKPOINT_POLICY.read(snapshot.metadata.configuration)
    return policy.strip().lower() == "v2" and _has_v2(snapshot)


def _sidecars(
    snapshot: Snapshot, source: SnapshotSource, columns: CheckpointColumns, now_ms: int, most: int
) -> tuple[CheckpointContents, Iterable[SidecarFile]]:
    """Return the contents of a V2 checkpoint's top-level file, and its sidecars, which jobs make if there are many."""
    by_jobs = sidecars_by_jobs(snapshot, source, columns, now_ms, most)
    if by_jobs is not None:
        return by_jobs
    contents = CheckpointContents.of(snapshot, source, columns, now_ms)
    return contents, sidecar_files(contents, most)


def _write_classic(contents: CheckpointContents) -> tuple[LastCheckpoint, tuple[str, ...]]:
    file = CheckpointFile(contents.columns.schema)
    file.write(contents.head_table())
    for table in contents.file_tables(file.schema):
        file.write(table)
    path = checkpoint_path(contents.version)
    data = file.finish()
    contents.store.put(path, data)
    return _hint(contents, file.rows, len(data)), (path,)


def _write_parts(contents: CheckpointContents, parts: int) -> tuple[LastCheckpoint, tuple[str, ...]]:
    schema = contents.columns.schema
    files = [CheckpointFile(schema) for _ in range(parts)]
    files[part_of_others(parts)].write(contents.head_table())
    for part, table in contents.partitioned_tables(schema, parts):
        files[part].write(table)
    size = 0
    for number, file in enumerate(files, 1):
        data = file.finish()
        contents.store.put(checkpoint_part_path(contents.version, number, parts), data)
        size += len(data)
    paths = tuple(checkpoint_part_path(contents.version, number + 1, parts) for number in range(parts))
    return _hint(contents, sum(file.rows for file in files), size, parts=parts), paths


def _hint(contents: CheckpointContents, size: int, size_in_bytes: int, *, parts: int | None = None) -> LastCheckpoint:
    schema = spark_schema(contents.columns.schema)
    return LastCheckpoint(contents.version, size, size_in_bytes, contents.files.num_files, parts=parts, schema=schema)


def _write_v2(contents: CheckpointContents, sidecars: Iterable[SidecarFile]) -> tuple[LastCheckpoint, tuple[str, ...]]:
    """Write the sidecars, then the file that names them."""
    written: list[Mapping[str, Any]] = []
    num_actions = num_adds = 0
    for each in sidecars:
        name = f"{contents.version:020d}.checkpoint.{len(written) + 1:010d}.{uuid.uuid4()}.parquet"
        contents.store.put_if_absent(f"{SIDECAR_FOLDER}/{name}", each.data)
        written.append({"path": name, "sizeInBytes": len(each.data), "modificationTime": contents.now_ms})
        num_actions += each.num_actions
        num_adds += each.num_adds
    sidecar_bytes = sum(each["sizeInBytes"] for each in written)
    tags = {
        "sidecarNumActions": str(num_actions),
        "sidecarSizeInBytes": str(sidecar_bytes),
        "numOfAddFiles": str(num_adds),
    }
    schema = compact_json(spark_schema(contents.columns.file_schema))
    if len(schema) <= MOST_SCHEMA_CHARACTERS:
        tags["sidecarFileSchema"] = schema
    own = {"checkpointMetadata": {"version": contents.version, "tags": tags}}
    actions = (own, *({"sidecar": each} for each in written), *contents.heads)
    data = "".join(f"{compact_json(action)}\n" for action in actions).encode("utf-8")
    path = f"{version_prefix(contents.version)}.checkpoint.{uuid.uuid4()}.json"
    contents.store.put_if_absent(path, data)
    v2 = V2Hint(path.rsplit("/", 1)[-1], len(data), contents.now_ms, (*contents.heads, own), tuple(written))
    hint = LastCheckpoint(contents.version, len(actions) + num_actions, sidecar_bytes + len(data), num_adds, v2=v2)
    return hint, (path, *(f"{SIDECAR_FOLDER}/{each['path']}" for each in written))
