# SPDX-License-Identifier: Apache-2.0
"""What the error says that a commit ends in because of another one: which one, what it did, and to which files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bayou.log.segment.time_travel import format_timestamp

if TYPE_CHECKING:
    import pyarrow as pa

    from bayou.errors import ConcurrentModificationError
    from bayou.log.conflict.state import CommitIntent
    from bayou.log.conflict.winning_commits import Winner

_SAMPLE: Final = 5


def lost(
    kind: type[ConcurrentModificationError],
    intent: CommitIntent,
    winner: Winner,
    why: str,
    *,
    paths: pa.ChunkedArray | None = None,
    error_class: str | None = None,
    **facts: Any,
) -> ConcurrentModificationError:
    """The error for a commit that another one excludes."""
    info = winner.info
    when = info.in_commit_timestamp or info.timestamp
    at = f" of {format_timestamp(when)}" if when is not None else ""
    sample = tuple(paths.slice(0, _SAMPLE).to_pylist()) if paths is not None else ()
    total = 0 if paths is None else len(paths)
    shown = f": {', '.join(sample)}{f' and {total - _SAMPLE} more' if total > _SAMPLE else ''}" if sample else ""
    return kind(
        f"{intent.operation} was not committed: version {winner.version}, a concurrent {info.operation or 'operation'}{at}, "
        f"{why}{shown}",
        table=intent.table,
        version=winner.version,
        file=winner.file.path,
        error_class=error_class,
        next_step="Run the operation again: it will see that version.",
        conflicting_version=winner.version,
        conflicting_operation=info.operation,
        conflicting_timestamp=when,
        conflicting_commit=dict(info.raw),
        files=sample,
        num_files=total,
        **facts,
    )
