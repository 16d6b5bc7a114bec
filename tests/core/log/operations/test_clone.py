# SPDX-License-Identifier: Apache-2.0
"""CLONE: tables that begin with the files of another one, by reference or as copies."""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path
from urllib.parse import quote

import pytest

import bayou
from bayou.errors import (
    ConcurrentModificationError,
    DataFileNotFoundError,
    InvalidCommitError,
    InvalidOptionError,
    StorageError,
    TableExistsError,
    UnsupportedFeatureError,
)
from bayou.log.delta_log import DeltaLog
from bayou.log.operations.clone import CloneRequest, clone
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
from bayou.storage import LocalStore, MemoryStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove

NAMES = ("a", "p=1/b ü%", "p=x y/c")
ROWS = {"partitionValues": {"p": "1"}, "size": 5, "stats": {"numRecords": 10}}
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 1,
    "sizeInBytes": 40,
    "cardinality": 2,
}
VECTOR_FILE = DeletionVectorDescriptor.from_json(VECTOR).relative_path


def put(root, *paths, data=b"12345"):
    for path in paths:
        file = Path(root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


@pytest.fixture
def source(tmp_path):
    """Version 0 has three files, version 1 has a vector for one of them, version 2 lacks another."""
    root = tmp_path / "the sourcé"
    builder = TableBuilder(root)
    put(root, *NAMES)
    put(root, VECTOR_FILE, data=b"vector")
    protocol = Protocol(3, 7, ("deletionVectors",), ("deletionVectors", "appendOnly", "invariants")).to_json()
    configuration = {"delta.enableDeletionVectors": "true", "own": "value"}
    builder.commit(
        {"protocol": protocol},
        metadata({"id": "long", "p": "string"}, partition_by=["p"], configuration=configuration),
        *(add(quote(name), **ROWS) for name in NAMES),
        {"txn": {"appId": "app", "version": 3}},
    )
    builder.commit(remove("a", **ROWS), add("a", **ROWS, deletionVector=VECTOR))
    builder.commit(remove(quote(NAMES[1]), **ROWS))
    return builder


def root_of(builder):
    return Path(builder.uri.removeprefix("file://"))


def files(path, version=None):
    found = bayou.open(path).snapshot(version).files().to_pylist()
    return {each["path"]: each for each in found}


def there(path):
    return {str(each.relative_to(path)) for each in Path(path).rglob("*") if each.is_file() and "_delta_log" not in each.parts}


def test_a_shallow_clone_refers_to_the_files_of_its_source(source, tmp_path):
    target = tmp_path / "clone"
    result = bayou.open(source.uri).clone(target, shallow=True)
    assert (result.version, result.source_version, result.num_source_files, result.num_copied_files) == (0, 2, 2, 0)
    root = f"file:{str(root_of(source)).replace(' ', '%20')}"
    found = files(target)
    assert set(found) == {f"{root}/a", f"{root}/p=x%20y/c"}
    vector = found[f"{root}/a"]["deletion_vector"]
    assert (vector["storage_type"], vector["path_or_inline_dv"]) == ("p", f"{root}/{VECTOR_FILE}")
    assert there(target) == set()
    assert {"a", VECTOR_FILE} <= there(root_of(source))


@pytest.mark.parametrize("shallow", [True, False], ids=["shallow", "deep"])
def test_a_clone_is_a_table_of_its_own(source, tmp_path, shallow):
    target = tmp_path / "clone"
    log = bayou.open(source.uri)
    log.clone(target, shallow=shallow, properties={"delta.appendOnly": "true", "mine": "x"})
    clone, origin = bayou.open(target).snapshot(), log.snapshot()
    assert clone.metadata.id != origin.metadata.id
    assert dict(clone.properties) == {**origin.properties, "delta.appendOnly": "true", "mine": "x"}
    assert (clone.schema, clone.partition_columns) == (origin.schema, origin.partition_columns)
    assert clone.protocol == origin.protocol
    assert clone.transactions == {}
    (entry,) = bayou.open(target).history()
    assert entry.operation == "CLONE"
    assert dict(entry.operation_parameters) == {"source": f"delta.`file:{root_of(source)}`", "sourceVersion": "2"}
    assert entry.operation_metrics == {
        "sourceTableSize": "10",
        "sourceNumOfFiles": "2",
        "numRemovedFiles": "0",
        "numCopiedFiles": "0" if shallow else "2",
        "removedFilesSize": "0",
        "copiedFilesSize": "0" if shallow else "10",
    }


def test_a_deep_clone_has_the_bytes_under_the_same_names(source, tmp_path):
    target = tmp_path / "clone"
    bayou.open(source.uri).clone(target)
    origin = root_of(source)
    assert there(target) == {"a", "p=x y/c", VECTOR_FILE}
    assert all((target / name).read_bytes() == (origin / name).read_bytes() for name in there(target))
    assert files(target)["a"]["deletion_vector"] == files(source.uri)["a"]["deletion_vector"]


@pytest.mark.parametrize("wanted", [{"version": 0}, {"timestamp": "version 0"}], ids=["version", "timestamp"])
def test_an_earlier_version_is_cloned(source, tmp_path, wanted):
    log = bayou.open(source.uri)
    if "timestamp" in wanted:
        first = log.committed_at(log.snapshot(0))
        for number in (1, 2):
            name = root_of(source) / "_delta_log" / f"{number:020d}.json"
            os.utime(name, (first / 1000 + number * 60, first / 1000 + number * 60))
        log = bayou.open(source.uri)
        wanted = {"timestamp": dt.datetime.fromtimestamp(first / 1000 + 30, dt.timezone.utc)}
    result = log.clone(tmp_path / "clone", **wanted)
    assert result.source_version == 0
    assert there(tmp_path / "clone") == set(NAMES)


def test_a_deep_clone_that_is_made_again_copies_what_is_new_and_removes_what_is_gone(source, tmp_path):
    target = tmp_path / "clone"
    log = bayou.open(source.uri)
    log.clone(target)
    table_id = bayou.open(target).snapshot().metadata.id
    put(root_of(source), "d")
    source.commit(remove("a", **ROWS, deletionVector=VECTOR), add("d", **ROWS))
    result = log.clone(target, replace=True)
    assert (result.version, result.num_copied_files, result.num_removed_files) == (1, 1, 1)
    assert set(files(target)) == {"d", "p=x%20y/c"}
    assert bayou.open(target).snapshot().metadata.id == table_id
    assert set(files(target, 0)) == {"a", "p=x%20y/c"}
    assert log.clone(target, replace=True).version is None
    assert bayou.open(target).version() == 1


def test_a_file_that_got_a_vector_is_not_copied_again(source, tmp_path):
    target = tmp_path / "clone"
    log = bayou.open(source.uri)
    log.clone(target, version=0)
    assert VECTOR_FILE not in there(target)
    result = log.clone(target, version=1, replace=True)
    assert (result.num_copied_files, result.num_removed_files) == (0, 1)
    assert VECTOR_FILE in there(target)
    assert files(target)["a"]["deletion_vector"]["cardinality"] == 2


def test_no_file_of_the_target_is_replaced(source, tmp_path):
    """The target had another table, whose earlier versions keep their files."""
    target = TableBuilder(tmp_path / "clone").create({"id": "long"})
    put(tmp_path / "clone", "a", data=b"of the other table")
    put(tmp_path / "clone", VECTOR_FILE, data=b"its vector")
    target.commit(add("a", size=18))
    log = bayou.open(source.uri)
    result = log.clone(target.uri, replace=True)
    assert (result.num_removed_files, result.num_copied_files) == (1, 2)
    assert (tmp_path / "clone" / "a").read_bytes() == b"of the other table"
    assert (tmp_path / "clone" / VECTOR_FILE).read_bytes() == b"its vector"
    snapshot = bayou.open(target.uri).snapshot()
    for file in snapshot.files().to_pylist():
        assert (tmp_path / "clone" / file["path"].replace("%20", " ")).read_bytes() == b"12345"
        if file["deletion_vector"] is not None:
            path = DeletionVectorDescriptor(**file["deletion_vector"]).relative_path
            assert (tmp_path / "clone" / path).read_bytes() == b"vector"


def test_clones_of_a_shallow_clone(source, tmp_path):
    bayou.open(source.uri).clone(tmp_path / "shallow", shallow=True)
    log = bayou.open(tmp_path / "shallow")
    log.clone(tmp_path / "again", shallow=True)
    assert set(files(tmp_path / "again")) == set(files(tmp_path / "shallow"))
    log.clone(tmp_path / "deep")
    found = files(tmp_path / "deep")
    assert {path.rpartition("/")[2] for path in found} == {"a", "c"}
    assert len(there(tmp_path / "deep")) == 3
    (vector,) = (each["deletion_vector"] for each in found.values() if each["deletion_vector"])
    assert vector["storage_type"] == "u"
    again = log.clone(tmp_path / "deep", replace=True)
    assert again.version is None


def test_a_clone_onto_itself_does_nothing_and_onto_an_earlier_version_of_itself_is_refused(source):
    log = bayou.open(source.uri)
    assert log.clone(source.uri, replace=True).version is None
    assert log.version() == 2
    with pytest.raises(UnsupportedFeatureError, match="restoreToVersion") as caught:
        log.clone(source.uri, version=0, replace=True)
    assert caught.value.error_class == "DELTA_UNSUPPORTED_CLONE_REPLACE_SAME_TABLE"
    with pytest.raises(UnsupportedFeatureError, match="setProperties"):
        log.clone(source.uri, properties={"mine": "x"}, replace=True)


@pytest.mark.parametrize("shallow", [True, False], ids=["shallow", "deep"])
def test_a_table_that_is_there_is_replaced_only_if_that_is_asked_for(source, tmp_path, shallow):
    log = bayou.open(source.uri)
    log.clone(tmp_path / "clone", shallow=shallow)
    with pytest.raises(TableExistsError) as caught:
        log.clone(tmp_path / "clone", shallow=shallow)
    assert caught.value.error_class == "TABLE_OR_VIEW_ALREADY_EXISTS"
    if shallow:
        with pytest.raises(UnsupportedFeatureError) as refused:
            log.clone(tmp_path / "clone", shallow=True, replace=True)
        assert refused.value.error_class == "DELTA_UNSUPPORTED_NON_EMPTY_CLONE"
    put(tmp_path / "other", "x")
    with pytest.raises(TableExistsError) as occupied:
        log.clone(tmp_path / "other", shallow=shallow)
    assert occupied.value.error_class == "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
    assert "convert" not in str(occupied.value)
    assert there(tmp_path / "other") == {"x"}


def test_an_empty_table_is_replaced_by_a_shallow_clone(source, tmp_path):
    TableBuilder(tmp_path / "clone").create({"z": "string"})
    before = bayou.open(tmp_path / "clone").snapshot()
    result = bayou.open(source.uri).clone(tmp_path / "clone", shallow=True, replace=True)
    after = bayou.open(tmp_path / "clone").snapshot()
    assert result.version == after.version == 1
    assert after.metadata.id == before.metadata.id
    assert after.num_files == 2


def test_a_clone_cannot_change_the_column_mapping_mode(source, tmp_path):
    log = bayou.open(source.uri)
    with pytest.raises(UnsupportedFeatureError) as caught:
        log.clone(tmp_path / "clone", properties={"delta.columnMapping.mode": "name"})
    assert caught.value.error_class == "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE"
    for properties in ({"delta.nonsense": "x"}, {"delta.constraints.c": "id > 0"}):
        with pytest.raises(InvalidOptionError):
            log.clone(tmp_path / "clone", properties=properties)
    assert not (tmp_path / "clone").exists()


@pytest.mark.parametrize("counted", [True, False])
def test_rows_get_new_ids_and_files_without_a_count_are_refused(tmp_path, counted):
    root = tmp_path / "source"
    builder = TableBuilder(root)
    put(root, "a", "b")
    configuration = {
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version-col-1",
    }
    stats = {"stats": {"numRecords": 10}} if counted else {}
    builder.commit(
        {"protocol": Protocol(1, 7, None, ("rowTracking", "domainMetadata")).to_json()},
        metadata({"id": "long"}, configuration=configuration),
        add("a", size=5, baseRowId=100, defaultRowCommitVersion=0, **stats),
        add("b", size=5, baseRowId=50, defaultRowCommitVersion=0, **stats),
        {"domainMetadata": {"domain": "delta.rowTracking", "configuration": '{"rowIdHighWaterMark":109}', "removed": False}},
    )
    log = bayou.open(builder.uri)
    if not counted:
        with pytest.raises(InvalidCommitError, match="computeStatistics") as caught:
            log.clone(tmp_path / "clone")
        assert caught.value.error_class == "DELTA_CLONE_WITH_ROW_TRACKING_WITHOUT_STATS"
        assert not (tmp_path / "clone").exists()
        return
    log.clone(tmp_path / "clone")
    clone = bayou.open(tmp_path / "clone").snapshot()
    assert sorted(clone.files(["base_row_id"])["base_row_id"].to_pylist()) == [0, 10]
    names = {key: value for key, value in clone.properties.items() if "materialized" in key}
    assert len(names) == 2
    assert not set(names.values()) & set(configuration.values())


def test_clustering_columns_are_taken_over(tmp_path):
    root = tmp_path / "source"
    put(root, "a")
    domain = {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["id"]]}', "removed": False}
    TableBuilder(root).commit(
        {"protocol": Protocol(1, 7, None, ("clustering", "domainMetadata")).to_json()},
        metadata({"id": "long"}),
        add("a", size=5, stats={"numRecords": 1}),
        {"domainMetadata": domain},
    )
    bayou.open(root).clone(tmp_path / "clone", shallow=True)
    found = bayou.open(tmp_path / "clone").snapshot().domain_metadata["delta.clustering"]
    assert json.loads(found.configuration)["clusteringColumns"] == [["id"]]


