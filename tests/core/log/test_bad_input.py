# SPDX-License-Identifier: Apache-2.0
"""Broken logs: each is told by an error of bayou's own that names the table, the version and the file."""

from __future__ import annotations

import io
import itertools
import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.support.cases import in_one_test

from bayou.errors import (
    CorruptLogError,
    DeletionVectorError,
    DeltaError,
    InvalidSchemaError,
    StorageError,
    TableNotFoundError,
    VersionGapError,
    VersionNotFoundError,
)
from bayou.protocol.actions import file_names
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
from bayou.protocol.types.schema import parse_schema
from bayou.storage import LocalStore, MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove

LAST = file_names.commit_path(2)


def table():
    return TableBuilder(store=MemoryStore()).create(actions=[add("a")]).commit(add("b")).commit(add("c"))


def refused(builder, version=2, file=LAST):
    with pytest.raises(CorruptLogError) as caught:
        builder.log().snapshot().files()
    error = caught.value
    assert (error.table, error.version, error.file) == (builder.uri, version, file)
    assert error.next_step
    return error


@in_one_test(
    "text",
    [
        b"",
        b"\n\n",
        b"nonsense",
        b'{"add":{"path":"c"',
        b'{"commitInfo":{}}\n{"add":{"path":"c","size":1',
        b'{"commitInfo":{}}\n{"metaData":{"id":',
        b'{"commitInfo":{',
        b"[]",
        b"3",
        b"null",
        b'"text"',
        b'{"add":3}',
        b'{"add":{"size":3}}',
        b'{"add":{"path":3}}',
        b'{"add":{"path":"c","size":"big"}}',
        b'{"add":{"path":"c","size":1.5}}',
        b'{"add":{"path":"c","size":true}}',
        b'{"add":{"path":"c","size":99999999999999999999}}',
        b'{"add":{"path":"c","partitionValues":"x"}}',
        b'{"add":{"path":"c","partitionValues":{"p":{"x":1}}}}',
        b'{"add":{"path":"c","stats":3}}',
        b'{"add":{"path":"c","tags":[1]}}',
        b'{"add":{"path":"c","deletionVector":"x"}}',
        b'{"add":{"path":"c","deletionVector":{}}}',
        b'{"add":{"path":"c","deletionVector":{"storageType":"u","pathOrInlineDv":"x","offset":"y"}}}',
        b'{"remove":{"path":null}}',
        b'{"remove":"a"}',
        b'{"protocol":{}}',
        b'{"protocol":{"minReaderVersion":"1","minWriterVersion":2}}',
        b'{"protocol":[]}',
        b'{"metaData":{"id":"x","schemaString":3}}',
        b'{"metaData":{"id":"x","schemaString":"{}","partitionColumns":"p"}}',
        b'{"txn":{"appId":"x"}}',
        b'{"domainMetadata":{"configuration":"x"}}',
        b"\xff\xfe\x00",
        b'{"add":{"path":"\xff"}}',
        b"[" * 200_000,
        b'{"add":' + b"[" * 200_000,
    ],
)
def test_a_broken_commit_is_refused_with_its_place(text):
    refused(table().write(LAST, text))


def test_the_line_of_a_broken_action_is_named():
    lines = [json.dumps(add("c")), json.dumps(add("d")), '{"add":{"path":"e"']
    assert "line 3" in str(refused(table().write(LAST, "\n".join(lines))))


def test_the_place_of_an_action_with_a_wrong_field_is_named():
    lines = [json.dumps(add("c")), json.dumps(remove("a")), json.dumps(add("d", size="x"))]
    assert "add action number 2" in str(refused(table().write(LAST, "\n".join(lines))))


