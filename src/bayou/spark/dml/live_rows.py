# SPDX-License-Identifier: Apache-2.0
"""How many rows files have: as the log says, and as their footers do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from bayou.spark.directories import uris
from bayou.spark.footers import read_footers

if TYPE_CHECKING:
    import pyarrow as pa

    from bayou.spark.dml.change import Change

_AT_ONCE: Final = 1000
"""So many footers are held at a time: each takes a kilobyte for each column."""


def uncounted_rows(change: Change, positions: pa.Array) -> dict[str, int]:
    """The rows of the files whose statistics do not say how many they have, from their footers."""
    counts = change.snapshot.statistics({}).num_records.take(positions)
    unknown = positions.filter(counts.is_null())
    if not len(unknown):
        return {}
    return rows_in_footers(change, unknown, strict=True)


def rows_in_footers(change: Change, positions: pa.Array, *, strict: bool = False) -> dict[str, int]:
    """How many rows some files have, by their paths in the log, whatever their statistics say.

    Args:
        change: the operation.
        positions: the files.
        strict: whether a file that cannot be read is an error; else it is left out.

    Raises:
        OSError: it is one.
    """
    files = change.snapshot.files(["path", "size"]).take(positions)
    paths = files["path"].combine_chunks()
    places = list(zip(uris(paths, change.snapshot.table_uri).to_pylist(), files["size"].to_pylist(), strict=True))
    found = {}
    for first in range(0, len(places), _AT_ONCE):
        footers = read_footers(change.target.application.jvm, places[first : first + _AT_ONCE], change.target.storage_options)
        for path, footer in zip(paths[first : first + _AT_ONCE].to_pylist(), footers, strict=True):
            if not isinstance(footer, OSError):
                found[path] = footer.num_rows
            elif strict:
                raise footer
    return found


def known_live(change: Change, positions: pa.Array) -> int | None:
    """How many rows some files have that are not deleted; None where the log does not tell it of one of them."""
    known = change.snapshot.live_rows(positions)
    return None if known.null_count else pc.sum(known).as_py() or 0


def count_live(change: Change, positions: pa.Array) -> int:
    """How many rows some files have that are not deleted; files that the log does not tell it of are opened."""
    known = change.snapshot.live_rows(positions)
    unknown = positions.filter(known.is_null())
    total: int = pc.sum(known).as_py() or 0
    if not len(unknown):
        return total
    vectors = change.snapshot.files(["deletion_vector"])["deletion_vector"].take(unknown).to_pylist()
    gone: int = sum(each["cardinality"] for each in vectors if each is not None)
    return total + sum(uncounted_rows(change, unknown).values()) - gone
