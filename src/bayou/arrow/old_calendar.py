# SPDX-License-Identifier: Apache-2.0
"""Files of older Sparks, which counted days and timestamps in the Julian calendar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_SPARK_VERSION: Final = b"org.apache.spark.version"
_LEGACY_DATES: Final = b"org.apache.spark.legacyDateTime"
_LEGACY_INT96: Final = b"org.apache.spark.legacyINT96"
_FIRST_PROLEPTIC: Final = 3

LEAST_SURE: Final[Mapping[str, int]] = {
    "date": -141_427,
    "timestamp": -2_208_988_800_000_000,
    "timestamp_ntz": -2_208_988_800_000_000,
}
"""The least value of each type that has the same meaning in both calendars.

Spark 2 used the Julian calendar for days before 1582, and the zones' rules for timestamps before 1900. Readers convert them.
"""


def has_old_calendar(footer: pq.FileMetaData) -> bool:
    """Return whether readers convert a file's dates and timestamps, because Spark wrote them in another calendar.

    Source: Spark's `DataSourceUtils.datetimeRebaseSpec`.
    """
    facts = footer.metadata or {}
    version = facts.get(_SPARK_VERSION)
    if version is None:
        return False
    major = version.partition(b".")[0]
    return _LEGACY_DATES in facts or _LEGACY_INT96 in facts or (major.isdigit() and int(major) < _FIRST_PROLEPTIC)
