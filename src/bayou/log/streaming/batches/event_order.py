# SPDX-License-Identifier: Apache-2.0
"""A note beside a query's checkpoint: by which column the files of the first snapshot are ordered.

An offset in the first snapshot is a place in that order, and says nothing else. Under another order the same place means other
files, so that rows would be lost and others come twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.errors import StreamingSourceError

if TYPE_CHECKING:
    from bayou.log.streaming.request.offsets import SourceOffset
    from bayou.storage.store import LogStore

NOTE: Final = "bayou-event-time-order"


def check_event_order(store: LogStore, event_time: str | None, reached: SourceOffset | None, table: str) -> None:
    """Note the order of a query that begins; refuse another one than that of a query that goes on.

    Args:
        store: the source's folder in the checkpoint.
        event_time: the column that orders the files; None where no column does.
        reached: how far the query has read; None where it begins.
        table: the table's URI, for errors.

    Raises:
        StreamingSourceError: the query is in the first snapshot and has read it in another order so far.
    """
    if reached is not None and not reached.is_starting_version:
        return
    try:
        noted = store.read(NOTE).decode() or None
    except FileNotFoundError:
        noted = None
    if noted == event_time:
        return
    if reached is not None:
        raise StreamingSourceError(
            f"The query has read the first snapshot {_order(noted)} so far, and would go on {_order(event_time)}: rows would be"
            " lost, and others come twice",
            table=table,
            version=reached.version,
            next_step="Run the query until it is past the first snapshot as it was: with the same withEventTimeOrder and the same"
            " withWatermark, under bayou.",
        )
    store.put(NOTE, (event_time or "").encode())


def _order(column: str | None) -> str:
    return "in the order of its files" if column is None else f"in the order of {column!r}"
