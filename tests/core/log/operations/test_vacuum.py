# SPDX-License-Identifier: Apache-2.0
"""VACUUM: what it deletes, what it spares, and what it notes in the log."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest
from tests.core.log.operations.vacuumed_tables import (
    DAY,
    HOUR,
    VECTOR,
    VECTOR_FILE,
    age,
    commit,
    left,
    partitioned,
    put,
    removed,
    run,
)

import bayou
from bayou.errors import InvalidOptionError, TableNotFoundError, TimeTravelError, UnsupportedFeatureError
from bayou.log import events
from bayou.log.delta_log import DeltaLog
from bayou.log.operations.maintained import writable_snapshot
from bayou.log.operations.vacuum import INFO_PATH, VacuumRequest, vacuum
from bayou.log.operations.vacuum_files import Paths
from bayou.protocol.actions.actions import Protocol
from bayou.storage import LocalStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import TableBuilder, add, metadata


@pytest.fixture
def table(tmp_path):
    return partitioned(tmp_path)


def test_old_files_that_the_table_does_not_need_are_deleted(table):
    for path in ("p=1/live", "p=1/removed-long-ago", "p=1/removed-lately", "p=1/of-no-commit", "a/b/c/of-no-commit"):
        put(table, path)
    put(table, "p=1/young-of-no-commit", days=1)
    table.commit(add("p=1/live", partitionValues={"p": "1"}), removed("p=1/removed-long-ago", 8), removed("p=1/removed-lately", 6))
    result = run(table)
    assert left(table) == {"p=1/live", "p=1/removed-lately", "p=1/young-of-no-commit", "a/b/c/"}
    assert (result.deleted, result.size_bytes, dict(result.failed)) == (3, 15, {})
    assert sorted(result.files["path"].to_pylist()) == ["a/b/c/of-no-commit", "p=1/of-no-commit", "p=1/removed-long-ago"]


@pytest.mark.parametrize("folder", ["p=1", "p=7/q=2", "some/folder"])
def test_a_folder_of_a_table_is_refused_by_the_tables_name(table, folder):
    put(table, "p=1/live")
    with pytest.raises(TableNotFoundError, match=f"base path [(]{re.escape(table.uri)}[)]") as refused:
        bayou.open(f"{table.uri}/{folder}").vacuum()
    assert refused.value.error_class == "DELTA_UNSUPPORTED_VACUUM_SPECIFIC_PARTITION"
    assert left(table) == {"p=1/live"}


def test_a_path_without_a_table_is_not_found(tmp_path):
    with pytest.raises(TableNotFoundError) as refused:
        bayou.open(tmp_path / "nothing").vacuum()
    assert refused.value.error_class == "PATH_NOT_FOUND"


def test_a_dry_run_says_the_same_and_does_nothing(table):
    put(table, "a")
    version = bayou.open(table.uri).version()
    result = run(table, dry_run=True)
    assert (result.dry_run, result.files["path"].to_pylist(), result.deleted) == (True, ["a"], 0)
    assert left(table) == {"a"}
    assert bayou.open(table.uri).version() == version
    assert not Path(table.uri.removeprefix("file://"), INFO_PATH).exists()


def test_hidden_names_are_left_alone_at_every_depth_but_for_folders_of_the_table(tmp_path):
    table = TableBuilder(tmp_path / "t").create({"id": "long", "_p": "string"}, partition_by=["_p"])
    hidden = ["_a", ".b", "_checkpoints/c", "x/_temporary/d", "x/.e", "_delta_log/_sidecars/f", "metadata/_g"]
    shown = ["_p=1/h", "_change_data/i", "_delta_index/j", "metadata/k"]
    for path in [*hidden, *shown]:
        put(table, path)
    run(table)
    assert {path for path in hidden if (tmp_path / "t" / path).exists()} == set(hidden)
    assert not [path for path in shown if (tmp_path / "t" / path).exists()]


def test_a_folder_goes_where_it_is_empty_and_was_not_touched(table, tmp_path):
    for name, days in (("old", 30), ("young", 1)):
        (tmp_path / "t" / name).mkdir()
        age(tmp_path / "t" / name, days)
    put(table, "full/a")
    age(tmp_path / "t" / "full", 30)
    result = run(table)
    assert left(table) == {"young/", "full/"}  # `full` was touched when its file was deleted
    assert result.num_folders == 4
    age(tmp_path / "t" / "full", 30)
    run(table)
    assert left(table) == {"young/"}


@pytest.mark.parametrize("spelling", ["{}", "./{}", "{root}/{}", "file://{root}/{}", "file:{root}/x/../{}", "FILE:///{root}//{}"])
def test_every_spelling_of_a_path_is_the_same_file(table, tmp_path, spelling):
    names = ["p=a b/ü", "p=%3A/x", "p=x/%2F y"]
    for name in names:
        put(table, name)
    put(table, "gone")
    table.commit(
        *(add(spelling.format(quote(name), root=quote(str(tmp_path / "t"))), partitionValues={"p": "1"}) for name in names)
    )
    run(table)
    assert left(table) == set(names)


def test_a_table_that_is_opened_through_a_link_keeps_files_that_the_log_names_by_their_place(table, tmp_path):
    put(table, "p=1/a")
    put(table, "gone")
    table.commit(add(f"file://{tmp_path}/t/p=1/a", partitionValues={"p": "1"}))
    (tmp_path / "link").symlink_to(tmp_path / "t")
    bayou.open(tmp_path / "link").vacuum()
    assert left(table) == {"p=1/a"}


@pytest.mark.parametrize("is_absolute", [False, True])
def test_deletion_vectors_of_live_and_of_recently_removed_files_are_kept(tmp_path, is_absolute):
    features = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
    table = TableBuilder(tmp_path / "t").create({"id": "long"}, protocol=features)
    vector = {**VECTOR, "storageType": "p", "pathOrInlineDv": f"file://{tmp_path}/t/{VECTOR_FILE}"} if is_absolute else VECTOR
    for path in ("live", VECTOR_FILE, "ab/deletion_vector_00000000-0000-0000-0000-000000000000.bin"):
        put(table, path)
    table.commit(add("live", deletionVector=vector, stats={"numRecords": 10}))
    run(table)
    assert left(table) == {"live", VECTOR_FILE}
    commit(table, removed("live", 6, deletionVector=vector))
    run(table)
    assert left(table) == {"live", VECTOR_FILE}


def test_versions_to_keep_keep_their_files(table):
    for path in ("a", "b", "c"):
        put(table, path)
    for path in ("a", "b"):
        commit(table, add(path, partitionValues={"p": "1"}), days=20)
    commit(table, removed("a", 19), days=19)
    commit(table, removed("b", 18), days=18)
    run(table, keep_versions=[1])
    assert left(table) == {"a"}


def test_hours_that_are_given_count_both_ways(table):
    for path, days in (("half", 0.5), ("two", 2), ("ten", 10)):
        put(table, path, days=days)
    result = run(table, retention_hours=24 * 9.5)
    assert result.files["path"].to_pylist() == ["ten"]
    with pytest.raises(InvalidOptionError, match="168 hours") as refused:
        run(table, retention_hours=12.6)
    assert refused.value.error_class == "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT"
    run(table, retention_hours=12.6, check_retention=False)
    assert left(table) == {"half"}
    run(table, retention_hours=11.5, check_retention=False)
    assert left(table) == set()


@pytest.mark.parametrize("hours", [-1, -0.001, float("nan")])
def test_negative_hours_are_refused(table, hours):
    with pytest.raises(InvalidOptionError) as refused:
        run(table, retention_hours=hours, check_retention=False)
    assert refused.value.error_class == "DELTA_VACUUM_RETENTION_PERIOD_NEGATIVE"


def test_hours_are_ignored_where_the_session_wants_delta_sparks_rule(table):
    put(table, "a", days=2)
    put(table, "b", days=8)
    log = bayou.open(table.uri)
    vacuum(log, VacuumRequest(24.0, check_retention=False, ignores_hours=True))
    assert left(table) == {"a"}
    vacuum(log, VacuumRequest(0, check_retention=False, ignores_hours=True))
    assert left(table) == set()


def test_more_hours_than_the_property_keep_what_was_removed_within_them(table):
    put(table, "removed")
    commit(table, add("removed", partitionValues={"p": "1"}), days=40)
    commit(table, removed("removed", 10), days=10)
    table.checkpoint()
    run(table, retention_hours=24 * 11)
    assert left(table) == {"removed"}
    run(table, retention_hours=24 * 9)
    assert left(table) == set()


def test_more_hours_than_the_log_reaches_back_are_refused(table):
    for version in range(3):
        commit(table, add(f"{version}", partitionValues={"p": "1"}), days=20 - version)
    table.checkpoint()
    folder = Path(table.uri.removeprefix("file://"), "_delta_log")
    for version in range(2):
        (folder / f"{version:020d}.json").unlink()
    put(table, "x", days=50)
    with pytest.raises(TimeTravelError, match="reaches back only to version 2"):
        run(table, retention_hours=24 * 30)
    assert left(table) == {"x"}
    run(table, retention_hours=24 * 10)
    assert left(table) == set()


def test_the_run_is_noted_in_the_log(table):
    put(table, "a")
    run(table, retention_hours=200)
    end, start = bayou.open(table.uri).history(2)
    assert (start.operation, end.operation) == ("VACUUM START", "VACUUM END")
    assert start.operation_parameters == {
        "retentionCheckEnabled": "true",
        "defaultRetentionMillis": str(7 * DAY),
        "specifiedRetentionMillis": str(200 * HOUR),
    }
    assert start.operation_metrics == {"numFilesToDelete": "1", "sizeOfDataToDelete": "5"}
    assert end.operation_parameters == {"status": "COMPLETED"}
    assert end.operation_metrics == {"numDeletedFiles": "1", "numVacuumedDirectories": "1"}


def test_a_file_that_a_commit_adds_meanwhile_stays(table, tmp_path):
    put(table, "added-meanwhile")
    put(table, "gone")
    log = DeltaLog(table.uri, FaultyStore(LocalStore(tmp_path / "t")))
    other = Fault("list_folders", kind="hook", hook=lambda: table.commit(add("added-meanwhile", partitionValues={"p": "1"})))
    log.store.add(other)
    vacuum(log, VacuumRequest())
    assert left(table) == {"added-meanwhile"}


def test_a_run_that_fails_is_noted_and_the_next_one_finishes_it(table, tmp_path):
    for name in ("a", "b"):
        put(table, name)
    log = DeltaLog(table.uri, FaultyStore(LocalStore(tmp_path / "t"), [Fault("delete_many")]))
    with pytest.raises(OSError, match="planned"):
        vacuum(log, VacuumRequest())
    assert bayou.open(table.uri).history(1)[0].operation_parameters == {"status": "FAILED"}
    assert left(table) == {"a", "b"}
    run(table)
    assert left(table) == set()


def test_listeners_hear_of_it(table):
    put(table, "a")
    heard = []
    remove_listener = bayou.add_listener(heard.append)
    try:
        run(table)
    finally:
        remove_listener()
    (event,) = [each for each in heard if isinstance(each, events.VacuumEvent)]
    assert (event.kind, event.num_deleted, event.num_failed, event.size_bytes) == ("full", 1, 0, 5)


def test_a_table_that_bayou_cannot_write_is_left_alone(tmp_path):
    table = TableBuilder(tmp_path / "t").create(protocol=Protocol(3, 7, (), ("somethingNew",)))
    put(table, "a")
    with pytest.raises(UnsupportedFeatureError, match="somethingNew"):
        run(table)
    assert left(table) == {"a"}


def test_a_table_of_a_catalog_is_refused_by_class(tmp_path):
    features = ("catalogManaged", "inCommitTimestamp", "vacuumProtocolCheck")
    table = TableBuilder(tmp_path / "t").create(protocol=Protocol(3, 7, ("catalogManaged", "vacuumProtocolCheck"), features))
    put(table, "a")
    with pytest.raises(UnsupportedFeatureError) as refused:
        run(table)
    assert refused.value.error_class == "DELTA_UNSUPPORTED_CATALOG_MANAGED_TABLE_OPERATION"
    assert left(table) == {"a"}


@pytest.mark.parametrize("options", [{"retention_hours": "7"}, {"kind": "FULL"}, {"dry_run": 1}, {"keep_versions": ["1"]}])
def test_arguments_of_other_types_are_refused(table, options):
    with pytest.raises(InvalidOptionError):
        run(table, **options)


def linked(place, target):
    """A link that is as old as the files of these tests."""
    place.symlink_to(target)
    os.utime(place, (1, 1), follow_symlinks=False)


def test_a_partition_that_is_a_link_to_another_disk_stays(table, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "a").write_bytes(b"x")
    linked(tmp_path / "t" / "p=1", tmp_path / "disk")
    table.commit(add("p=1/a", partitionValues={"p": "1"}))
    run(table)
    assert (tmp_path / "t" / "p=1" / "a").exists()


@pytest.mark.parametrize("path", ["p=1/a", "file://{root}/p=1/a", "file://{link}/p=1/a", "file://{link}/disk/a"])
def test_files_that_the_log_names_through_a_link_are_kept(table, tmp_path, path):
    put(table, "disk/a")
    linked(tmp_path / "t" / "p=1", tmp_path / "t" / "disk")
    linked(tmp_path / "link", tmp_path / "t")
    table.commit(add(path.format(root=tmp_path / "t", link=tmp_path / "link"), partitionValues={"p": "1"}))
    run(table)
    assert (tmp_path / "t" / "disk" / "a").exists()


def test_no_file_is_deleted_by_a_path_that_leads_through_a_link(table, tmp_path):
    put(table, "p=1/a")
    linked(tmp_path / "t" / "alias", tmp_path / "t" / "p=1")
    linked(tmp_path / "t" / "log", tmp_path / "t" / "_delta_log")
    table.commit(add("p=1/a", partitionValues={"p": "1"}))
    found = [str(tmp_path / "t" / "alias" / "a"), str(tmp_path / "t" / "log" / f"{0:020d}.json")]
    run(table, inventory=pa.table({"path": found, "length": [5, 5], "isDir": [False] * 2, "modificationTime": [0, 0]}))
    assert all(Path(path).exists() for path in found)


def test_another_table_in_the_folder_is_left_alone(table, tmp_path):
    inner = TableBuilder(tmp_path / "t" / "inner").create({"id": "long"})
    for path in ("inner/x", "inner/q=1/x", "y"):
        put(table, path)
    inner.commit(add("x"))
    root = str(tmp_path / "t")
    found = [f"{root}/inner/x", f"{root}/inner/_delta_log"]
    run(table, inventory=pa.table({"path": found, "length": [5, 0], "isDir": [False, True], "modificationTime": [0, 0]}))
    assert (tmp_path / "t" / "inner" / "x").exists()
    run(table)
    assert {path for path in left(table) if "_delta_log" not in path} == {"inner/x", "inner/q=1/x"}


@pytest.mark.parametrize(
    ("root", "path"),
    [
        ("s3a://b/t", "s3://b/t/p=1/a"),
        ("s3://b", "s3a://b/p=1/a"),
        ("hdfs://nn:8020/t", "/t/p=1/a"),
        ("hdfs://nn:8020/t", "hdfs:/t/p=1/a"),
        ("abfss://c@h/t", "abfs://c@h/t/p=1/a"),
    ],
)
def test_other_names_of_a_tables_store_are_the_same_place(root, path):
    found = Paths(root)
    found.add(pa.chunked_array([[path]], pa.string()))
    assert "p=1/a" in found.values().to_pylist()


def test_where_case_makes_no_difference_a_file_is_known_by_any_case(table, tmp_path):
    (tmp_path / "t" / "_DELTA_LOG").mkdir()  # as if the file system did not tell cases apart
    for path in ("p=a/u\u0308", "p=a/x"):
        put(table, path)
    table.commit(add("p=A/%C3%BC", partitionValues={"p": "A"}))
    run(table)
    assert left(table) == {"_DELTA_LOG/", "p=a/u\u0308"}


def test_a_name_that_is_no_unicode_is_left_alone(table, tmp_path):
    put(table, "a")
    (tmp_path / "t" / os.fsdecode(b"bad\xff")).write_bytes(b"")
    run(table)
    assert left(table) == {os.fsdecode(b"bad\xff")}


def test_more_hours_than_the_log_reaches_back_without_a_gap_are_refused(table, tmp_path):
    put(table, "removed")
    commit(table, add("removed", partitionValues={"p": "1"}), days=40)
    commit(table, removed("removed", 10), days=10)
    commit(table, add("x", partitionValues={"p": "1"}), days=9)
    table.checkpoint()
    for version in (1, 2):
        (tmp_path / "t" / "_delta_log" / f"{version:020d}.json").unlink()
    with pytest.raises(TimeTravelError, match="reaches back only to version 3"):
        run(table, retention_hours=24 * 30)
    assert left(table) == {"removed"}


def test_a_run_never_notes_less_than_an_earlier_one(table, tmp_path):
    commit(table, add("a", partitionValues={"p": "1"}), days=30)
    commit(table, removed("a", 1), days=1)
    run(table, retention_hours=0, check_retention=False)
    before = (tmp_path / "t" / INFO_PATH).read_text()
    run(table)
    run(table, kind="lite")
    assert (tmp_path / "t" / INFO_PATH).read_text() == before


def test_a_run_notes_no_version_that_it_did_not_look_at(table, tmp_path, monkeypatch):
    def snapshot_before_a_commit(*arguments):
        found = writable_snapshot(*arguments)
        commit(table, removed("a", 1), days=1)
        return found

    commit(table, add("a", partitionValues={"p": "1"}), days=30)
    monkeypatch.setattr("bayou.log.operations.vacuum.writable_snapshot", snapshot_before_a_commit)
    run(table, retention_hours=0, check_retention=False)
    assert json.loads((tmp_path / "t" / INFO_PATH).read_text()) == {"latestCommitVersionOutsideOfRetentionWindow": 1}


def test_a_change_file_that_a_commit_adds_meanwhile_stays(table, tmp_path):
    put(table, "_change_data/c")
    change = {"cdc": {"path": "_change_data/c", "partitionValues": {"p": "1"}, "size": 5, "dataChange": False}}
    log = DeltaLog(table.uri, FaultyStore(LocalStore(tmp_path / "t")))
    log.store.add(Fault("list_folders", kind="hook", hook=lambda: table.commit(change)))
    vacuum(log, VacuumRequest())
    assert left(table) == {"_change_data/c"}


@pytest.mark.parametrize("commits", [0, 5])
def test_a_table_that_takes_the_place_of_this_one_meanwhile_keeps_its_files(table, tmp_path, commits):
    def replace():
        shutil.rmtree(tmp_path / "t" / "_delta_log")
        another = metadata({"id": "long"})
        another["metaData"]["id"] = "another"
        builder = TableBuilder(tmp_path / "t").commit({"protocol": Protocol(1, 2).to_json()}, another).commit(add("x"))
        for _ in range(commits):
            builder.commit()

    put(table, "x")
    put(table, "gone")
    table.commit().commit()
    log = DeltaLog(table.uri, FaultyStore(LocalStore(tmp_path / "t")))
    log.store.add(Fault("list_folders", kind="hook", hook=replace))
    vacuum(log, VacuumRequest())
    assert left(table) == {"x"}


def test_the_cutoff_is_found_in_the_log_without_reading_every_commit(tmp_path):
    table = TableBuilder(tmp_path / "t")
    on = metadata({"id": "long"}, configuration={"delta.enableInCommitTimestamps": "true"})
    table.commit({"protocol": Protocol(1, 7, None, ("inCommitTimestamp",)).to_json()}, on, info={"inCommitTimestamp": 1000})
    for number in range(100):
        table.commit(info={"inCommitTimestamp": 2000 + number})
    table.checkpoint()
    store = FaultyStore(LocalStore(tmp_path / "t"))
    vacuum(DeltaLog(table.uri, store), VacuumRequest())
    assert sum(name in {"read", "open"} for name, _ in store.trace) < 40
