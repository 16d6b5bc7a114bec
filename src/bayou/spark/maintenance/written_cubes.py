# SPDX-License-Identifier: Apache-2.0
"""Written but uncommitted cubes of an OPTIMIZE, and their adaptation to winning commits.

A cube is left out, and its new files are deleted, if another commit removed or deleted rows of one of its old files: the
positions of those rows in the new files are not known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.protocol.actions import paths
from bayou.spark.maintenance.written_bins import WrittenBins, task_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.actions.actions import AddFile


@dataclass(frozen=True, slots=True)
class WrittenCubes(WrittenBins):
    """Cubes that are written and not yet committed.

    `numbers` has the cube of each old file, and `cube_of_task` the cube that each task wrote a file of.
    """

    cube_of_task: Sequence[int] = ()

    def old_with_moves(self) -> pa.Table:
        """Return the old files without tags: their rows are in several new files, at unknown positions."""
        return self.old

    def rebased_on(self, snapshot: Snapshot) -> tuple[WrittenBins, int]:
        """Return the cubes that are valid for a later snapshot, and the number of the others, whose files are deleted."""
        lost = self._changed(snapshot)
        if not lost:
            return self, 0
        kept: list[AddFile] = []
        unneeded: list[AddFile] = []
        for add in self.added.files:
            (unneeded if self.cube_of_task[task_of(add)] in lost else kept).append(add)
        self.uncommitted.delete([paths.decode(add.path) for add in unneeded])
        stays = pc.invert(pc.is_in(self.numbers, value_set=pa.array(sorted(lost), pa.int32())))
        added = replace(self.added, files=kept, num_bytes=sum(add.size for add in kept))
        return replace(self, added=added, old=self.old.filter(stays), numbers=self.numbers.filter(stays)), len(lost)
