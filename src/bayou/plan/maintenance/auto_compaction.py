# SPDX-License-Identifier: Apache-2.0
"""The partitions that auto compaction compacts after a commit: those with new files and many small files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.maintenance.compaction import CompactionPlan, SizeRules, plan_compaction

if TYPE_CHECKING:
    from bayou.plan.maintenance.compaction import FileFacts

TARGET: Final = 128 << 20
"""The default size of new files in bytes, as in delta-spark."""
LEAST_FILES: Final = 50
"""The default number of small files from which a partition is compacted, as in delta-spark."""
_MOST_PARTITIONS: Final = 128


@dataclass(frozen=True, slots=True)
class AutoCompactionRules:
    """When a partition is compacted, and into which sizes.

    Attributes:
        sizes: the sizes of new files, and of files that are small. OPTIMIZE handles deleted rows instead.
        least_files: the number of small files from which a partition is compacted.
        most_partitions: how many partitions one commit compacts at most.
    """

    sizes: SizeRules
    least_files: int = LEAST_FILES
    most_partitions: int = _MOST_PARTITIONS

    @classmethod
    def of(cls, target: int | None, small: int | None, least_files: int | None) -> AutoCompactionRules:
        """Return the rules for some settings, with defaults for None; the default for `small` is half the target."""
        size = TARGET if target is None else target
        rules = SizeRules(size, size // 2 if small is None else small, max_deleted=1.0)
        return cls(rules, LEAST_FILES if least_files is None else least_files)


def plan_auto_compaction(facts: FileFacts, added: pa.Array, rules: AutoCompactionRules) -> CompactionPlan:
    """Plan the compaction after a commit that added some of the files.

    Files that were compacted before do not count, so a partition is compacted again when it has enough new files. The partitions
    with the most small files come first.
    """
    small = pc.and_(pc.less(facts.sizes, rules.sizes.small), pc.invert(facts.compacted))
    touched = facts.partitions.filter(added).unique()
    counted = facts.partitions.filter(pc.and_(small, pc.is_in(facts.partitions, value_set=touched))).value_counts()
    table = pa.table({"partition": counted.field("values"), "count": counted.field("counts")})
    table = table.filter(pc.greater_equal(table["count"], max(rules.least_files, 2)))
    table = table.sort_by([("count", "descending"), ("partition", "ascending")]).slice(0, rules.most_partitions)
    chosen = pc.is_in(facts.partitions, value_set=table["partition"].combine_chunks())
    # A deletion vector of a file with an unknown row count is not a reason to rewrite the file here.
    known = replace(facts, deleted=pc.if_else(pc.is_valid(facts.rows), facts.deleted, pa.scalar(None, pa.int64())))
    return plan_compaction(known, rules.sizes, chosen)
