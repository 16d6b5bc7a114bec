# SPDX-License-Identifier: Apache-2.0
"""The named repairs, and the rules of the check whose findings each one repairs."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from bayou.checks.rule import Reads, Severity
from bayou.checks.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Mapping


class Repair(enum.Enum):
    """A repair. The value is its name.

    Attributes:
        CHECKPOINT: write a checkpoint of the latest version, and delete the one that is wrong.
        HINT: write a checkpoint of the latest version, and `_last_checkpoint` with it.
        CHECKSUM: delete a checksum file. The one of the latest version is rewritten.
        COMPACTION: delete a compacted file. Readers use the commits.
        STATISTICS: compute the statistics of data files again, by a commit.
        FILES: remove files that cannot be read from the log, by a commit. Their rows are lost.
    """

    CHECKPOINT = "write-checkpoint"
    HINT = "write-hint"
    CHECKSUM = "delete-checksum"
    COMPACTION = "delete-compacted-file"
    STATISTICS = "compute-statistics"
    FILES = "remove-unreadable-files"

    @property
    def loses_rows(self) -> bool:
        """Whether rows are lost."""
        return self is Repair.FILES

    @property
    def commits(self) -> bool:
        """Whether the repair is a commit. The others replace or delete files that follow from commits."""
        return self in {Repair.FILES, Repair.STATISTICS}


_OF_READS: Final = {Reads.CHECKPOINT: Repair.CHECKPOINT, Reads.CHECKSUM: Repair.CHECKSUM, Reads.HINT: Repair.HINT}
_OF_RULE: Final = {
    "compaction-range": Repair.COMPACTION,
    "compaction-equals-commits": Repair.COMPACTION,
    "compaction-heads": Repair.COMPACTION,
    "compaction-no-commit-info": Repair.COMPACTION,
    "data-file-exists": Repair.FILES,
    "data-file-size": Repair.FILES,
    "dv-format-exists": Repair.FILES,
    "dv-format-bytes": Repair.FILES,
    "footer-readable": Repair.FILES,
    "footer-num-records": Repair.STATISTICS,
    "footer-null-count": Repair.STATISTICS,
    "footer-min-max": Repair.STATISTICS,
}
# The commits after the version of the checkpoint are gone. Only the checkpoint has its files.
_NONE: Final = {"checkpoint-after-commit"}

REPAIRS: Final[Mapping[str, Repair]] = {
    rule.id: _OF_RULE.get(rule.id) or _OF_READS[rule.reads]
    for rule in RULES
    if rule.severity is not Severity.ODD and rule.id not in _NONE and (rule.id in _OF_RULE or rule.reads in _OF_READS)
}
"""The repair of each rule that has one. What is odd needs no repair: readers and writers are not affected."""

OF_ANY_FILE: Final = frozenset({"log-json", "log-unicode", "log-one-action-per-line", "log-field-type"})
"""Rules about each file of the log. Findings in files that follow from commits have the repair of the file, and others none."""
