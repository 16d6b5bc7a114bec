# SPDX-License-Identifier: Apache-2.0
"""Statistics of new files out of their Parquet footers, where the writer has put them already."""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from bayou.protocol.stats import IndexedLeaf, LeafStatistics, to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a footer says of its file.

    Attributes:
        num_records: how many rows it has.
        stats: the statistics as the log holds them.
    """

    num_records: int
    stats: str


def read_facts(path: str, leaves: Sequence[IndexedLeaf]) -> FileFacts:
    """The facts of one file on the local disk.

    Args:
        path: the file.
        leaves: the columns that get statistics.
    """
    return facts_of(pq.read_metadata(path), leaves)


def facts_of(footer: pq.FileMetaData, leaves: Sequence[IndexedLeaf]) -> FileFacts:
    """The facts that a footer holds.

    Args:
        footer: the footer.
        leaves: the columns that get statistics, by their physical names.
    """
    positions = _positions(footer)
    found = [_leaf(footer, leaf, positions.get(".".join(leaf.path))) for leaf in leaves]
    return FileFacts(footer.num_rows, to_json(footer.num_rows, found))


def _positions(footer: pq.FileMetaData) -> dict[str, int | None]:
    """Where each column is, by its dotted path; None where two columns have the same one."""
    positions: dict[str, int | None] = {}
    for position in range(footer.num_columns):
        path = footer.schema.column(position).path
        positions[path] = None if path in positions else position
    return positions


def _leaf(footer: pq.FileMetaData, leaf: IndexedLeaf, position: int | None) -> LeafStatistics:
    kind = leaf.field.type if isinstance(leaf.field.type, str) else "nested"
    if position is None:
        # A column that the rows do not have is NULL in all of them; one that is nested deeper has other leaves than rows.
        absent = isinstance(leaf.field.type, str) and not _has_path(footer, leaf.path)
        return LeafStatistics(leaf.path, kind, null_count=footer.num_rows if absent else None)
    chunks = [footer.row_group(i).column(position).statistics for i in range(footer.num_row_groups)]
    if not chunks or any(chunk is None for chunk in chunks):
        return LeafStatistics(leaf.path, kind, null_count=0 if not chunks else None)
    nulls = sum(chunk.null_count for chunk in chunks) if all(chunk.has_null_count for chunk in chunks) else None
    bounds = _bounds(chunks, kind) if leaf.has_bounds else None
    low, high = bounds or (None, None)
    return LeafStatistics(leaf.path, kind, low, high, nulls)


def _has_path(footer: pq.FileMetaData, path: tuple[str, ...]) -> bool:
    prefix = ".".join(path)
    return any(footer.schema.column(i).path.startswith(f"{prefix}.") for i in range(footer.num_columns))


def _bounds(chunks: Iterable[pq.Statistics], kind: str) -> tuple[Any, Any] | None:
    """Least and greatest value over all row groups; None where a row group with values does not tell."""
    lows, highs = [], []
    for chunk in chunks:
        if chunk.has_min_max:
            lows.append(_value(chunk, chunk.min_raw, chunk.min, kind))
            highs.append(_value(chunk, chunk.max_raw, chunk.max, kind))
        elif chunk.num_values:
            return None
    known = [value for value in (*lows, *highs) if value is not None]
    if not lows or len(known) < 2 * len(lows) or any(isinstance(v, float) and math.isnan(v) for v in known):
        return None
    return min(lows), max(highs)


def _value(chunk: pq.Statistics, raw: Any, value: Any, kind: str) -> Any:
    """A bound in the form of `protocol.partition_values`: dates and timestamps as integers, decimals exact."""
    if kind in ("date", "timestamp", "timestamp_ntz"):
        return raw
    if kind.startswith("decimal"):
        scale = int(kind.partition(",")[2].rstrip(")") or 0)
        unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
        return decimal.Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))
    if kind == "string" and isinstance(value, bytes):
        return value.decode("utf-8", "strict")
    del chunk
    return value
