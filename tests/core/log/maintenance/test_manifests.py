# SPDX-License-Identifier: Apache-2.0
"""Manifests that follow each commit of a table with `delta.compatibility.symlinkFormatManifest.enabled`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.log.operations.test_manifest import FOLDER, VECTOR, manifests

import bayou
from bayou.errors import StorageError, UnsupportedFeatureError
from bayou.log.delta_log import DeltaLog
from bayou.protocol.actions.actions import AddFile, Protocol, RemoveFile
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
from bayou.storage import LocalStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import TableBuilder, add

ENABLED = "delta.compatibility.symlinkFormatManifest.enabled"
VECTORS = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))


def partitioned(root, **configuration):
    fields = {"id": "long", "p": "string", "q": "long"}
    return TableBuilder(root).create(fields, partition_by=["p", "q"], configuration={ENABLED: "true", **configuration})


def file(name, p="a", q="1", **more):
    return AddFile(name, {"p": p, "q": q}, 1, 1, **more)


def commit(root, *actions, log=None, **options):
    with (log or bayou.open(root)).transaction("WRITE") as transaction:
        return transaction.commit(actions, **options)


def puts(store):
    return sorted(path for name, path in store.trace if name == "put" and path.startswith(FOLDER))


def test_the_first_commit_writes_all_manifests_and_later_ones_those_of_their_partitions(tmp_path):
    builder = partitioned(tmp_path)
    builder.commit(add("old", partitionValues={"p": "x", "q": "1"}))  # by a writer that knows no manifests
    commit(tmp_path, file("1"))
    here = f"file:{tmp_path}"
    assert manifests(tmp_path) == {"p=x/q=1": [f"{here}/old"], "p=a/q=1": [f"{here}/1"]}
    store = FaultyStore(LocalStore(tmp_path))
    log = DeltaLog(builder.uri, store)
    commit(tmp_path, file("2"), file("3", p=None), log=log)
    assert puts(store) == [f"{FOLDER}/p=__HIVE_DEFAULT_PARTITION__/q=1/manifest", f"{FOLDER}/p=a/q=1/manifest"]
    assert sorted(manifests(tmp_path)["p=a/q=1"]) == [f"{here}/1", f"{here}/2"]
    assert manifests(tmp_path)["p=__HIVE_DEFAULT_PARTITION__/q=1"] == [f"{here}/3"]


@pytest.mark.parametrize("many", [False, True], ids=["one by one", "as columns"])
@pytest.mark.parametrize("data_change", [False, True])
def test_a_partition_without_files_loses_its_manifest_after_the_others_are_written(tmp_path, many, data_change):
    builder = partitioned(tmp_path)
    commit(tmp_path, file("1"), file("2", p="b"), file("3", p="c"))
    store = FaultyStore(LocalStore(tmp_path))
    log = DeltaLog(builder.uri, store)
    with log.transaction("DELETE") as transaction:
        gone = transaction.files(where=[("p", "==", "b")])
        if many:
            transaction.remove_files(gone, data_change=data_change)
        else:
            values = {"p": "b", "q": "1"}
            transaction.stage(RemoveFile("2", 1, data_change=data_change, extended_file_metadata=True, partition_values=values))
        transaction.commit([file("4", data_change=data_change)])
    assert set(manifests(tmp_path)) == {"p=a/q=1", "p=c/q=1"}
    assert puts(store) == [f"{FOLDER}/p=a/q=1/manifest"]
    names = [name for name, path in store.trace if name in {"put", "delete_many"} and not str(path).startswith("_delta_log")]
    assert names == ["put", "delete_many"]


def test_a_remove_without_partition_values_has_all_manifests_written(tmp_path):
    partitioned(tmp_path)
    commit(tmp_path, file("1"), file("2", p="b"))
    commit(tmp_path, RemoveFile("2", 1))
    assert set(manifests(tmp_path)) == {"p=a/q=1"}


def test_a_table_without_partitions_has_one_manifest_that_is_replaced(tmp_path):
    TableBuilder(tmp_path).create(configuration={ENABLED: "true"})
    commit(tmp_path, AddFile("a", {}, 1, 1))
    commit(tmp_path, AddFile("b", {}, 1, 1))
    assert sorted(manifests(tmp_path)["."]) == [f"file:{tmp_path}/a", f"file:{tmp_path}/b"]
    commit(tmp_path, RemoveFile("a", 1), RemoveFile("b", 1))
    assert manifests(tmp_path) == {".": []}


def test_a_commit_without_files_writes_none_and_the_property_writes_all(tmp_path):
    builder = TableBuilder(tmp_path).create()
    commit(tmp_path, AddFile("a", {}, 1, 1))
    assert not (tmp_path / FOLDER).exists()
    metadata = bayou.open(tmp_path).snapshot().metadata
    commit(tmp_path, replace(metadata, configuration={ENABLED: "true"}))
    assert manifests(tmp_path) == {".": [f"file:{tmp_path}/a"]}
    store = FaultyStore(LocalStore(tmp_path))
    commit(tmp_path, log=DeltaLog(builder.uri, store), may_be_empty=True)
    assert puts(store) == []
    commit(tmp_path, replace(metadata, configuration={}))
    commit(tmp_path, AddFile("b", {}, 1, 1))
    assert manifests(tmp_path) == {".": [f"file:{tmp_path}/a"]}


def test_other_partition_columns_have_all_manifests_written(tmp_path):
    partitioned(tmp_path)
    commit(tmp_path, file("1"))
    with bayou.open(tmp_path).transaction("WRITE") as transaction:
        metadata = transaction.snapshot.metadata
        transaction.remove_files(transaction.files())
        transaction.stage(replace(metadata, partition_columns=("q",)), AddFile("2", {"q": "7"}, 1, 1))
        transaction.commit()
    assert manifests(tmp_path) == {"q=7": [f"file:{tmp_path}/2"]}


def test_a_writer_that_is_late_does_not_leave_the_manifest_of_an_older_version(tmp_path):
    """Another writer commits, and writes its manifest, while this one is about to write the manifest of its own version."""
    builder = partitioned(tmp_path)
    commit(tmp_path, file("1"))
    store = FaultyStore(LocalStore(tmp_path))
    log = DeltaLog(builder.uri, store)
    inner = store.put

    def put(path, data):
        store.put = inner
        commit(tmp_path, file("3"))
        commit(tmp_path, file("4", p="b"))
        inner(path, data)

    store.put = lambda path, data: put(path, data) if path.startswith(FOLDER) else inner(path, data)
    commit(tmp_path, file("2"), log=log)
    here = f"file:{tmp_path}"
    found = {name: sorted(paths) for name, paths in manifests(tmp_path).items()}
    assert found == {"p=a/q=1": [f"{here}/{name}" for name in "123"], "p=b/q=1": [f"{here}/4"]}


@pytest.mark.parametrize("what", ["put", "delete_many"])
def test_manifests_that_cannot_be_written_are_an_error_and_the_commit_remains(tmp_path, what):
    builder = partitioned(tmp_path)
    commit(tmp_path, file("1"), file("2", p="b"))
    log = DeltaLog(builder.uri, FaultyStore(LocalStore(tmp_path), [Fault(what, FOLDER)]))
    committed, heard = [], []
    stop = bayou.add_listener(heard.append)
    transaction = log.transaction("DELETE", on_commit=committed.append)
    transaction.remove_files(transaction.files(where=[("p", "==", "b")]))
    with pytest.raises(StorageError, match="Version 2 was committed") as failed:
        transaction.commit([file("3")])
    stop()
    error = failed.value
    assert (error.error_class, error.sql_state, error.version) == ("DELTA_POST_COMMIT_HOOK_FAILED", "2DKD0", 2)
    assert (error.outcome, error.txn_id) == ("committed", transaction.txn_id)
    assert committed == [2]
    assert transaction.may_be_in_log
    assert [each.hook for each in heard if each.name == "hook_failed"] == ["manifests"]
    assert bayou.open(tmp_path).version() == 2
    bayou.open(tmp_path).generate_manifests()
    assert set(manifests(tmp_path)) == {"p=a/q=1"}


def test_column_mapping_is_refused_before_the_commit(tmp_path):
    mapped = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "0"}
    TableBuilder(tmp_path).create({}, configuration={ENABLED: "true", **mapped}, protocol=Protocol(2, 5))
    with pytest.raises(UnsupportedFeatureError) as refused:
        commit(tmp_path, AddFile("a", {}, 1, 1))
    assert refused.value.error_class == "DELTA_UNSUPPORTED_MANIFEST_GENERATION_WITH_COLUMN_MAPPING"
    assert bayou.open(tmp_path).version() == 0


def test_deletion_vectors_are_refused_before_the_commit(tmp_path):
    builder = TableBuilder(tmp_path).create(protocol=VECTORS, configuration={ENABLED: "true"})
    stats = '{"numRecords":10,"tightBounds":false}'
    vector = DeletionVectorDescriptor(
        storage_type="i", path_or_inline_dv=VECTOR["pathOrInlineDv"], size_in_bytes=40, cardinality=6, offset=None
    )
    builder.commit(add("a"))
    with pytest.raises(UnsupportedFeatureError) as refused:
        commit(tmp_path, AddFile("b", {}, 1, 1, stats=stats, deletion_vector=vector))
    assert refused.value.error_class == "DELTA_UNSUPPORTED_GENERATE_WITH_DELETION_VECTORS"
    builder.commit(add("b", deletionVector=VECTOR, stats={"numRecords": 10, "tightBounds": False}))
    with pytest.raises(UnsupportedFeatureError) as refused:
        commit(tmp_path, AddFile("c", {}, 1, 1))
    assert refused.value.error_class == "DELTA_UNSUPPORTED_GENERATE_WITH_DELETION_VECTORS"
    with bayou.open(tmp_path).transaction("REORG") as transaction:  # what takes the vectors away is no harm
        files = transaction.files()
        transaction.remove_files(files.filter(files["deletion_vector"].is_valid()), data_change=False)
        transaction.commit([AddFile("d", {}, 1, 1, data_change=False)])
    assert sorted(manifests(tmp_path)["."]) == [f"file:{tmp_path}/a", f"file:{tmp_path}/d"]


def test_the_property_is_refused_while_the_table_has_deletion_vectors(tmp_path):
    builder = TableBuilder(tmp_path).create(protocol=VECTORS)
    builder.commit(add("a", deletionVector=VECTOR, stats={"numRecords": 10, "tightBounds": False}))
    metadata = bayou.open(tmp_path).snapshot().metadata
    with pytest.raises(UnsupportedFeatureError) as refused:
        commit(tmp_path, replace(metadata, configuration={ENABLED: "true"}))
    name = "DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED.EXISTING_DELETION_VECTORS_WITH_INCREMENTAL_MANIFEST_GENERATION"
    assert refused.value.error_class == name


def test_vacuum_leaves_manifests_alone(tmp_path):
    partitioned(tmp_path)
    commit(tmp_path, file("1"))
    before = manifests(tmp_path)
    found = bayou.open(tmp_path).vacuum(0, check_retention=False)
    assert (found.files.num_rows, manifests(tmp_path)) == (0, before)
