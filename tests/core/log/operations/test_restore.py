# SPDX-License-Identifier: Apache-2.0
"""RESTORE: files, metadata and protocol of an earlier version, on top of the latest one."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest

import bayou
from bayou.errors import (
    AppendOnlyError,
    ConcurrentModificationError,
    DataFileNotFoundError,
    InvalidOptionError,
    TimestampOutOfRangeError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from bayou.log.delta_log import DeltaLog
from bayou.protocol.actions.actions import AddFile, Protocol
from bayou.storage import LocalStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove

VECTOR = {
    "storageType": "i",
    "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    "sizeInBytes": 40,
    "cardinality": 6,
}


def put(builder, *paths):
    """Data files with these paths."""
    for path in paths:
        file = Path(builder.uri.removeprefix("file://"), path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"12345")


@pytest.fixture
def table(tmp_path):
    """Version 1 has a and b, version 2 has b and c, version 3 has c and d."""
    builder = TableBuilder(tmp_path / "t").create({"id": "long", "p": "string"}, partition_by=["p"])
    put(builder, "a", "b", "p=1/c ü", "d")
    part = {"partitionValues": {"p": "1"}, "size": 5}
    builder.commit(add("a", **part), add("b", **part, tags={"k": "v"}, stats={"numRecords": 3}))
    builder.commit(remove("a", **part), add(quote("p=1/c ü"), **part))
    return builder.commit(remove("b", **part), add("d", **part))


def paths(builder, version=None):
    return sorted(bayou.open(builder.uri).snapshot(version).files(["path"])["path"].to_pylist())


def actions(builder, version):
    lines = Path(builder.uri.removeprefix("file://"), "_delta_log", f"{version:020d}.json").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_table_has_the_files_of_that_version_again(table, version):
    before = bayou.open(table.uri).snapshot(version).files()
    result = bayou.open(table.uri).restore(version)
    after = bayou.open(table.uri).snapshot()
    assert (result.version, after.version, result.restored_version) == (4, 4, version)
    assert after.files().sort_by("path").to_pylist() == before.sort_by("path").to_pylist()
    assert paths(table, 3) == sorted([quote("p=1/c ü"), "d"])
    assert all(each[kind]["dataChange"] for each in actions(table, 4) for kind in ("add", "remove") if kind in each)


def test_the_counts_are_in_the_result_and_in_the_history(table):
    result = bayou.open(table.uri).restore(1)
    (entry,) = bayou.open(table.uri).history(1)
    assert (entry.operation, entry.operation_parameters) == ("RESTORE", {"version": "1", "timestamp": None})
    assert entry.operation_metrics == {
        "tableSizeAfterRestore": "10",
        "numOfFilesAfterRestore": "2",
        "numRemovedFiles": "2",
        "numRestoredFiles": "2",
        "removedFilesSize": "10",
        "restoredFilesSize": "10",
    }
    assert {name: str(value) for name, value in result.metrics.items()} == entry.operation_metrics


def test_the_version_that_the_table_has_makes_no_commit(table):
    result = bayou.open(table.uri).restore(3)
    assert (result.version, result.num_files) == (None, 2)
    assert bayou.open(table.uri).version() == 3
    assert bayou.open(table.uri).restore(timestamp="2999-01-01").version is None


def test_a_version_that_holds_the_same_files_is_restored_by_an_empty_commit(table):
    table.commit()
    assert bayou.open(table.uri).restore(3).version == 5


def test_files_that_differ_in_their_vector_are_exchanged(tmp_path):
    builder = TableBuilder(tmp_path / "t").create(protocol=Protocol(3, 7, ("deletionVectors",), ("deletionVectors",)))
    put(builder, "a")
    builder.commit(add("a", stats={"numRecords": 10}))
    builder.commit(remove("a"), add("a", deletionVector=VECTOR, stats={"numRecords": 10, "tightBounds": False}))
    bayou.open(builder.uri).restore(1)
    (file,) = bayou.open(builder.uri).snapshot().files(["path", "deletion_vector"]).to_pylist()
    assert file == {"path": "a", "deletion_vector": None}
    bayou.open(builder.uri).restore(2)
    (file,) = bayou.open(builder.uri).snapshot().files(["path", "deletion_vector"]).to_pylist()
    assert file["deletion_vector"]["cardinality"] == 6


def test_metadata_come_back_and_the_protocol_stays(tmp_path):
    builder = TableBuilder(tmp_path / "t").create({"id": "long"}, configuration={"k": "then"})
    builder.commit({"protocol": Protocol(1, 4).to_json()}, metadata({"id": "long", "more": "string"}, configuration={"k": "now"}))
    bayou.open(builder.uri).restore(0)
    snapshot = bayou.open(builder.uri).snapshot()
    assert (snapshot.schema.names, dict(snapshot.properties)) == (("id",), {"k": "then"})
    assert (snapshot.protocol.min_reader_version, snapshot.protocol.min_writer_version) == (1, 4)


def test_files_that_are_gone_are_named_before_anything_is_committed(table, tmp_path):
    for name in ("a", "b"):
        (tmp_path / "t" / name).unlink()
    with pytest.raises(DataFileNotFoundError, match="2 files of version 1 are gone, for example a, b") as refused:
        bayou.open(table.uri).restore(1)
    assert refused.value.paths == ("a", "b")
    assert bayou.open(table.uri).version() == 3
    put(table, "a")
    result = bayou.open(table.uri).restore(1, ignore_missing_files=True)
    assert (list(result.missing), result.num_restored_files, result.num_files, result.size_bytes) == (["b"], 1, 1, 5)
    assert paths(table) == ["a"]


def test_a_deletion_vector_that_is_gone_is_a_missing_file(tmp_path):
    builder = TableBuilder(tmp_path / "t").create(protocol=Protocol(3, 7, ("deletionVectors",), ("deletionVectors",)))
    put(builder, "a")
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 34, "cardinality": 2}
    builder.commit(add("a", deletionVector=vector, stats={"numRecords": 10, "tightBounds": False}))
    builder.commit(remove("a", deletionVector=vector))
    with pytest.raises(DataFileNotFoundError):
        bayou.open(builder.uri).restore(1)


def test_files_outside_the_table_are_looked_for_where_they_are(tmp_path):
    outside = tmp_path / "other table" / "a"
    outside.parent.mkdir()
    outside.write_bytes(b"12345")
    builder = TableBuilder(tmp_path / "t").create()
    uri = f"file://{quote(str(outside))}"
    builder.commit(add(uri)).commit(remove(uri))
    assert bayou.open(builder.uri).restore(1).num_restored_files == 1
    bayou.open(builder.uri).restore(2)
    outside.unlink()
    with pytest.raises(DataFileNotFoundError):
        bayou.open(builder.uri).restore(3)


def test_each_folder_is_listed_once_and_no_file_is_looked_at_alone(tmp_path):
    builder = TableBuilder(tmp_path / "t").create({"id": "long", "p": "string"}, partition_by=["p"])
    names = [f"p={number % 3}/{number}" for number in range(30)]
    put(builder, *names)
    builder.commit(*(add(name, partitionValues={"p": "x"}) for name in names)).commit(*(remove(name) for name in names))
    store = FaultyStore(LocalStore(tmp_path / "t"))
    DeltaLog(builder.uri, store).restore(1)
    assert sorted(path for name, path in store.trace if name == "list_folders") == ["p=0", "p=1", "p=2"]
    assert not [path for name, path in store.trace if name == "size" and not path.startswith("_delta_log")]


def test_later_batches_of_applications_are_named_and_stay_spent(table):
    table.commit({"txn": {"appId": "load", "version": 7}})
    log = bayou.open(table.uri)
    assert dict(log.restore(1).later_batches) == {"load": 7}
    with log.transaction("WRITE", txn=("load", 7)) as transaction:
        assert transaction.is_replay


@pytest.mark.parametrize("mode", [("none", "name"), ("name", "none")])
def test_a_version_with_another_column_mapping_is_refused(tmp_path, mode):
    def described(mode):
        if mode == "none":
            return metadata({"id": "long"})
        found = metadata({"id": "long"}, configuration={"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "1"})
        schema = json.loads(found["metaData"]["schemaString"])
        schema["fields"][0]["metadata"] = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "id"}
        found["metaData"]["schemaString"] = json.dumps(schema)
        return found

    builder = TableBuilder(tmp_path / "t").create(protocol=Protocol(2, 5))
    builder.commit(described(mode[0])).commit(described(mode[1]))
    with pytest.raises(UnsupportedFeatureError, match="column mapping mode") as refused:
        bayou.open(builder.uri).restore(1)
    assert refused.value.error_class == "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE"


@pytest.mark.parametrize("version", [-1, 4, 99])
def test_a_version_that_is_not_there_is_refused(table, version):
    with pytest.raises(VersionNotFoundError, match="0 to 3 are available") as refused:
        bayou.open(table.uri).restore(version)
    assert refused.value.error_class == "DELTA_CANNOT_RESTORE_TABLE_VERSION"


def test_a_time_before_the_first_version_is_refused(table):
    with pytest.raises(TimestampOutOfRangeError) as refused:
        bayou.open(table.uri).restore(timestamp="1999-01-01")
    assert refused.value.error_class == "DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER"


@pytest.mark.parametrize("given", [{}, {"version": 1, "timestamp": "2024-01-01"}, {"version": "1"}])
def test_one_version_or_time_is_needed(table, given):
    with pytest.raises(InvalidOptionError):
        bayou.open(table.uri).restore(**given)


def test_a_table_that_takes_appends_only_is_not_restored(tmp_path):
    builder = TableBuilder(tmp_path / "t").create(configuration={"delta.appendOnly": "true"})
    put(builder, "a")
    builder.commit(add("a"))
    with pytest.raises(AppendOnlyError):
        bayou.open(builder.uri).restore(0)


def test_a_commit_that_comes_first_is_a_conflict(table, tmp_path):
    store = FaultyStore(LocalStore(tmp_path / "t"))
    put(table, "e")
    store.add(Fault("list_folders", kind="hook", hook=lambda: table.commit(add("e", partitionValues={"p": "1"}))))
    with pytest.raises(ConcurrentModificationError):
        DeltaLog(table.uri, store).restore(1)
    assert paths(table) == sorted([quote("p=1/c ü"), "d", "e"])


def test_numbers_of_identity_columns_do_not_come_twice(tmp_path):
    def described(mark):
        found = metadata({"id": "long", "n": "long"})
        schema = json.loads(found["metaData"]["schemaString"])
        mark = {} if mark is None else {"delta.identity.highWaterMark": mark}
        fixed = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}
        schema["fields"][1]["metadata"] = fixed | mark
        found["metaData"]["schemaString"] = json.dumps(schema)
        return found

    builder = TableBuilder(tmp_path / "t").create(protocol=Protocol(1, 6))
    builder.commit(described(None)).commit(described(5))
    bayou.open(builder.uri).restore(1)
    assert bayou.open(builder.uri).snapshot().schema.field("n").metadata["delta.identity.highWaterMark"] == 5


def test_row_ids_come_back_with_their_files(tmp_path):
    features = ("rowTracking", "domainMetadata")
    builder = TableBuilder(tmp_path / "t").create(
        protocol=Protocol(3, 7, (), features), configuration={"delta.enableRowTracking": "true"}
    )
    put(builder, "a", "b")
    ids = {"baseRowId": 0, "defaultRowCommitVersion": 1, "stats": {"numRecords": 4}}
    domain = {"domainMetadata": {"domain": "delta.rowTracking", "configuration": '{"rowIdHighWaterMark":3}', "removed": False}}
    builder.commit(add("a", **ids), domain)
    builder.commit(remove("a", **{key: ids[key] for key in ("baseRowId", "defaultRowCommitVersion")}))
    bayou.open(builder.uri).restore(1)
    (file,) = bayou.open(builder.uri).snapshot().files(["base_row_id", "default_row_commit_version"]).to_pylist()
    assert file == {"base_row_id": 0, "default_row_commit_version": 1}


def test_a_version_before_the_table_was_replaced_comes_back_under_the_tables_id(tmp_path):
    another = metadata({"x": "string"})
    another["metaData"]["id"] = "another"
    builder = TableBuilder(tmp_path / "t").create({"id": "long"})
    put(builder, "a")
    builder.commit(add("a")).commit(another, remove("a"))
    bayou.open(builder.uri).restore(1)
    snapshot = bayou.open(builder.uri).snapshot()
    assert (snapshot.schema.names, snapshot.metadata.id, snapshot.num_files) == (("id",), "another", 1)


def test_a_file_with_a_vector_and_bounds_that_were_made_tight_again_comes_back(tmp_path):
    builder = TableBuilder(tmp_path / "t").create(protocol=Protocol(3, 7, ("deletionVectors",), ("deletionVectors",)))
    put(builder, "a")
    builder.commit(add("a", deletionVector=VECTOR, stats={"numRecords": 10, "tightBounds": True}))
    builder.commit(remove("a", deletionVector=VECTOR))
    bayou.open(builder.uri).restore(1)
    (file,) = bayou.open(builder.uri).snapshot().files(["stats"]).to_pylist()
    assert json.loads(file["stats"])["tightBounds"] is False


def test_a_downgrade_of_the_protocol_is_made_where_it_is_allowed(tmp_path):
    features = Protocol(3, 7, ("deletionVectors",), ("deletionVectors", "appendOnly", "invariants"))
    builder = TableBuilder(tmp_path / "t").create({"id": "long"}).commit({"protocol": features.to_json()})
    bayou.open(builder.uri).restore(0, allow_protocol_downgrade=True)
    assert bayou.open(builder.uri).snapshot().protocol == Protocol(1, 2)


def test_files_without_rows_are_not_counted(tmp_path):
    builder = TableBuilder(tmp_path / "t").create({"id": "long"})
    put(builder, "a", "empty")
    builder.commit(add("a", stats={"numRecords": 1}), add("empty", stats={"numRecords": 0}))
    builder.commit(remove("a"), remove("empty"))
    result = bayou.open(builder.uri).restore(1)
    snapshot = bayou.open(builder.uri).snapshot()
    assert (result.num_files, result.size_bytes, result.num_restored_files) == (snapshot.num_files, snapshot.size_bytes, 1)


@pytest.mark.parametrize("is_live", [False, True])
def test_no_row_id_comes_twice_after_row_tracking_was_dropped(tmp_path, is_live):
    def mark(*, removed):
        return {"domainMetadata": {"domain": "delta.rowTracking", "configuration": '{"rowIdHighWaterMark":9}', "removed": removed}}

    on = {
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-1",
    }
    tracked = Protocol(1, 7, None, ("rowTracking", "domainMetadata"))
    builder = TableBuilder(tmp_path / "t").create({"id": "long"}, protocol=tracked, configuration=on)
    put(builder, "a", "b")
    builder.commit(add("a", stats={"numRecords": 10}, baseRowId=0, defaultRowCommitVersion=1), mark(removed=False))
    builder.commit(metadata({"id": "long"}), add("a", stats={"numRecords": 10}, dataChange=False))
    builder.commit({"protocol": Protocol(1, 7, None, ("domainMetadata",)).to_json()}, mark(removed=True))
    if not is_live:
        builder.commit(remove("a"))
    log = bayou.open(builder.uri)
    log.restore(1)
    with log.transaction("WRITE") as transaction:
        transaction.commit([AddFile.from_json(add("b", stats={"numRecords": 10})["add"])])
    ids = {row["path"]: row["base_row_id"] for row in log.snapshot().files(["path", "base_row_id"]).to_pylist()}
    assert ids == ({"a": None, "b": 0} if is_live else {"a": 0, "b": 10})
    assert log.snapshot().properties["delta.enableRowTracking"] == ("false" if is_live else "true")


@pytest.mark.parametrize("again", [False, True])
def test_a_version_with_in_commit_timestamps_does_not_promise_them_of_versions_without(tmp_path, again):
    def described(since=None):
        more = {} if since is None else {"delta.inCommitTimestampEnablementVersion": "4"}
        more |= {} if since is None else {"delta.inCommitTimestampEnablementTimestamp": str(since)}
        return metadata({"id": "long"}, configuration={"delta.enableInCommitTimestamps": "true", **more})

    builder = TableBuilder(tmp_path / "t")
    protocol = Protocol(1, 7, None, ("inCommitTimestamp",)).to_json()
    builder.commit({"protocol": protocol}, described(), info={"inCommitTimestamp": 1000})
    builder.commit(info={"inCommitTimestamp": 2000})
    builder.commit(metadata({"id": "long"})).commit()
    if again:
        builder.commit(described(3000), info={"inCommitTimestamp": 3000})
    bayou.open(builder.uri).restore(1)
    log = bayou.open(builder.uri)
    listing, times = log.commit_times(log.snapshot())
    assert all(times.of(version) for version in listing.commits)


@pytest.mark.parametrize("other", ["removes a file that stays", "moves a file that stays", "metadata"])
def test_commits_meanwhile_that_change_what_is_restored_are_conflicts(table, tmp_path, other):
    part = {"partitionValues": {"p": "1"}, "dataChange": False}
    actions = {
        "removes a file that stays": [remove("d")],
        "moves a file that stays": [remove("d", **part), add("d2", **part)],
        "metadata": [metadata({"id": "long", "p": "string", "z": "string"}, partition_by=["p"])],
    }[other]
    store = FaultyStore(LocalStore(tmp_path / "t"))
    store.add(Fault("list_folders", kind="hook", hook=lambda: table.commit(*actions)))
    with pytest.raises(ConcurrentModificationError):
        DeltaLog(table.uri, store).restore(2)


def test_a_file_that_came_meanwhile_is_a_conflict_though_the_version_holds_the_same_files(table, tmp_path):
    put(table, "e")
    table.commit()
    store = FaultyStore(LocalStore(tmp_path / "t"))
    append = Fault("put_if_absent", r"5\.json$", "hook", hook=lambda: table.commit(add("e", partitionValues={"p": "1"})))
    store.add(append)
    with pytest.raises(ConcurrentModificationError):
        DeltaLog(table.uri, store).restore(3)
    assert table.log().version() == 5


def test_a_vacuum_meanwhile_is_no_conflict(table, tmp_path):
    store = FaultyStore(LocalStore(tmp_path / "t"))
    store.add(Fault("list_folders", kind="hook", hook=lambda: bayou.open(table.uri).vacuum()))
    DeltaLog(table.uri, store).restore(1)
    assert paths(table) == ["a", "b"]


@pytest.mark.parametrize("moment", ["START", "END"])
def test_files_that_a_vacuum_deletes_after_they_were_looked_for_are_missed(table, tmp_path, moment):
    def note(when):
        with bayou.open(table.uri).transaction(f"VACUUM {when}") as transaction:
            transaction.commit(may_be_empty=True)

    def vacuum():
        (tmp_path / "t" / "a").unlink()
        note(moment)

    if moment == "END":
        note("START")
    version = table.log().version()
    store = FaultyStore(LocalStore(tmp_path / "t"), [Fault("put_if_absent", r"\d{20}\.json$", "hook", hook=vacuum)])
    with pytest.raises(DataFileNotFoundError):
        DeltaLog(table.uri, store).restore(1)
    assert table.log().version() == version + 1


def test_the_version_is_read_once(table, tmp_path):
    log = DeltaLog(table.uri, FaultyStore(LocalStore(tmp_path / "t")))
    log.update()
    log.store.reset()
    log.restore(1, dry_run=True)
    assert log.store.count("read", r"00000000000000000001\.json$") == 1


def test_files_that_are_gone_are_sampled_in_the_text_and_all_in_the_facts(table, tmp_path):
    names = [f"more-{number}" for number in range(7)]
    table.commit(*(add(name, partitionValues={"p": "1"}) for name in names)).commit(*(remove(name) for name in names))
    with pytest.raises(DataFileNotFoundError, match=r"7 files of version 4 are gone.* and 2 more") as refused:
        bayou.open(table.uri).restore(4)
    assert refused.value.paths == tuple(names)
