# SPDX-License-Identifier: Apache-2.0
"""The facts of a table's files that the plans of OPTIMIZE depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.maintenance.compaction import COMPACTED_TAG, TARGET_TAG, FileFacts, partition_numbers
from bayou.plan.statistics.members import one_array

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot


def file_facts(snapshot: Snapshot) -> FileFacts:
    """Return the facts of the files of a snapshot, in the order of `files()`."""
    files = snapshot.files(["path", "size", "tags", "deletion_vector"])
    tags = one_array(files["tags"])
    target = pc.map_lookup(tags, pa.scalar(TARGET_TAG), "first")
    # Another engine may have stored something else in the tag, which counts as absent.
    is_number = pc.fill_null(pc.match_substring_regex(target, r"^\d{1,18}$"), False)
    return FileFacts(
        paths=one_array(files["path"]),
        sizes=one_array(files["size"]),
        partitions=partition_numbers(list(snapshot.partitions().values()), files.num_rows),
        rows=snapshot.live_rows(pa.array(range(files.num_rows), pa.int64())),
        deleted=one_array(pc.struct_field(files["deletion_vector"], "cardinality").cast(pa.int64())),
        targets=pc.if_else(is_number, target, pa.scalar(None, pa.string())).cast(pa.int64()),
        compacted=pc.is_valid(pc.map_lookup(tags, pa.scalar(COMPACTED_TAG), "first")),
    )
