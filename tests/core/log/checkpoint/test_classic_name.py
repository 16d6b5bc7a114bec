# SPDX-License-Identifier: Apache-2.0
"""Before a cleanup, clients that know no V2 checkpoints are left one that they find."""

from __future__ import annotations

import json

import pytest
from tests.support.tables.checkpoints import NOW, STATS, V2, V2_POLICY, builder, from_checkpoint_alone, state

from bayou.log.checkpoint.classic_name import write_compatible_checkpoint
from bayou.log.checkpoint.writer import write_checkpoint
from bayou.log.maintenance.log_cleanup import clean_up
from bayou.protocol.actions.file_names import checkpoint_path, commit_path
from bayou.testing.table_builder import add, remove

DAYS = 40 * 86_400_000


def table(**fields):
    made = builder(*(add(f"f{number}", stats=STATS) for number in range(5)), **fields)
    made.commit(
        remove("f0", deletionTimestamp=NOW),
        {"txn": {"appId": "a", "version": 1, "lastUpdated": NOW}},
        {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
    )
    return made


def checkpoint_of(made):
    return made.log().snapshot().segment.checkpoint


def test_the_second_name_holds_what_the_first_one_does():
    made = table(protocol=V2, configuration=V2_POLICY)
    written = write_checkpoint(made.log().snapshot(), now_ms=NOW, sidecar_actions=2)
    before = made.log().snapshot()
    path = write_compatible_checkpoint(made.log().snapshot(), checkpoint_of(made))
    assert path == checkpoint_path(1)
    made.delete(written.files[0])
    made.delete("_delta_log/_last_checkpoint")
    for version in (0, 1):
        made.delete(f"_delta_log/{version:020d}.json")
    after = made.log().snapshot()
    assert after.segment.checkpoint.files[0].path == path
    assert state(after) == state(before)


def test_it_is_written_once():
    made = table(protocol=V2, configuration=V2_POLICY)
    write_checkpoint(made.log().snapshot(), now_ms=NOW)
    assert write_compatible_checkpoint(made.log().snapshot(), checkpoint_of(made))
    assert write_compatible_checkpoint(made.log().snapshot(), checkpoint_of(made)) is None


def test_a_classic_checkpoint_needs_none():
    made = table()
    write_checkpoint(made.log().snapshot(), now_ms=NOW)
    assert write_compatible_checkpoint(made.log().snapshot(), checkpoint_of(made)) is None


def test_a_manifest_that_holds_files_itself_gets_none():
    made = table(protocol=V2)
    snapshot = made.log().snapshot()
    lines = [
        {"checkpointMetadata": {"version": 1}},
        {"protocol": snapshot.protocol.to_json()},
        {"metaData": snapshot.metadata.to_json()},
        *(add(f"f{number}", stats=STATS) for number in range(1, 5)),
    ]
    manifest = f"_delta_log/{1:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    made.store.put(manifest, "".join(f"{json.dumps(line)}\n" for line in lines).encode())
    assert [file.path for file in checkpoint_of(made).files] == [manifest]
    assert sorted(made.log().snapshot().files(["path"])["path"].to_pylist()) == ["f1", "f2", "f3", "f4"]
    before = names(made)
    assert write_compatible_checkpoint(made.log().snapshot(), checkpoint_of(made)) is None
    assert names(made) == before


@pytest.mark.parametrize("policy", [V2_POLICY, {}])
def test_a_cleanup_leaves_one_where_it_deletes(policy):
    made = table(protocol=V2, configuration=policy)
    write_checkpoint(made.log().snapshot(), now_ms=NOW, sidecar_actions=2)
    made.commit(add("late"))
    for version in range(3):
        made.store.set_modification_time(commit_path(version), NOW + version)
    clean_up(made.log().snapshot(), now_ms=NOW)
    assert (checkpoint_path(1) in names(made)) == (not policy)
    deleted = clean_up(made.log().snapshot(), now_ms=2 * NOW + DAYS)
    assert deleted.first_kept == 1
    assert checkpoint_path(1) in names(made)
    assert sorted(made.log().snapshot().files(["path"])["path"].to_pylist()) == ["f1", "f2", "f3", "f4", "late"]


def names(made):
    return {status.path for status in made.store.list_from("_delta_log/")}


def test_the_second_name_alone_is_enough():
    made = table(protocol=V2, configuration=V2_POLICY)
    written = write_checkpoint(made.log().snapshot(), now_ms=NOW, sidecar_actions=2)
    before = made.log().snapshot()
    path = write_compatible_checkpoint(made.log().snapshot(), checkpoint_of(made))
    made.delete(written.files[0])

    class Second:
        files = (path, *written.files[1:])

    assert state(from_checkpoint_alone(made, Second)) == state(before)
