# SPDX-License-Identifier: Apache-2.0
"""A V2 checkpoint under a classic name, for clients without V2 checkpoints: they read its protocol and refuse the table.

Source: PROTOCOL.md, "V2 Spec": such a file may have a classic name. delta-spark writes one before each cleanup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from bayou.log.actions.columns import TEXT_MAP
from bayou.log.checkpoint.columns import CheckpointColumns, action_rows
from bayou.log.checkpoint.parquet_file import CheckpointFile
from bayou.log.snapshot.checkpoint_reader import Checkpoint
from bayou.protocol.actions.file_names import LogFileKind, checkpoint_path, parse_log_file_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bayou.log.segment.listing import CheckpointFiles
    from bayou.log.snapshot.snapshot import Snapshot

_SIDECAR: Final = pa.struct(
    [("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64()), ("tags", TEXT_MAP)]
)
_CHECKPOINT_METADATA: Final = pa.struct([("version", pa.int64()), ("tags", TEXT_MAP)])
_OF_V2: Final = pa.schema([("sidecar", _SIDECAR), ("checkpointMetadata", _CHECKPOINT_METADATA)])


def write_compatible_checkpoint(snapshot: Snapshot, found: CheckpointFiles) -> str | None:
    """Write a second top-level file of a V2 checkpoint under a classic name, and return its path; both share the sidecars.

    Write nothing and return None if the checkpoint has a classic name, the file exists already, or the top-level file holds file
    actions itself. The columns are those of `snapshot`, of the checkpoint's version or a later one.

    Raises:
        DerivedFileError: the checkpoint cannot be read.
    """
    name = parse_log_file_name(found.files[0].name)
    if name is None or name.kind is not LogFileKind.V2_CHECKPOINT:
        return None
    store = snapshot.source.store
    checkpoint = Checkpoint(found.files, found.version, store, snapshot.table_uri)
    if checkpoint.holds_files_itself:
        return None
    path = checkpoint_path(found.version)
    # delta-spark needs the columns of file actions, even without such actions.
    schema = pa.schema([*CheckpointColumns.of(snapshot).schema, *_OF_V2])
    file = CheckpointFile(schema)
    file.write(action_rows(list(_actions(checkpoint)), schema))
    return path if store.put_if_absent(path, file.finish()) else None


def _actions(checkpoint: Checkpoint) -> Iterator[Mapping[str, Any]]:
    header = checkpoint.header()
    yield {"checkpointMetadata": {"version": checkpoint.version}}
    if header.protocol is not None:
        yield {"protocol": header.protocol.to_json()}
    if header.metadata is not None:
        yield {"metaData": header.metadata.to_json()}
    for sidecar in checkpoint.sidecar_actions():
        yield {"sidecar": sidecar}
    for transaction in checkpoint.transactions().values():
        yield {"txn": transaction.to_json()}
    for domain in checkpoint.domains().values():
        yield {"domainMetadata": domain.to_json()}
