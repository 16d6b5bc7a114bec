# SPDX-License-Identifier: Apache-2.0
"""Values that old or odd writers leave out: the table reads, can be written to, and its checkpoints say the same."""

from __future__ import annotations

import copy
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.cases import in_one_test

from bayou.errors import CorruptLogError
from bayou.log.events import HookFailedEvent, add_listener
from bayou.protocol.actions.actions import AddFile, Metadata, RemoveFile
from bayou.protocol.actions.file_names import checkpoint_path, commit_path
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, metadata

META = metadata({"id": "long"}, configuration={"k": "v"})["metaData"]
META |= {"name": "n", "description": "d", "createdTime": 1, "format": {"provider": "parquet", "options": {"o": "p"}}}
FILE = {"partitionValues": {}, "size": 5, "dataChange": True, "tags": {"t": "u"}, "stats": '{"numRecords":3}'}
FEATURES = ["domainMetadata", "appendOnly", "invariants"]
ACTIONS = [
    {"commitInfo": {"timestamp": 1, "operation": "WRITE", "operationParameters": {"a": "b"}, "txnId": "x", "operationMetrics": {}}},
    {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": FEATURES}},
    {"metaData": META},
    {"add": {"path": "a", "modificationTime": 1, "clusteringProvider": "c", **FILE}},
    {"remove": {"path": "z", "deletionTimestamp": 9_999_999_999_999, "extendedFileMetadata": True, **FILE}},
    {"txn": {"appId": "x", "version": 1, "lastUpdated": 1}},
    {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
]
REQUIRED = {
    ("protocol", "minReaderVersion"),
    ("protocol", "minWriterVersion"),
    ("add", "path"),
    ("remove", "path"),
    ("txn", "appId"),
    ("txn", "version"),
    ("domainMetadata", "domain"),
}


def places(value, path=()):
    for name, inner in value.items():
        yield (*path, name)
        if isinstance(inner, dict):
            yield from places(inner, (*path, name))


PLACES = [path for action in ACTIONS for path in places(action) if len(path) > 1]


def without(path, *, null):
    actions = copy.deepcopy(ACTIONS)
    at = next(action for action in actions if path[0] in action)
    for name in path[:-1]:
        at = at[name]
    if null:
        at[path[-1]] = None
    else:
        del at[path[-1]]
    return actions


def everything(log):
    snapshot = log.snapshot()
    facts = [snapshot.files().to_pylist(), snapshot.tombstones().to_pylist(), snapshot.schema, snapshot.num_files]
    facts += [
        snapshot.size_bytes,
        dict(snapshot.transactions),
        dict(snapshot.domain_metadata),
        snapshot.metadata,
        snapshot.protocol,
    ]
    facts += [snapshot.partition_texts(), snapshot.partitions(), snapshot.statistics({("id",): "long"}).num_records.to_pylist()]
    assert log.history()
    return facts


@pytest.fixture
def failed():
    found = []
    remove = add_listener(lambda event: found.append(event) if isinstance(event, HookFailedEvent) else None)
    yield found
    remove()


def table_without(path, *, null=False):
    return TableBuilder(store=MemoryStore()).write(commit_path(0), "\n".join(map(json.dumps, without(path, null=null))))


MAPS = {"configuration", "operationParameters", "options", "tags"}
NULL_IN_MAPS = [(path, True) for path in PLACES if path[-2] in MAPS]


@in_one_test("path", [path for path in PLACES if (path, True) not in NULL_IN_MAPS])
def test_null_is_as_good_as_nothing(path):
    if path in REQUIRED:
        with pytest.raises(CorruptLogError):
            everything(table_without(path, null=True).log())
    else:
        assert everything(table_without(path, null=True).log()) == everything(table_without(path).log())


@in_one_test(("path", "null"), [*((path, False) for path in PLACES), *NULL_IN_MAPS])
def test_any_optional_value_may_be_absent(path, null, failed):
    builder = table_without(path, null=null)
    if path in REQUIRED:
        with pytest.raises(CorruptLogError):
            everything(builder.log())
        return
    assert everything(builder.log())[3] == 1
    builder.log().transaction("WRITE").commit([AddFile("c", {}, 1, 1, stats='{"numRecords":1}')])
    before = everything(builder.log())
    assert builder.log().changes(0)
    builder.log().checkpoint()
    builder.delete(commit_path(0)).delete(commit_path(1))
    after = TableBuilder(store=builder.store).log().snapshot()
    assert [after.schema, after.num_files, after.size_bytes] == [before[2], before[3], before[4]]
    builder.log().transaction("WRITE").commit([RemoveFile("c", 1), AddFile("e", {}, 1, 1)])
    assert not failed


@pytest.mark.parametrize("given", [{}, {"schemaString": None}, {"id": None}, {"configuration": {"a": "b"}}])
def test_a_table_gets_its_schema_in_a_later_commit(given):
    first = {"id": "t", "partitionColumns": [], **given}
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    builder = TableBuilder(store=MemoryStore()).write(commit_path(0), f"{json.dumps(protocol)}\n{json.dumps({'metaData': first})}")
    builder.version = 0
    builder.commit(metadata({"id": "long"}))
    log = builder.log()
    assert log.snapshot(0).schema.fields == ()
    assert log.snapshot().schema.names == ("id",)
    assert Metadata.from_json(log.snapshot(0).metadata.to_json()) == log.snapshot(0).metadata
    assert len(log.history()) == 2


@in_one_test("kind", ["classic", "v2-json", "v2-parquet"])
@in_one_test("absent", ["schemaString", "id", "partitionColumns", "configuration", "format", "createdTime"])
def test_a_checkpoint_of_a_version_whose_metadata_lack_a_value_is_read(kind, absent):
    lines = without(("metaData", absent), null=False)
    lines = [line for line in lines if "commitInfo" not in line]
    builder = TableBuilder(store=MemoryStore()).write(commit_path(0), "\n".join(map(json.dumps, lines)))
    builder.version = 0
    builder.checkpoint(kind)
    expected = builder.log().snapshot().metadata
    builder.delete(commit_path(0))
    assert builder.log().snapshot().metadata == expected


def test_a_checkpoint_without_a_column_for_the_schema_is_read():
    rows = {
        "protocol": pa.array([{"minReaderVersion": 1, "minWriterVersion": 2}, None]),
        "metaData": pa.array([None, {"id": "x", "configuration": [("a", "b")]}], pa.struct([("id", pa.string()), MAP])),
    }
    out = io.BytesIO()
    pq.write_table(pa.table(rows), out)
    snapshot = TableBuilder(store=MemoryStore()).write(checkpoint_path(3), out.getvalue()).log().snapshot()
    assert (snapshot.schema.fields, dict(snapshot.properties), snapshot.num_files) == ((), {"a": "b"}, 0)


MAP = ("configuration", pa.map_(pa.string(), pa.string()))
