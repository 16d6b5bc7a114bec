# SPDX-License-Identifier: Apache-2.0
"""How much one batch of a stream reads.

Source: delta-spark's `DeltaSource.AdmissionLimits`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

DEFAULT_MAX_FILES: Final = 1000
"""The default limit of files per batch. Source: delta-spark's `DeltaOptions`."""
_NO_LIMIT: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The limits of a batch, None for no limit; the first one reached ends it. One file is always read.

    Files are taken until there are `max_bytes`, so the last file may exceed them.
    """

    max_files: int | None = None
    max_bytes: int | None = None


class Admission:
    """The remaining capacity of a batch, while its files are examined in order."""

    def __init__(self, limits: ReadLimits | None) -> None:
        """Begin a batch; None takes everything."""
        known = limits or ReadLimits()
        self._files = _NO_LIMIT if known.max_files is None else known.max_files
        self._bytes = _NO_LIMIT if known.max_bytes is None else known.max_bytes
        self._is_empty = True

    @property
    def has_capacity(self) -> bool:
        """Whether one more file fits."""
        return self._files > 0 and self._bytes > 0

    def admit(self, sizes: pa.Array) -> int:
        """Take the next files, of these sizes in bytes, while there is capacity before each, and return their number."""
        if not self.has_capacity or not len(sizes):
            return 0
        some = sizes.slice(0, min(self._files, len(sizes)))
        total = pc.sum(some).as_py() or 0
        if total - (some[-1].as_py() or 0) >= self._bytes:
            before = pc.subtract(pc.cumulative_sum(some), some)
            some = some.slice(0, pc.sum(pc.less(before, self._bytes)).as_py())
            total = pc.sum(some).as_py() or 0
        self._take(len(some), total)
        return len(some)

    def admit_together(self, files: int, size_bytes: int) -> bool:
        """Take some files together, or none of them.

        They are taken if all of them fit, or if nothing was taken before.
        """
        if not files:
            return True
        fits = self._is_empty or (self._files >= files and self._bytes >= size_bytes)
        if fits:
            self._take(files, size_bytes)
        return fits

    def _take(self, files: int, size_bytes: int) -> None:
        self._is_empty = False
        self._files -= files
        self._bytes -= size_bytes