def test_a_file_that_is_gone_stops_a_deep_clone_and_nothing_is_left_behind(source, tmp_path):
    (root_of(source) / "p=x y" / "c").unlink()
    with pytest.raises(DataFileNotFoundError, match="version 2 of the source"):
        bayou.open(source.uri).clone(tmp_path / "clone")
    assert there(tmp_path / "clone") == set()
    assert not (tmp_path / "clone" / "_delta_log").exists()


@pytest.mark.parametrize("kind", ["created", "written"])
def test_another_writer_that_comes_first_wins_and_no_copies_are_left(source, tmp_path, kind):
    other = TableBuilder(tmp_path / "clone")
    if kind == "written":
        other.create()
    store = FaultyStore(LocalStore(tmp_path / "clone"))
    happens = other.create if kind == "created" else (lambda: other.commit(add("x")))
    store.add(Fault("sync", kind="hook", hook=happens))
    log = bayou.open(source.uri)
    with pytest.raises(ConcurrentModificationError):
        clone(log.snapshot(), log, DeltaLog(f"file://{tmp_path}/clone", store), CloneRequest(replace=True))
    assert there(tmp_path / "clone") == set()


def test_copies_stay_where_the_commit_may_be_in_the_log(source, tmp_path):
    store = FaultyStore(LocalStore(tmp_path / "clone"), [Fault("put_if_absent", "json", kind="after", times=None)])
    store.add(Fault("read", "json", times=None))
    log = bayou.open(source.uri)
    with pytest.raises(StorageError) as caught:
        clone(log.snapshot(), log, DeltaLog(f"file://{tmp_path}/clone", store), CloneRequest())
    assert caught.value.outcome == "unknown"
    assert bayou.open(tmp_path / "clone").snapshot().num_files == 2
    assert len(there(tmp_path / "clone")) == 3


def test_a_dry_run_says_what_would_be_done(source, tmp_path):
    result = bayou.open(source.uri).clone(tmp_path / "clone", dry_run=True)
    assert (result.version, result.num_copied_files, result.copied_bytes) == (None, 2, 10)
    assert not (tmp_path / "clone").exists()


def test_a_clone_in_another_store(source):
    """Copies between stores pass through memory."""
    target = DeltaLog("memory://x/clone", MemoryStore())
    log = bayou.open(source.uri)
    clone(log.snapshot(), log, target, CloneRequest())
    assert target.store.read("a") == b"12345"
    assert target.snapshot().num_files == 2