@pytest.mark.parametrize("kept", ["protocol", "metaData", None])
def test_a_log_without_protocol_or_metadata_says_which(kept):
    builder = TableBuilder(store=MemoryStore())
    actions = {"protocol": {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, "metaData": metadata()}
    builder.commit(*([actions[kept]] if kept else []))
    error = refused(builder, 0, file_names.commit_path(0))
    assert set(error.missing) == {"protocol", "metaData"} - {kept}
    assert all(name in str(error) for name in error.missing)


@in_one_test("kind", ["classic", "multipart", "v2-json", "v2-parquet"])
@in_one_test("damage", [b"nonsense", b"PAR1nonsensePAR1", b"PAR1"])
def test_a_broken_checkpoint_is_passed_over_where_the_commits_are_there(kind, damage):
    builder = table().checkpoint(kind)
    for status in list(builder.store.list_from("_delta_log/")):
        if ".checkpoint." in status.name:
            builder.write(status.path, damage)
    snapshot = builder.log().snapshot()
    assert sorted(snapshot.files(["path"])["path"].to_pylist()) == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["classic", "multipart", "v2-json", "v2-parquet"])
def test_a_broken_checkpoint_is_refused_where_the_commits_are_gone(kind):
    builder = table().checkpoint(kind)
    (checkpoint, *_) = [each for each in builder.store.list_from("_delta_log/") if ".checkpoint." in each.name]
    builder.write(checkpoint.path, b"nonsense").delete(file_names.commit_path(0))
    refused(builder, 2, checkpoint.path)


@pytest.mark.parametrize("kind", ["v2-json", "v2-parquet"])
def test_a_missing_sidecar_is_passed_over_or_refused_like_its_checkpoint(kind):
    builder = table().checkpoint(kind)
    sidecar = next(builder.store.list_from(f"{file_names.SIDECAR_FOLDER}/"))
    builder.delete(sidecar.path)
    snapshot = builder.log().snapshot()
    assert sorted(snapshot.files(["path"])["path"].to_pylist()) == ["a", "b", "c"]
    builder.delete(file_names.commit_path(1))
    snapshot = builder.log().snapshot()
    with pytest.raises(CorruptLogError) as caught:
        snapshot.files()
    assert caught.value.version == 2
    assert "checkpoint" in str(caught.value)


