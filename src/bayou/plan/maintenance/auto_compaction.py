# SPDX-License-Identifier: Apache-2.0
"""Which partitions auto compaction compacts after a commit: those that it added to and that hold many small files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.maintenance.compaction import CompactionPlan, SizeRules, plan_compaction

if TYPE_CHECKING:
    from bayou.plan.maintenance.compaction import FileFacts

TARGET: Final = 128 << 20
"""The size of new files in bytes where no setting says it, as in delta-spark."""
LEAST_FILES: Final = 50
"""With how many small files a partition is compacted where no setting says it, as in delta-spark."""
_MOST_PARTITIONS: Final = 128


@dataclass(frozen=True, slots=True)
class AutoCompactionRules:
    """When a partition is compacted, and into what.

    Attributes:
        sizes: the sizes of new files, and of files that are small. Deleted rows are left to OPTIMIZE.
        least_files: with how many small files a partition is compacted.
        most_partitions: how many partitions one commit compacts.
    """

    sizes: SizeRules
    least_files: int = LEAST_FILES
    most_partitions: int = _MOST_PARTITIONS

    @classmethod
    def of(cls, target: int | None, small: int | None, least_files: int | None) -> AutoCompactionRules:
        """The rules by settings.

        Args:
            target: the size of new files in bytes; None for the usual one.
            small: below which size in bytes a file is small; None for half the target.
            least_files: with how many small files a partition is compacted; None for the usual number.
        """
        size = TARGET if target is None else target
        rules = SizeRules(size, size // 2 if small is None else small, max_deleted=1.0)
        return cls(rules, LEAST_FILES if least_files is None else least_files)


def plan_auto_compaction(facts: FileFacts, added: pa.Array, rules: AutoCompactionRules) -> CompactionPlan:
    """What auto compaction does after a commit.

    A file that was compacted before does not count: a partition is compacted again when it has got as many new files. The
    partitions with the most small files come first.

    Args:
        added: for each file whether the commit added it.
    """
    small = pc.and_(pc.less(facts.sizes, rules.sizes.small), pc.invert(facts.compacted))
    touched = facts.partitions.filter(added).unique()
    counted = facts.partitions.filter(pc.and_(small, pc.is_in(facts.partitions, value_set=touched))).value_counts()
    table = pa.table({"partition": counted.field("values"), "count": counted.field("counts")})
    table = table.filter(pc.greater_equal(table["count"], max(rules.least_files, 2)))
    table = table.sort_by([("count", "descending"), ("partition", "ascending")]).slice(0, rules.most_partitions)
    chosen = pc.is_in(facts.partitions, value_set=table["partition"].combine_chunks())
    # A vector whose file's rows nobody has counted is no reason to write the file again here.
    known = replace(facts, deleted=pc.if_else(pc.is_valid(facts.rows), facts.deleted, pa.scalar(None, pa.int64())))
    return plan_compaction(known, rules.sizes, chosen)
