# SPDX-License-Identifier: Apache-2.0
"""List the first words of the statements that Spark's parser does not know.

`bayou.Beginnings` compares them with each statement that Spark's parser refuses, and calls Python only if one matches. This module
imports nothing of bayou, so that it loads fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

BEGINNINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "Vacuum": ("VACUUM",),
    "Optimize": ("OPTIMIZE",),
    "Reorg": ("REORG TABLE",),
    "Restore": ("RESTORE TABLE", "RESTORE"),
    "Generate": ("GENERATE",),
    "Fsck": ("FSCK REPAIR TABLE",),
    "ComputeStatistics": ("ANALYZE TABLE ... DELTA",),
    "DescribeHistory": ("DESCRIBE HISTORY", "DESC HISTORY"),
    "DescribeDetail": ("DESCRIBE DETAIL", "DESC DETAIL"),
    "Convert": ("CONVERT TO DELTA",),
    "AlterTable": ("ALTER TABLE ... FEATURE", "ALTER TABLE ... SYNC", "ALTER TABLE ... CLUSTER"),
    "Clone": ("CREATE OR REPLACE TABLE ... CLONE", "CREATE TABLE ... CLONE", "REPLACE TABLE ... CLONE"),
    "constraints before Spark 4.1": ("ALTER TABLE ... CONSTRAINT",),
    "clustered tables before Spark 4.0": (
        "CREATE OR REPLACE TABLE ... CLUSTER",
        "CREATE TABLE ... CLUSTER",
        "REPLACE TABLE ... CLUSTER",
    ),
    "INSERT ... REPLACE before Spark 4.2": ("INSERT ... REPLACE",),
    "statements that are refused by name": (
        *("COPY INTO", "CREATE BLOOMFILTER", "DROP BLOOMFILTER", "UNDROP TABLE", "APPLY CHANGES"),
    ),
    "scripts, which cannot have these statements": ("BEGIN",),
}
"""The beginnings of each kind of statement. The word after `...` must occur anywhere in the rest of the statement.

`bayou.Beginnings` skips `EXPLAIN`, the queries of `WITH ... INSERT` and the label of a script before it compares.
"""


def as_lines() -> str:
    """Return all beginnings in the form that `bayou.Beginnings` expects."""
    return "\n".join(dict.fromkeys(each for kind in BEGINNINGS.values() for each in kind))
