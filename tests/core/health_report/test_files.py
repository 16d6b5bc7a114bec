# SPDX-License-Identifier: Apache-2.0
"""What OPTIMIZE and REORG would rewrite: the advice is that of their plan."""

from __future__ import annotations

import pytest

import bayou
from bayou.protocol.actions.actions import Protocol
from bayou.testing.table_builder import TableBuilder, add

VECTOR = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 36, "cardinality": 1}
VECTORS = Protocol(3, 7, frozenset({"deletionVectors"}), frozenset({"deletionVectors"}))
STATS = {"numRecords": 100, "minValues": {"id": 1}, "maxValues": {"id": 1}, "nullCount": {"id": 0}}


def health(tmp_path, sizes, **values):
    """Return the health of a table whose target size is 100 bytes."""
    builder = TableBuilder(tmp_path / "table").create(configuration={"delta.targetFileSize": "100"}, protocol=VECTORS)
    builder.commit(*(add(f"f{number}", size=size, stats=STATS, **values) for number, size in enumerate(sizes)))
    return bayou.health(builder.log().table_uri)


@pytest.mark.parametrize(
    ("sizes", "files", "new_files"),
    [
        ([68] * 12, 0, 0),
        ([51, 50, 74], 0, 0),
        ([50, 50, 74], 2, 1),
        ([60, 60, 60, 40, 40], 4, 2),
        ([34] * 12, 12, 6),
        ([80] * 5, 0, 0),
    ],
)
def test_optimize_is_advised_only_if_two_files_fit_into_one(tmp_path, sizes, files, new_files):
    found = health(tmp_path, sizes)
    assert (found.sizes.compaction.files, found.sizes.compaction.new_files) == (files, new_files)
    assert [each.new_files for each in [found.sizes.compaction] if each.files] == [each.files for each in found.advice]


def test_purge_writes_a_file_for_each_bin(tmp_path):
    """A bin has 100 bytes: no two files of 60 bytes share one."""
    found = health(tmp_path, [60] * 4, deletionVector=VECTOR)
    assert (found.deleted.purge.files, found.deleted.purge.new_files) == (4, 4)
    (advice,) = [each for each in found.advice if "PURGE" in each.sql]
    assert (advice.files, advice.effect) == (4, "It writes about 4 files, at most 240 B.")
