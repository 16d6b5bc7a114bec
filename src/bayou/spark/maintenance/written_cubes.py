# SPDX-License-Identifier: Apache-2.0
"""Cubes of an OPTIMIZE that are written and not yet committed, and what becomes of them if other commits came first.

A cube is left out, and its new files are deleted, if another commit removed one of its old files or deleted rows of one: nobody
knows where those rows are in the new files.
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
    """Cubes that are written and not yet committed; `numbers` has the cube of each old file.

    Attributes:
        cube_of_task: for each task the number of the cube that it wrote a file of.
    """

    cube_of_task: Sequence[int] = ()

    def old_with_moves(self) -> pa.Table:
        """The old files. Their rows are in several new files, and no tag says where."""
        return self.old

    def on_top_of(self, snapshot: Snapshot) -> tuple[WrittenBins, int]:
        """The cubes that are left on top of a later state, and how many are not. What belongs to those is deleted."""
        lost = self._changed(snapshot)
        if not lost:
            return self, 0
        kept: list[AddFile] = []
        unneeded: list[AddFile] = []
        for each in self.added.files:
            (unneeded if self.cube_of_task[task_of(each)] in lost else kept).append(each)
        self.uncommitted.delete([paths.decode(each.path) for each in unneeded])
        stays = pc.invert(pc.is_in(self.numbers, value_set=pa.array(sorted(lost), pa.int32())))
        added = replace(self.added, files=kept, num_bytes=sum(each.size for each in kept))
        return replace(self, added=added, old=self.old.filter(stays), numbers=self.numbers.filter(stays)), len(lost)
