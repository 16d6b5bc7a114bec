# SPDX-License-Identifier: Apache-2.0
"""What VACUUM may delete: how long files are kept, and which listed files are old enough."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import failed

_HOUR_MS: Final = 3_600_000
_OF_DELTA: Final = ("_change_data", "_delta_index")
"""Hidden folders that hold files of the table. Source: delta-spark's `DeltaTableUtils.isHiddenDirectory`."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long VACUUM keeps files that the table no longer needs; times in ms, the cutoff since the epoch.

    Attributes:
        cutoff: files that were removed, or written and never used, before this time may be deleted.
        default: the value of `delta.deletedFileRetentionDuration`.
        specified: the caller's value, or None.
        is_checked: whether a retention shorter than the default is an error.
    """

    cutoff: int
    default: int
    specified: int | None
    is_checked: bool

    @property
    def exceeds_default(self) -> bool:
        """Whether it is longer than the default, after which checkpoints drop tombstones."""
        return self.specified is not None and self.specified > self.default


def retention_of(
    hours: float | None, default_ms: int, now_ms: int, *, is_checked: bool, ignores_hours: bool = False, table: str
) -> Retention:
    """Return how long a VACUUM keeps files.

    Args:
        hours: the retention in hours, with fractions; None for the table's property.
        default_ms: the property `delta.deletedFileRetentionDuration`, in ms.
        is_checked: whether hours below the property are an error.
        ignores_hours: whether hours other than 0 are ignored, as in delta-spark.

    Raises:
        InvalidOptionError: the hours are negative, NaN, or too few.
    """
    if hours is None:
        return Retention(now_ms - default_ms, default_ms, None, is_checked)
    if math.isnan(hours) or hours < 0:
        raise failed("DELTA_VACUUM_RETENTION_PERIOD_NEGATIVE", table=table, hours=hours)
    if ignores_hours and hours != 0:
        return Retention(now_ms - default_ms, default_ms, None, is_checked)
    specified = int(min(hours * _HOUR_MS, now_ms))
    if is_checked and specified < default_ms:
        raise failed("DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT", table=table, hours=hours, least=default_ms / _HOUR_MS)
    return Retention(now_ms - specified, default_ms, specified, is_checked)


def shown_names(partition_columns: Iterable[str]) -> tuple[str, ...]:
    """Return the prefixes of hidden names that VACUUM examines: folders of change data files, and of partitions."""
    return (*_OF_DELTA, *(f"{name}=" for name in partition_columns))


def old_entries(found: pa.RecordBatch, cutoff: int) -> pa.RecordBatch:
    """Return the entries of a listing that VACUUM may delete if the table does not need them.

    These are files last written before the cutoff, and empty folders not modified since.
    """
    is_old = pc.less(found["modification_time"], cutoff)
    is_whole = pc.or_(pc.invert(found["is_folder"]), pc.equal(found["size"], 0))
    return found.filter(pc.and_(is_old, is_whole))
