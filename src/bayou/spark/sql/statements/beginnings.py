# SPDX-License-Identifier: Apache-2.0
"""By which words the statements begin that Spark's parser does not know.

`bayou.Beginnings` looks at the first words of each text that Spark refuses. Python is asked for a text only if it begins by one of
these. Importing this loads nothing else.
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
        *("COPY INTO", "CREATE BLOOMFILTER", "DROP BLOOMFILTER", "FSCK REPAIR TABLE", "UNDROP TABLE", "APPLY CHANGES"),
    ),
    "scripts, which cannot have these statements": ("BEGIN",),
}
"""The beginnings of each kind of statement. A word behind `...` has to follow somewhere.

Words behind `EXPLAIN`, behind `WITH ... INSERT` and behind the label of a script count as the first ones.
"""


def as_lines() -> str:
    """All beginnings, as `bayou.Beginnings` takes them."""
    return "\n".join(dict.fromkeys(each for kind in BEGINNINGS.values() for each in kind))
