# SPDX-License-Identifier: Apache-2.0
"""The histograms of a version checksum: live files by size, and by number of deleted rows.

Source: PROTOCOL.md, "File Size Histogram Schema" and "Deleted Record Counts Histogram Schema".
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_KIB: Final = 1 << 10
_MIB: Final = 1 << 20
_GIB: Final = 1 << 30

DEFAULT_BOUNDARIES: Final = (
    0,
    *(8 * _KIB << power for power in range(10)),
    *(size * _MIB for size in range(8, 40, 4)),
    *(size * _MIB for size in range(40, 120, 8)),
    *(size * _MIB for size in range(120, 144, 4)),
    *(size * _MIB for size in range(144, 576, 16)),
    *(size * _MIB for size in range(576, 1408, 64)),
    *(size * _MIB for size in range(1408, 2048, 128)),
    *(size * _MIB for size in range(2048, 4096, 256)),
    *(4 * _GIB << power for power in range(7)),
)
"""The lower bounds of the file size bins, in bytes. Source: delta-spark, FileSizeHistogramUtils.DEFAULT_BINS."""

DELETED_RECORD_BOUNDARIES: Final = (0, *(10**power for power in range(8)), 2_147_483_647)
"""The lower bounds of the bins of deleted records."""


@dataclass(frozen=True, slots=True)
class FileSizeHistogram:
    """The number of live files in each size bin, and their bytes. The lower bounds of the bins ascend from 0."""

    boundaries: tuple[int, ...]
    file_counts: tuple[int, ...]
    total_bytes: tuple[int, ...]

    @classmethod
    def of(cls, sizes: pa.Array | pa.ChunkedArray, boundaries: Sequence[int] = DEFAULT_BOUNDARIES) -> FileSizeHistogram:
        """Count files by their sizes in bytes."""
        counts, totals = _bins(sizes, boundaries)
        return cls(tuple(boundaries), counts, totals)

    @classmethod
    def from_json(cls, document: object) -> FileSizeHistogram:
        """Parse a histogram of a checksum, or raise ValueError if it is invalid."""
        if not isinstance(document, Mapping):
            raise ValueError("a file size histogram is not a JSON object")  # noqa: TRY004  (the file is wrong, not the call)
        found = cls(
            _integers(document.get("sortedBinBoundaries")),
            _integers(document.get("fileCounts")),
            _integers(document.get("totalBytes")),
        )
        ascending = all(low < high for low, high in pairwise(found.boundaries))
        if found.boundaries[:1] != (0,) or not ascending:
            raise ValueError("the bins of a file size histogram do not ascend from 0")
        if not len(found.boundaries) == len(found.file_counts) == len(found.total_bytes):
            raise ValueError("a file size histogram has not one count and one size for each bin")
        return found

    def to_json(self) -> dict[str, list[int]]:
        """Return the histogram as a checksum holds it."""
        return {
            "sortedBinBoundaries": list(self.boundaries),
            "fileCounts": list(self.file_counts),
            "totalBytes": list(self.total_bytes),
        }

    def changed(self, added: pa.Array, removed: pa.Array) -> FileSizeHistogram | None:
        """Return the histogram after files were added and removed; None if a count would be negative: it was wrong before."""
        plus, minus = self.of(added, self.boundaries), self.of(removed, self.boundaries)
        counts = _combined(self.file_counts, plus.file_counts, minus.file_counts)
        totals = _combined(self.total_bytes, plus.total_bytes, minus.total_bytes)
        if min(*counts, *totals) < 0:
            return None
        return FileSizeHistogram(self.boundaries, counts, totals)


def deleted_record_counts(cardinalities: pa.Array | pa.ChunkedArray) -> tuple[int, ...]:
    """Count files by their number of deleted rows; files without a deletion vector count as 0."""
    return _bins(cardinalities, DELETED_RECORD_BOUNDARIES)[0]


def changed_record_counts(counts: Sequence[int], added: pa.Array, removed: pa.Array) -> tuple[int, ...] | None:
    """Return the counts after files with so many deleted rows were added and removed; None if one would be negative."""
    found = _combined(counts, deleted_record_counts(added), deleted_record_counts(removed))
    return None if min(found) < 0 else found


def read_record_counts(document: object) -> tuple[int, ...]:
    """Parse the histogram of deleted records of a checksum, or raise ValueError if it is invalid."""
    found = _integers(document.get("deletedRecordCounts") if isinstance(document, Mapping) else None)
    if len(found) != len(DELETED_RECORD_BOUNDARIES):
        raise ValueError("a histogram of deleted records has not one count for each bin")
    return found


def _bins(values: pa.Array | pa.ChunkedArray, boundaries: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the number of values in each bin, and their sums, with one sort for any number of bins."""
    if not len(values):
        none = (0,) * len(boundaries)
        return none, none
    column = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    ordered = column.take(pc.array_sort_indices(column))
    sums = pc.cumulative_sum(ordered)
    edges = [*(bisect_left(ordered, boundary, key=_plain) for boundary in boundaries), len(ordered)]
    before = [sums[edge - 1].as_py() if edge else 0 for edge in edges]
    counts = tuple(high - low for low, high in pairwise(edges))
    return counts, tuple(high - low for low, high in pairwise(before))


def _plain(scalar: Any) -> int:
    value: int = scalar.as_py()
    return value


def _combined(base: Sequence[int], plus: Sequence[int], minus: Sequence[int]) -> tuple[int, ...]:
    return tuple(value + more - less for value, more, less in zip(base, plus, minus, strict=True))


def _integers(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or any(type(item) is not int for item in value):
        raise ValueError("a histogram holds something else than integers")
    return tuple(value)
