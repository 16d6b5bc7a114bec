# SPDX-License-Identifier: Apache-2.0
"""Statistics of live files in JSON where their checkpoint holds them as a struct alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.checkpoint_stats import stats_texts
from bayou.log.parquet_actions import STATS_PARSED
from bayou.protocol.schema import leaves

if TYPE_CHECKING:
    from bayou.log.snapshot import Snapshot
    from bayou.log.snapshot_source import SnapshotSource

_ROWS: Final = 100_000


def with_stats(snapshot: Snapshot, files: pa.Table) -> pa.Table:
    """Files with their statistics as text, as other files have them.

    Where any has none, the checkpoint is read for its struct, once; nothing of it is kept.

    Args:
        snapshot: the table.
        files: live files of it, with the columns `path` and `stats`.
    """
    missing = files.filter(pc.is_null(files["stats"]))["path"]
    if not len(missing):
        return files
    wanted = pa.concat_arrays([pa.array([], pa.string()), *missing.chunks])
    clocks = frozenset(path for _, path, leaf in leaves(snapshot.schema) if leaf.type == "timestamp_ntz")

    def read(source: SnapshotSource) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for batch in source.state().batches(_ROWS):
            chosen = batch.filter(pc.is_in(batch["path"], value_set=wanted))
            if STATS_PARSED in chosen.column_names and chosen.num_rows:
                texts, parsed = chosen["stats"].combine_chunks(), chosen[STATS_PARSED].combine_chunks()
                made = stats_texts(_one(texts), _one(parsed), clocks)
                found |= dict(zip(chosen["path"].to_pylist(), made.to_pylist(), strict=True))
        return found

    known = snapshot.read_source(read)
    if not known:
        return files
    pairs = zip(files["path"].to_pylist(), files["stats"].to_pylist(), strict=True)
    stats = pa.array([known.get(path) if text is None else text for path, text in pairs], pa.string())
    return files.set_column(files.schema.get_field_index("stats"), files.schema.field("stats"), stats)


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
