# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bayou.log.delta_log import open_log
from bayou.log.maintenance.feature_history import first_commit, history_uses, truncate_log
from bayou.log.maintenance.log_cleanup import expired_files
from bayou.log.rows.vector_tombstones import vector_tombstones
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.deletion_vectors.descriptor import encode_inline
from bayou.testing.table_builder import TableBuilder, add, metadata, remove

VECTORS = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
ON_DISK = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 34, "cardinality": 2}
HOUR = 3_600_000


def aged(path, hours, *, up_to):
    """Makes the commits and checkpoints of some versions older."""
    for file in Path(path, "_delta_log").iterdir():
        if file.name[:20].isdecimal() and int(file.name[:20]) <= up_to:
            when = time.time() - hours * 3600 - up_to + int(file.name[:20])
            os.utime(file, (when, when))


def test_history_is_truncated_at_the_newest_checkpoint_that_is_old_enough(tmp_path):
    builder = TableBuilder(str(tmp_path)).create(configuration={"delta.enableExpiredLogCleanup": "false"})
    builder.commit(add("a.parquet")).commit(add("b.parquet")).checkpoint().commit(add("c.parquet"))
    log = open_log(str(tmp_path))
    truncate_log(log.update())
    assert first_commit(log) == 0
    aged(tmp_path, 25, up_to=3)
    assert not expired_files(log.update(), now_ms=int(time.time() * 1000)).files
    truncate_log(log.update())
    assert first_commit(log) == 2
    assert log.update().num_files == 3
    assert sorted(log.snapshot(2).files(["path"])["path"].to_pylist()) == ["a.parquet", "b.parquet"]


def test_the_cutoff_is_a_full_minute(tmp_path):
    TableBuilder(str(tmp_path)).create()
    found = expired_files(open_log(str(tmp_path)).update(), now_ms=90_061_234, retention_ms=HOUR)
    assert found.cutoff_ms == 86_460_000


def test_the_retention_is_the_tables(tmp_path):
    key = "delta.dropFeatureTruncateHistory.retentionDuration"
    builder = TableBuilder(str(tmp_path)).create(configuration={key: "interval 48 hours"})
    builder.commit(add("a.parquet")).checkpoint()
    aged(tmp_path, 47, up_to=1)
    log = open_log(str(tmp_path))
    truncate_log(log.update())
    assert first_commit(log) == 0
    aged(tmp_path, 49, up_to=1)
    truncate_log(log.update())
    assert first_commit(log) == 1


def test_protected_history_goes_all_at_once_or_not_at_all(tmp_path):
    protocol = Protocol(1, 7, None, ("checkpointProtection",))
    configuration = {"delta.requireCheckpointProtectionBeforeVersion": "3"}
    builder = TableBuilder(str(tmp_path)).create(protocol=protocol, configuration=configuration)
    builder.commit(add("a.parquet")).commit(add("b.parquet")).checkpoint().commit(add("c.parquet")).checkpoint()
    builder.commit(add("d.parquet"))
    log = open_log(str(tmp_path))
    aged(tmp_path, 25, up_to=2)
    truncate_log(log.update())
    assert first_commit(log) == 0
    aged(tmp_path, 25, up_to=4)
    truncate_log(log.update())
    assert first_commit(log) == 3


@pytest.mark.parametrize(
    ("feature", "actions"),
    [
        ("columnMapping", [metadata(configuration={"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"})]),
        ("deletionVectors", [metadata(configuration={"delta.enableDeletionVectors": "true"})]),
        ("deletionVectors", [add("a.parquet", stats={"numRecords": 3}, deletionVector=encode_inline([1]).to_json())]),
        ("deletionVectors", [remove("a.parquet", deletionVector=encode_inline([1]).to_json())]),
        ("v2Checkpoint", [metadata(configuration={"delta.checkpointPolicy": "v2"})]),
    ],
)
def test_a_commit_that_uses_a_feature_is_found(tmp_path, feature, actions):
    builder = TableBuilder(str(tmp_path)).create(protocol=VECTORS)
    log = open_log(str(tmp_path))
    builder.commit(add("x.parquet"))
    assert not history_uses(log, feature)
    builder.commit(*actions)
    builder.commit(metadata())
    assert history_uses(log, feature)


def test_the_oldest_checkpoint_counts_without_the_files_that_were_removed_before(tmp_path):
    marked = {"stats": {"numRecords": 3}, "deletionVector": encode_inline([1]).to_json()}
    builder = TableBuilder(str(tmp_path)).create(protocol=VECTORS).commit(add("a.parquet", **marked)).checkpoint()
    builder.commit(remove("a.parquet", deletionVector=marked["deletionVector"])).checkpoint().commit(add("b.parquet"))
    log = open_log(str(tmp_path))
    builder.delete("_delta_log/00000000000000000000.json").delete("_delta_log/00000000000000000001.json")
    assert history_uses(log, "deletionVectors")
    builder.delete("_delta_log/00000000000000000001.checkpoint.parquet").delete("_delta_log/00000000000000000002.json")
    assert not history_uses(log, "deletionVectors")


def test_a_checkpoint_of_the_newer_kind_is_a_trace_of_its_feature(tmp_path):
    protocol = Protocol(3, 7, ("v2Checkpoint",), ("v2Checkpoint",))
    builder = TableBuilder(str(tmp_path)).create(protocol=protocol).commit(add("a.parquet"))
    log = open_log(str(tmp_path))
    assert not history_uses(log, "v2Checkpoint")
    builder.checkpoint("v2-json")
    assert history_uses(log, "v2Checkpoint")


def test_each_vector_file_of_a_removed_file_is_named_once(tmp_path):
    inline = encode_inline([1]).to_json()
    elsewhere = {**ON_DISK, "storageType": "p", "pathOrInlineDv": "file:/else where/deletion_vector_1.bin"}
    builder = TableBuilder(str(tmp_path)).create(protocol=VECTORS)
    now = int(time.time() * 1000)
    gone = [("a", ON_DISK), ("b", {**ON_DISK, "offset": 40}), ("c", inline), ("d", elsewhere), ("e", None)]
    builder.commit(*(remove(f"{name}.parquet", deletionTimestamp=now, **({"deletionVector": v} if v else {})) for name, v in gone))
    log = open_log(str(tmp_path))
    found = vector_tombstones(log.update(), now)
    relative = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert [each.path for each in found] == [relative, "file:/else%20where/deletion_vector_1.bin"]
    assert not any(each.data_change or each.deletion_vector for each in found)
    builder.commit(*({"remove": each.to_json()} for each in found))
    assert vector_tombstones(log.update(), now) == []
