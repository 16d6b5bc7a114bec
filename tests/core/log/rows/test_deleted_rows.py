# SPDX-License-Identifier: Apache-2.0
"""Rows that are deleted by deletion vectors: the actions, what is counted, and what is refused."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from bayou.errors import DeletionVectorError, InvalidCommitError, StorageError
from bayou.log.rows.deleted_rows import delete_rows
from bayou.log.rows.vector_writer import VectorFiles
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.deletion_vectors.descriptor import Bitmap, DeletionVectorDescriptor, encode_inline, read_from_file
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add

FEATURES = ("deletionVectors", "rowTracking", "domainMetadata")
NOW = 1_800_000_000_000


def stats(rows, **more):
    return {"numRecords": rows, "minValues": {"id": 0}, "maxValues": {"id": rows - 1}, "nullCount": {"id": 0}, **more}


def table(*files, store=None):
    builder = TableBuilder(store=MemoryStore() if store is None else store)
    builder.create({"id": "long"}, protocol=Protocol(3, 7, FEATURES[:1], FEATURES))
    return builder.commit(*files)


def deleted(builder, rows, **options):
    """Delete rows of some files, by path."""
    snapshot = builder.log().snapshot()
    files = snapshot.files()
    chosen = files.filter(pa.array([path in rows for path in files["path"].to_pylist()]))
    vectors = VectorFiles(builder.store, builder.uri, snapshot.properties)
    bitmaps = [Bitmap.from_positions(rows[path]) for path in chosen["path"].to_pylist()]
    return delete_rows(snapshot, builder.store, chosen, bitmaps, vectors, deletion_timestamp=NOW, **options)


def commit(builder, found):
    actions = [{"remove": each.to_json()} for each in found.removes()] + [{"add": each.to_json()} for each in found.adds()]
    return builder.commit(*actions)


def vectors_of(builder):
    """The rows that are gone, by file."""
    snapshot = builder.log().snapshot()
    found = {}
    for path, vector in zip(*snapshot.files(["path", "deletion_vector"]).to_pydict().values(), strict=True):
        found[path] = rows_of(builder, vector) if vector else []
    return found


def rows_of(builder, vector):
    descriptor = DeletionVectorDescriptor(**vector)
    return read_from_file(builder.store.read(descriptor.relative_path), descriptor).to_list()


def vector_files(builder):
    return [each.path for each in builder.store.list_from("") if each.path.endswith(".bin")]


def test_a_file_that_keeps_rows_is_removed_and_added_with_a_vector():
    given = {"tags": {"a": "b"}, "baseRowId": 40, "defaultRowCommitVersion": 7, "clusteringProvider": "c", "modificationTime": 5}
    builder = table(add("a%20b", stats=stats(10), **given), add("other", stats=stats(10)))
    found = deleted(builder, {"a%20b": [1, 3]})
    (removed,), (added,) = found.removes(), found.adds()
    assert removed.to_json() == {
        "path": "a%20b",
        "deletionTimestamp": NOW,
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": {},
        "size": 100,
        "tags": {"a": "b"},
        "baseRowId": 40,
        "defaultRowCommitVersion": 7,
    }
    document = added.to_json()
    vector = document.pop("deletionVector")
    assert json.loads(document.pop("stats")) == stats(10, tightBounds=False)
    assert document == {"path": "a%20b", "partitionValues": {}, "size": 100, "dataChange": True, **given}
    assert (vector["storageType"], vector["offset"], vector["cardinality"]) == ("u", 1, 2)
    assert vectors_of(commit(builder, found)) == {"a%20b": [1, 3], "other": []}


def test_a_second_vector_holds_the_rows_of_the_first():
    builder = table(add("a", stats=stats(10)))
    commit(builder, deleted(builder, {"a": [1, 3]}))
    first = builder.log().snapshot().files()["deletion_vector"].to_pylist()[0]
    found = deleted(builder, {"a": [3, 9]})
    (removed,) = found.removes()
    assert removed.deletion_vector.path_or_inline_dv == first["path_or_inline_dv"]
    assert vectors_of(commit(builder, found)) == {"a": [1, 3, 9]}
    assert found.metrics()["numDeletedRows"] == 1


def test_a_file_without_live_rows_is_removed():
    builder = table(add("a", stats=stats(4)), add("b", stats=stats(3)))
    commit(builder, deleted(builder, {"a": [0, 2]}))
    found = deleted(builder, {"a": [1, 3], "b": [0, 1, 2]})
    assert found.adds() == []
    assert [(each.path, each.deletion_vector is None) for each in sorted(found.removes(), key=lambda each: each.path)] == [
        ("a", False),
        ("b", True),
    ]
    assert found.vectors.paths == set()
    assert vectors_of(commit(builder, found)) == {}


def test_a_row_beyond_the_end_in_a_vector_is_no_row_that_is_gone():
    builder = table(add("a", stats=stats(4), deletionVector=encode_inline([0, 2**36]).to_json()))
    some, rest = (deleted(builder, {"a": rows}) for rows in ([1, 2], [1, 2, 3]))
    assert [each.path for each in some.adds()] == ["a"]
    assert some.metrics_of_write()["numOutputRows"] == 1
    assert rest.adds() == []


def test_what_the_history_counts():
    builder = table(*(add(name, stats=stats(4)) for name in "abcd"))
    commit(builder, deleted(builder, {"a": [0], "b": [0]}))
    found = deleted(builder, {"a": [1], "b": [1, 2, 3], "c": [1], "d": [0, 1, 2, 3]})
    assert found.metrics() == {
        "numDeletedRows": 9,
        "numRemovedFiles": 2,
        "numRemovedBytes": 200,
        "numDeletionVectorsAdded": 2,
        "numDeletionVectorsRemoved": 2,
        "numDeletionVectorsUpdated": 1,
    }


def test_rows_that_are_gone_already_change_nothing():
    builder = table(add("a", stats=stats(10)), add("b", stats=stats(10)))
    commit(builder, deleted(builder, {"a": [1, 3]}))
    found = deleted(builder, {"a": [3], "b": []})
    assert found.removes() == found.adds() == []
    assert found.vectors.paths == set()


def test_a_file_with_rows_that_are_relied_on_stays_as_it_is():
    builder = table(add("a", stats=stats(10)))
    found = deleted(builder, {"a": []}, needed=[Bitmap.from_positions([4])])
    assert found.removes() == found.adds() == []
    assert found.files["a"].needed.to_list() == [4]


def test_the_vectors_of_a_commit_share_a_file():
    builder = table(*(add(f"f{number}", stats=stats(10)) for number in range(50)))
    found = deleted(builder, {f"f{number}": [number % 10] for number in range(50)})
    assert len(found.vectors.paths) == 1
    assert vectors_of(commit(builder, found)) == {f"f{number}": [number % 10] for number in range(50)}


def test_the_number_of_rows_may_come_from_elsewhere():
    builder = table(add("a"), add("b", stats="{"))
    found = deleted(builder, {"a": [0], "b": [2]}, physical_rows={"a": 2, "b": 5})
    assert [json.loads(each.stats) for each in found.adds()] == [
        {"numRecords": 2, "tightBounds": False},
        {"numRecords": 5, "tightBounds": False},
    ]


@pytest.mark.parametrize("partitioned", [False, True])
def test_statistics_that_a_checkpoint_holds_as_a_struct_are_kept(partitioned):
    builder = TableBuilder(store=MemoryStore())
    configuration = {"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpoint.writeStatsAsStruct": "true"}
    protocol = Protocol(3, 7, FEATURES[:1], FEATURES)
    builder.create({"id": "long", "p": "string"}, configuration=configuration, protocol=protocol, partition_by=["p"] * partitioned)
    values = {"partitionValues": {"p": "x"}} if partitioned else {}
    builder.commit(add("a", stats=stats(10), **values), add("c", stats=stats(5), **values))
    builder.log().checkpoint()
    builder.commit(add("b", stats=stats(4), **values))
    assert builder.log().snapshot().files(["stats"])["stats"].null_count == 0
    found = deleted(builder, {"a": [1], "b": [1]})
    kept = {each.path: json.loads(each.stats) for each in found.adds()}
    assert kept["b"] == stats(4, tightBounds=False)
    assert kept["a"]["numRecords"] == 10
    assert kept["a"]["maxValues"]["id"] == 9
    assert kept["a"]["tightBounds"] is False


@pytest.mark.parametrize(
    ("file", "rows", "error_class"),
    [
        (add("a"), [0], "DELTA_DELETION_VECTOR_MISSING_NUM_RECORDS"),
        (add("a", stats=stats(3)), [3], "DELTA_DELETION_VECTOR_INVALID_ROW_INDEX"),
    ],
)
def test_what_cannot_be_right_is_refused_before_anything_is_written(file, rows, error_class):
    builder = table(file)
    with pytest.raises(InvalidCommitError) as raised:
        deleted(builder, {"a": rows})
    assert raised.value.error_class == error_class
    assert (raised.value.version, raised.value.file) == (1, "a")
    assert vector_files(builder) == []


def test_a_vector_that_is_lost_is_named():
    builder = table(add("a", stats=stats(10)))
    commit(builder, deleted(builder, {"a": [1]}))
    (path,) = vector_files(builder)
    builder.delete(path)
    with pytest.raises(DeletionVectorError, match="deletion_vector_"):
        deleted(builder, {"a": [2]})


def test_what_was_written_is_deleted_where_the_store_fails():
    class Failing(MemoryStore):
        def put_if_absent(self, path, data):
            done = super().put_if_absent(path, data)
            if path.endswith(".bin"):
                raise StorageError("lost the answer")
            return done

    builder = table(add("a", stats=stats(10)), store=Failing())
    with pytest.raises(StorageError):
        deleted(builder, {"a": [2]})
    assert vector_files(builder) == []