def test_a_checkpoint_that_breaks_after_its_footer_is_passed_over(tmp_path):
    builder = TableBuilder(tmp_path).create(actions=[add(f"f{number}") for number in range(100)]).checkpoint()
    path = tmp_path / file_names.checkpoint_path(0)
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 3] = b"\xaa" * (len(data) // 3 - 4)
    path.write_bytes(data)
    snapshot = builder.log().snapshot()
    assert snapshot.files().num_rows == 100
    assert snapshot.segment.checkpoint is None


def test_a_sidecar_outside_the_table_is_not_read():
    builder = table().checkpoint("v2-json").delete(file_names.commit_path(0))
    (manifest,) = [each.path for each in builder.store.list_from("_delta_log/") if each.name.endswith("11.json")]
    lines = [json.loads(line) for line in builder.store.read(manifest).splitlines()]
    for action in lines:
        if "sidecar" in action:
            action["sidecar"]["path"] = "file:///etc/passwd"
    builder.write(manifest, "\n".join(map(json.dumps, lines)))
    with pytest.raises(CorruptLogError, match="file:///etc/passwd"):
        builder.log().snapshot().files()


@pytest.mark.parametrize("name", ["../x.parquet", "../../../../etc/passwd", "a/../../b", ""])
def test_a_sidecar_cannot_lead_out_of_its_folder(name):
    builder = table().checkpoint("v2-json").delete(file_names.commit_path(0))
    (manifest,) = [each.path for each in builder.store.list_from("_delta_log/") if each.name.endswith("11.json")]
    lines = [json.loads(line) for line in builder.store.read(manifest).splitlines()]
    for action in lines:
        if "sidecar" in action:
            action["sidecar"]["path"] = name
    builder.write(manifest, "\n".join(map(json.dumps, lines)))
    with pytest.raises(CorruptLogError):
        builder.log().snapshot().files()


def test_a_schema_that_cannot_be_read_is_refused_when_it_is_asked_for():
    document = metadata()
    document["metaData"]["schemaString"] = "{}"
    snapshot = table().commit(document).log().snapshot()
    assert snapshot.num_files == 3
    with pytest.raises(InvalidSchemaError) as caught:
        snapshot.schema  # noqa: B018
    assert (caught.value.table, caught.value.version) == (snapshot.table_uri, 3)


def test_a_log_that_may_not_be_read_is_a_storage_error(tmp_path, monkeypatch):
    builder = TableBuilder(tmp_path).create()

    def denied(self, path):
        with self._reading(path):
            raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(LocalStore, "read", denied)
    with pytest.raises(StorageError) as caught:
        builder.log().snapshot()
    assert isinstance(caught.value, DeltaError)
    assert "Permission denied" in str(caught.value)


def test_a_table_path_that_is_a_file_is_no_table(tmp_path):
    (tmp_path / "t").write_bytes(b"x")
    log = TableBuilder(tmp_path / "t").log()
    for call in (log.snapshot, log.version, log.history, log.update):
        with pytest.raises(TableNotFoundError) as caught:
            call()
        assert caught.value.table == f"file://{tmp_path}/t"
        assert "_delta_log" in caught.value.next_step


@pytest.mark.parametrize(
    "text",
    [
        b'{"add":{"path":"c"}}{"add":{"path":"d"}}',
        b'{"commitInfo":{}} {"add":{"path":"d"}}',
        b'{"protocol":{}}',
        b'{"metaData":{"schemaString":3}}',
        b'{"commitInfo":3}',
        b'{"add":{"path":"c","deletionVector":{}}}',
        b"nonsense",
    ],
)
def test_an_error_says_each_thing_once(text):
    log = table().write(LAST, text).log()
    found = [error_of(read) for read in (lambda: log.snapshot().files(), lambda: log.changes(2)[0], log.history)]
    assert any(found)
    for error in filter(None, found):
        assert str(error).count("Next:") == str(error).count(LAST) == str(error).count("DELTA_") == 1


def error_of(read):
    try:
        read()
    except CorruptLogError as error:
        return error
    return None


@pytest.mark.parametrize(
    "schema", ['{"type":"struct"}', '{"type":"struct","fields":[3]}', '{"type":"array","elementType":""}', "["]
)
def test_an_error_about_a_schema_says_each_thing_once(schema):
    with pytest.raises(InvalidSchemaError) as caught:
        parse_schema(schema)
    assert str(caught.value).count("Next:") == str(caught.value).count("DELTA_") == 1


@pytest.mark.parametrize("kind", ["classic", "multipart", "v2-json", "v2-parquet"])
def test_an_error_about_a_checkpoint_says_each_thing_once(kind):
    builder = table().checkpoint(kind).delete(file_names.commit_path(0))
    for status in list(builder.store.list_from("_delta_log/")):
        if ".checkpoint." in status.name:
            builder.write(status.path, b'{"protocol":{}}{}')
    with pytest.raises(CorruptLogError) as caught:
        builder.log().snapshot()
    assert str(caught.value).count("Next:") == str(caught.value).count("DELTA_") == 1


@in_one_test("version", [None, 0, 3, 7])
@in_one_test("parts", [1, 2, 9])
def test_parts_of_checkpoints_and_nothing_else_are_a_sentence(version, parts):
    builder = TableBuilder(store=MemoryStore())
    for part in range(1, parts + 1):
        builder.write(file_names.checkpoint_part_path(3 + part, part, parts + 1), b"x")
    with pytest.raises(VersionGapError) as caught:
        builder.log().snapshot(version)
    text = str(caught.value)
    assert "lacks a part" in text
    assert caught.value.file or not caught.value.missing
    assert all(odd not in text for odd in ("version ,", "None", "()", " ,", "  "))


@pytest.mark.parametrize("version", [4, 9])
def test_a_version_of_a_log_that_holds_no_whole_version_is_refused_with_a_sentence(version):
    builder = table().commit(add("d")).commit(add("e")).delete(file_names.commit_path(0)).delete(file_names.commit_path(3))
    with pytest.raises(CorruptLogError if version == 4 else VersionNotFoundError) as caught:
        builder.log().snapshot(version)
    assert "None" not in str(caught.value)


@pytest.mark.parametrize("what", ["link", "folder"])
@pytest.mark.parametrize("known", [False, True])
def test_a_last_commit_that_cannot_be_followed_is_an_error_that_names_it(what, known, tmp_path):
    builder = TableBuilder(tmp_path).create(actions=[add("a")]).commit(add("b"))
    log = builder.log()
    if known:
        log.snapshot()
    place = tmp_path / LAST
    if what == "link":
        place.symlink_to(tmp_path / "nowhere")
    else:
        place.mkdir()
    with pytest.raises(DeltaError) as caught:
        log.snapshot()
    assert caught.value.file == LAST
    assert log.snapshot(1).num_files == 2
    assert [entry.version for entry in log.history()] == [1, 0]


DESCRIPTOR = {"storageType": "u", "pathOrInlineDv": "vBn[lx{q8@P<9BNH/isA", "offset": 1, "sizeInBytes": 40, "cardinality": 2}


@in_one_test("kind", ["add", "remove"])
@in_one_test("missing", [*itertools.combinations(sorted(DESCRIPTOR), 1), *itertools.combinations(sorted(DESCRIPTOR), 2)])
@in_one_test("null", [False, True])
def test_a_deletion_vector_without_a_required_field_is_refused(kind, missing, null):
    present = {name: value for name, value in DESCRIPTOR.items() if name not in missing}
    vector = present | dict.fromkeys(missing) if null else present
    lacking = sorted(set(missing) - {"offset"})
    action = {kind: {"path": "c", "size": 1, "deletionVector": vector, "deletionTimestamp": 10**15}}
    snapshot = table().write(LAST, json.dumps(action)).log().snapshot()
    if not lacking:
        assert snapshot.files(["path"]).num_rows == 2 + (kind == "add")
        return
    for read in (lambda: DeletionVectorDescriptor.from_json(vector), snapshot.files):
        with pytest.raises(DeletionVectorError, match=", ".join(lacking)) as caught:
            read()
        assert caught.value.getErrorClass() == "DELTA_STATE_RECOVER_ERROR"
    assert (caught.value.table, caught.value.version, caught.value.file) == (snapshot.table_uri, 2, LAST)


@in_one_test("field", sorted(DESCRIPTOR))
@in_one_test("value", [True, 1.5, [], {}, "x", 7])
def test_a_deletion_vector_with_a_field_of_a_wrong_type_is_refused(field, value):
    if type(value) is type(DESCRIPTOR[field]):
        return
    vector = DESCRIPTOR | {field: value}
    with pytest.raises(DeletionVectorError, match=field):
        DeletionVectorDescriptor.from_json(vector)
    refused(table().write(LAST, json.dumps({"add": {"path": "c", "deletionVector": vector}})))


@pytest.mark.parametrize("missing", [name for name in DESCRIPTOR if name != "offset"])
@pytest.mark.parametrize("kind", ["classic", "v2-parquet"])
def test_a_checkpoint_whose_vectors_lack_a_field_is_passed_over_or_refused(kind, missing):
    builder = table().commit(add("v", deletionVector=DESCRIPTOR))
    wrong = DESCRIPTOR | {missing: None}
    builder.checkpoint(kind)
    paths = [each.path for folder in ("_delta_log/", "_delta_log/_sidecars/") for each in listed(builder, folder)]
    for path in paths:
        if path.endswith(".parquet"):
            rows = pq.read_table(io.BytesIO(builder.store.read(path)))
            builder.write(path, rewritten(rows, wrong))
    assert sorted(builder.log().snapshot().files(["path"])["path"].to_pylist()) == ["a", "b", "c", "v"]
    assert pc.struct_field(builder.log().snapshot().files()["deletion_vector"], "cardinality").to_pylist().count(2) == 1
    for version in range(4):
        builder.delete(file_names.commit_path(version))
    with pytest.raises(CorruptLogError, match=missing):
        builder.log().snapshot().files()


def listed(builder, folder):
    return list(builder.store.list_from(folder))


def rewritten(rows, vector):
    """The same Parquet file with another descriptor in the place of each."""
    values = rows.to_pylist()
    for value in values:
        if value.get("add") and value["add"].get("deletionVector"):
            value["add"]["deletionVector"] = vector
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(values, rows.schema), out)
    return out.getvalue()
