# SPDX-License-Identifier: Apache-2.0
"""In-commit timestamps grow from commit to commit, whoever wins a race, and are noted where they are turned on."""

from __future__ import annotations

from dataclasses import replace

from tests.support.operations.transactions import FILE, SCHEMA, begin, committed, table

from bayou.log.commit.transaction import Transaction
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import AddFile, Metadata, Protocol
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder


def with_timestamps():
    builder = TableBuilder(store=MemoryStore())
    made = Metadata("x", SCHEMA, configuration={"delta.enableInCommitTimestamps": "true"})
    create = Transaction(builder.log(), None, "CREATE TABLE", clock=lambda: 1_500_000_000.0)
    create.commit([Protocol(1, 7, None, ("inCommitTimestamp",)), made])
    assert "delta.inCommitTimestampEnablementVersion" not in builder.log().snapshot().properties
    return builder


def test_in_commit_timestamps_come_first_and_only_ever_grow():
    builder = with_timestamps()
    clock = iter([1_900_000_000.0, 1_600_000_000.0, 1_600_000_000.0, 1_950_000_000.0])
    for name in "abcd":
        now = next(clock)
        begin(builder, clock=lambda now=now: now).commit([AddFile(name, {}, 1, 1)])
    infos = [committed(builder, version)[0]["commitInfo"] for version in range(1, 5)]
    assert all(next(iter(info)) == "inCommitTimestamp" for info in infos)
    stamps = [info["inCommitTimestamp"] for info in infos]
    assert stamps == [1_900_000_000_000, 1_900_000_000_001, 1_900_000_000_002, 1_950_000_000_000]
    assert [entry.timestamp for entry in builder.log().history(4)] == stamps[::-1]


def test_a_lost_race_moves_the_in_commit_timestamp_past_the_winners():
    builder = with_timestamps()
    transaction = begin(builder, clock=lambda: 1_600_000_000.0)
    begin(builder, clock=lambda: 1_900_000_000.0).commit([AddFile("theirs", {}, 1, 1)])
    transaction.commit([FILE])
    assert committed(builder, 2)[0]["commitInfo"]["inCommitTimestamp"] == 1_900_000_000_001


def test_enabling_in_commit_timestamps_notes_since_when_also_after_a_lost_race():
    builder = table()
    snapshot = builder.log().snapshot()
    transaction = begin(builder)
    begin(builder).commit([AddFile("theirs", {}, 1, 1)])
    enabled = replace(snapshot.metadata, configuration={"delta.enableInCommitTimestamps": "true"})
    transaction.commit([Protocol(1, 7, None, ("appendOnly", "invariants", "inCommitTimestamp")), enabled])
    after = builder.log().snapshot()
    info = committed(builder, 2)[0]["commitInfo"]
    assert after.properties["delta.inCommitTimestampEnablementVersion"] == "2"
    assert after.properties["delta.inCommitTimestampEnablementTimestamp"] == str(info["inCommitTimestamp"])
    assert info["inCommitTimestamp"] > snapshot.timestamp
    assert after.timestamp == info["inCommitTimestamp"]


ICT_PROTOCOL = Protocol(1, 7, None, ("appendOnly", "invariants", "inCommitTimestamp"))
ICT = {"delta.enableInCommitTimestamps": "true"}


def set_properties(builder, configuration, *more):
    transaction = begin(builder)
    transaction.commit([*more, replace(transaction.snapshot.metadata, configuration=configuration)])
    return dict(builder.log().snapshot().properties)


def test_metadata_without_the_enablement_keep_those_of_the_table_while_timestamps_stay_on():
    builder = table()
    begin(builder).commit([FILE])
    first = set_properties(builder, ICT, ICT_PROTOCOL)
    assert first["delta.inCommitTimestampEnablementVersion"] == "2"
    assert set_properties(builder, {**ICT, "a": "b"}) == {**first, "a": "b"}
    assert set_properties(builder, {**first, "delta.inCommitTimestampEnablementVersion": "0"}) == first
    assert builder.log().history()[-1].timestamp
    off = set_properties(builder, {"delta.enableInCommitTimestamps": "false"})
    assert off == {"delta.enableInCommitTimestamps": "false"}
    assert set_properties(builder, ICT)["delta.inCommitTimestampEnablementVersion"] == "6"


def test_in_commit_timestamps_under_their_preview_names_are_obeyed():
    preview = Protocol(1, 7, None, ("appendOnly", "invariants", "inCommitTimestamp-preview"))
    builder = table()
    found = set_properties(builder, {"delta.enableInCommitTimestamps-preview": "true"}, preview)
    stamp = committed(builder, 1)[0]["commitInfo"]["inCommitTimestamp"]
    assert found["delta.inCommitTimestampEnablementVersion-preview"] == "1"
    assert found["delta.inCommitTimestampEnablementTimestamp-preview"] == str(stamp)
    begin(builder).commit([FILE])
    last = committed(builder, 2)[0]["commitInfo"]["inCommitTimestamp"]
    assert last > stamp
    builder.store.set_modification_time(file_names.commit_path(2), 5)
    assert [entry.timestamp for entry in builder.log().history(2)] == [last, stamp]
    assert builder.log().snapshot().timestamp == last
