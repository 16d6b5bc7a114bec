# SPDX-License-Identifier: Apache-2.0
"""How many requests an operation on a log makes; docs/object_stores.md has the table."""

from __future__ import annotations

import json

import pytest

import bayou
from bayou.protocol.actions.actions import AddFile
from bayou.protocol.types.schema import StructField, StructType

FILE = {"size": 1, "modification_time": 1, "stats": '{"numRecords":1}'}


@pytest.fixture
def log(place, options, store):
    """A table of six versions: a checkpoint, and two commits after it."""
    found = bayou.open(place, storage_options=options)
    found.create(StructType((StructField("id", "long"),)), properties={"delta.checkpointInterval": "3"})
    for number in range(5):
        append(found, number)
    assert found.snapshot().segment.checkpoint.version == 3
    return found


def append(log, number):
    log.transaction("WRITE").commit([AddFile(f"f{number}", {}, **FILE)], new_files=True)


def test_open(log, place, options, server):
    server.counts()
    assert bayou.open(place, storage_options=options).snapshot().num_files == 5
    # The hint, the checkpoint, and the commits after it.
    assert server.counts() == {"LIST": 1, "GET": 1 + 1 + 2}


def test_folders_beside_the_versions_cost_nothing(log, store, place, options, server):
    store.put("_delta_log/_sidecars/a.parquet", b"x")
    store.put("_delta_log/_staged_commits/0.json", b"x")
    log.update()
    server.counts()
    log.update()
    assert server.counts() == {"LIST": 1}
    bayou.open(place, storage_options=options).snapshot()
    assert server.counts()["LIST"] == 1


def test_a_newer_version(log, place, options, server):
    other = bayou.open(place, storage_options=options)
    for number in (20, 21):
        append(other, number)
    server.counts()
    assert log.update().version == 7
    assert server.counts() == {"LIST": 1, "GET": 2}
    log.update()
    assert server.counts() == {"LIST": 1}


def test_a_commit(log, server):
    append(log, 20)  # version 6 has a checkpoint
    server.counts()
    append(log, 21)
    assert server.counts() == {"LIST": 2, "PUT": 2}


def test_the_first_commit_after_opening(log, place, options, server):
    append(log, 20)  # version 6 has a checkpoint, and the checksum is made with it
    opened = bayou.open(place, storage_options=options)
    opened.snapshot()
    server.counts()
    append(opened, 21)
    # The checksum of the version before is read once.
    assert server.counts() == {"LIST": 2, "PUT": 2, "GET": 1}


def test_history(log, place, options, server):
    server.counts()
    assert len(log.history()) == 6
    assert server.counts() == {"LIST": 2, "GET": 6}


def test_the_lite_vacuum_lists_the_log_alone(log, store, server):
    for number in range(5):
        store.put(f"f{number}", b"x")
    with log.transaction("DELETE") as transaction:
        transaction.remove_files(transaction.files().slice(0, 5))
        transaction.commit()
    server.requests.clear()
    log.vacuum(0, kind="lite", check_retention=False)
    assert all("_delta_log" in each.path for each in server.requests if each.kind == "LIST")
    assert [each.path for each in server.requests if each.method == "POST"] == ["/bucket?delete"]


def test_a_hint_makes_a_long_log_as_cheap_as_a_short_one(log, store, place, options, server):
    """As delta-io/delta#7456: a log with thousands of objects before the checkpoint."""
    for name in range(1200):
        store.put(f"_delta_log/{0:020d}.x{name}", b"")
    assert json.loads(store.read("_delta_log/_last_checkpoint"))["version"] == 3
    server.counts()
    bayou.open(place, storage_options=options).snapshot()
    assert server.counts() == {"LIST": 1, "GET": 1 + 1 + 2}
