# SPDX-License-Identifier: Apache-2.0
"""CONVERT without a JVM: a listing and footers become the first version of a table, or nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayou
from bayou.errors import (
    DataFileNotFoundError,
    DeltaError,
    InvalidCommitError,
    InvalidSchemaError,
    PathNotFoundError,
    SchemaMismatchError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    UnreadableDataFileError,
    UnsupportedFeatureError,
)
from bayou.log.delta_log import DeltaLog
from bayou.log.operations import convert as module
from bayou.log.operations.convert import ConvertRequest, convert
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage import LocalStore

KINDS = {pa.int64(): "long", pa.string(): "string", pa.int32(): "integer", pa.float64(): "double"}


class Footers:
    """Reads the footers of local files, and counts how often."""

    def __init__(self, root):
        self.root = root
        self.read = []
        self.derived = []

    def footers(self, files):
        found = []
        for each in files:
            self.read.append(each.path)
            try:
                found.append(pq.read_metadata(self.root / each.path))
            except (OSError, pa.ArrowInvalid) as error:
                found.append(error if isinstance(error, FileNotFoundError) else StorageError(str(error)))
        return found

    def schemas(self, files):
        self.derived += [each.path for each in files]
        schemas = [pq.read_schema(self.root / each.path) for each in files]
        return [StructType(tuple(StructField(each.name, KINDS[each.type]) for each in schema)) for schema in schemas]


def put(root, path, **columns):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns or {"id": [1]}), file)


def fields(*columns):
    return tuple(StructField(*each.split(":")) for each in columns)


def run(root, *columns, reader=None, store=None, **options):
    names = tuple(each.partition(":")[0] for each in columns)
    request = ConvertRequest(fields(*columns), names if columns else None, **options)
    log = DeltaLog(root.as_uri(), store or LocalStore(root))
    return convert(log, request, reader or Footers(root))


def actions(root, kind):
    lines = (root / "_delta_log" / f"{0:020d}.json").read_text().splitlines()
    return [action[kind] for action in map(json.loads, lines) if kind in action]


def adds(root):
    return {each["path"]: each for each in actions(root, "add")}


def refused(root, error, error_class, *columns, **options):
    """An error of a conversion, which leaves no log behind."""
    with pytest.raises(error) as caught:
        run(root, *columns, **options)
    assert caught.value.error_class == error_class
    assert not (root / "_delta_log").exists()
    return caught.value


def test_files_become_a_table(tmp_path):
    put(tmp_path, "p=1/a.parquet", id=[1, 2], name=["x", None])
    put(tmp_path, "p=__HIVE_DEFAULT_PARTITION__/deep/ü b.parquet", id=[3], name=["y"])
    for path in ("_SUCCESS", ".a.crc", "_hidden/x", "p=1/_x"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(b"litter")
    assert run(tmp_path, "p:integer") == 2
    (info,) = actions(tmp_path, "commitInfo")
    assert info["operation"] == "CONVERT"
    assert info["operationParameters"] == {
        "numFiles": 2,
        "partitionedBy": '["p"]',
        "collectStats": True,
        "sourceFormat": "parquet",
    }
    assert info["operationMetrics"] == {"numConvertedFiles": "2"}
    found = adds(tmp_path)
    assert {path: add["partitionValues"] for path, add in found.items()} == {
        "p=1/a.parquet": {"p": "1"},
        "p=__HIVE_DEFAULT_PARTITION__/deep/%C3%BC%20b.parquet": {"p": None},
    }
    first, status = found["p=1/a.parquet"], (tmp_path / "p=1/a.parquet").stat()
    assert (first["size"], first["modificationTime"]) == (status.st_size, status.st_mtime_ns // 1_000_000)
    assert json.loads(first["stats"]) == {
        "numRecords": 2,
        "minValues": {"id": 1, "name": "x"},
        "maxValues": {"id": 2, "name": "x"},
        "nullCount": {"id": 0, "name": 1},
    }
    snapshot = bayou.open(tmp_path).snapshot()
    assert (snapshot.schema.names, snapshot.partition_columns, snapshot.num_files) == (("id", "name", "p"), ("p",), 2)


def test_without_statistics_rows_are_counted(tmp_path):
    put(tmp_path, "a.parquet", id=[1, 2])
    run(tmp_path, collects_statistics=False)
    assert adds(tmp_path)["a.parquet"]["stats"] == '{"numRecords":2}'
    assert actions(tmp_path, "commitInfo")[0]["operationParameters"]["collectStats"] is False


def test_each_footer_is_read_once_and_each_schema_derived_once(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FOOTERS_AT_ONCE", 3)
    for number in range(10):
        put(tmp_path, f"{number}.parquet", id=[number])
    reader = Footers(tmp_path)
    run(tmp_path, reader=reader)
    assert sorted(reader.read) == sorted(adds(tmp_path))
    assert reader.derived == ["0.parquet"]


def test_files_are_looked_at_again_where_later_ones_have_more_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FOOTERS_AT_ONCE", 1)
    put(tmp_path, "a.parquet", a=[1])
    put(tmp_path, "b.parquet", b=[2])
    put(tmp_path, "c.parquet", a=[3], b=[4])
    run(tmp_path)
    stats = [json.loads(adds(tmp_path)[f"{name}.parquet"]["stats"]) for name in "abc"]
    assert [each["nullCount"] for each in stats] == [{"a": 0, "b": 1}, {"a": 1, "b": 0}, {"a": 0, "b": 0}]
    assert [each["minValues"] for each in stats] == [{"a": 1}, {"b": 2}, {"a": 3, "b": 4}]


def test_properties_decide_which_columns_have_statistics(tmp_path):
    put(tmp_path, "a.parquet", a=[1], b=[2])
    run(
        tmp_path,
        properties={"delta.dataSkippingNumIndexedCols": "1", "x": "y"},
        settings={"spark.databricks.delta.properties.defaults.appendOnly": "true"},
    )
    assert json.loads(adds(tmp_path)["a.parquet"]["stats"])["minValues"] == {"a": 1}
    (found,) = actions(tmp_path, "metaData")
    assert found["configuration"] == {"delta.dataSkippingNumIndexedCols": "1", "x": "y", "delta.appendOnly": "true"}


def test_row_ids_are_given(tmp_path):
    put(tmp_path, "a.parquet", id=[1, 2])
    put(tmp_path, "b.parquet", id=[1, 2])
    run(tmp_path, properties={"delta.enableRowTracking": "true"}, collects_statistics=False)
    assert [add["baseRowId"] for add in actions(tmp_path, "add")] == [0, 2]


def test_partition_columns_may_be_in_the_files(tmp_path):
    put(tmp_path, "Id=7/a.parquet", id=[1], x=["a"])
    run(tmp_path, "ID:integer")
    schema = json.loads(actions(tmp_path, "metaData")[0]["schemaString"])
    assert [(each["name"], each["type"]) for each in schema["fields"]] == [("ID", "integer"), ("x", "string")]
    assert json.loads(adds(tmp_path)["Id=7/a.parquet"]["stats"])["minValues"] == {"x": "a"}


def test_hidden_partition_folders_are_not_passed_over(tmp_path):
    put(tmp_path, "_p=1/.q=2/a.parquet")
    assert run(tmp_path, "_p:integer", ".q:integer") == 1


def test_a_folder_without_files_is_refused(tmp_path):
    refused(tmp_path / "gone", PathNotFoundError, "DELTA_PATH_DOES_NOT_EXIST")
    refused(tmp_path, TableNotFoundError, "DELTA_EMPTY_DIRECTORY")
    put(tmp_path, "_x/a.parquet")
    (tmp_path / "_SUCCESS").touch()
    refused(tmp_path, TableNotFoundError, "DELTA_EMPTY_DIRECTORY")


def test_other_partition_columns_are_refused(tmp_path):
    put(tmp_path, "p=x/a.parquet")
    error = refused(tmp_path, InvalidSchemaError, "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME")
    assert error.file == "p=x/a.parquet"
    assert "partitionSchema='p string'" in error.next_step
    refused(tmp_path, InvalidSchemaError, "DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME", "q:string")
    refused(tmp_path, InvalidSchemaError, "DELTA_FAILED_CAST_PARTITION_VALUE", "p:integer")
    assert run(tmp_path, "p:integer", takes_any_text=True) == 1


def test_schemas_that_do_not_fit_are_refused(tmp_path):
    put(tmp_path, "a.parquet", id=[1])
    put(tmp_path, "b.parquet", id=["x"])
    assert refused(tmp_path, SchemaMismatchError, "DELTA_FAILED_MERGE_SCHEMA_FILE").file == "b.parquet"


def test_names_that_no_table_may_have_are_refused(tmp_path):
    put(tmp_path, "a.parquet", **{"a b": [1]})
    refused(tmp_path, InvalidSchemaError, "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES")


def test_a_file_that_is_no_parquet_file_is_refused_or_left_out(tmp_path):
    put(tmp_path, "a.parquet")
    (tmp_path / "b.csv").write_text("a,b")
    assert refused(tmp_path, UnreadableDataFileError, "DELTA_FAILED_READ_FILE_FOOTER").file == "b.csv"
    assert run(tmp_path, ignores_corrupt_files=True) == 1
    assert list(adds(tmp_path)) == ["a.parquet"]


def test_a_folder_of_nothing_but_corrupt_files_is_an_empty_one(tmp_path):
    (tmp_path / "b.csv").write_text("a,b")
    with pytest.raises(DeltaError):
        run(tmp_path, ignores_corrupt_files=True)
    assert not (tmp_path / "_delta_log").exists()


def test_a_file_that_is_gone_meanwhile_is_refused(tmp_path):
    put(tmp_path, "a.parquet")

    class Late(Footers):
        def footers(self, files):
            (tmp_path / "a.parquet").unlink()
            return super().footers(files)

    error = refused(
        tmp_path, DataFileNotFoundError, DataFileNotFoundError.error_class, reader=Late(tmp_path), ignores_corrupt_files=True
    )
    assert error.file == "a.parquet"


@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_mapping_is_refused(tmp_path, mode):
    put(tmp_path, "a.parquet")
    settings = {"spark.databricks.delta.properties.defaults.columnMapping.mode": mode}
    error = refused(tmp_path, UnsupportedFeatureError, "DELTA_CONVERSION_UNSUPPORTED_COLUMN_MAPPING", settings=settings)
    assert error.features == ("columnMapping",)


def test_a_table_inside_is_refused(tmp_path):
    put(tmp_path, "a.parquet")
    put(tmp_path, "inner/b.parquet")
    run(tmp_path / "inner")
    error = refused(tmp_path, TableExistsError, "DELTA_PATH_EXISTS")
    assert error.file == "inner"


def test_a_table_that_another_writer_made_meanwhile_stays(tmp_path):
    put(tmp_path, "a.parquet")

    with pytest.raises(DeltaError):
        convert(DeltaLog(tmp_path.as_uri(), LocalStore(tmp_path)), ConvertRequest(), _Racing(tmp_path))
    assert bayou.open(tmp_path).version() == 0


class _Racing(Footers):
    """Another writer converts the folder while its footers are read."""

    def schemas(self, files):
        run(self.root)
        return super().schemas(files)


def test_a_commit_that_fails_leaves_no_folder_behind(tmp_path):
    put(tmp_path, "a.parquet")

    class Full(LocalStore):
        def put_if_absent(self, path, data):  # noqa: ARG002
            Path(tmp_path, path).parent.mkdir(exist_ok=True)
            raise StorageError("the disk is full")

    refused(tmp_path, StorageError, None, store=Full(tmp_path))


def test_only_the_files_of_the_catalogs_partitions_are_taken(tmp_path):
    put(tmp_path, "p=1/a.parquet")
    put(tmp_path, "p=1/deep/a.parquet")
    put(tmp_path, "p=2/b.parquet")
    put(tmp_path, "elsewhere/c.parquet")
    known = {"p=1": {"P": "1"}, "elsewhere": {"P": "__HIVE_DEFAULT_PARTITION__"}, "gone": {"P": "9"}}
    request = ConvertRequest(fields("p:integer"), None, catalog_table="`c`.`d`.`t`", partitions=known)
    convert(DeltaLog(tmp_path.as_uri(), LocalStore(tmp_path)), request, Footers(tmp_path))
    found = {path: add["partitionValues"] for path, add in adds(tmp_path).items()}
    assert found == {"p=1/a.parquet": {"p": "1"}, "elsewhere/c.parquet": {"p": None}}
    parameters = actions(tmp_path, "commitInfo")[0]["operationParameters"]
    assert (parameters["partitionedBy"], parameters["catalogTable"]) == ("[]", "`c`.`d`.`t`")


def test_a_catalog_may_know_the_columns(tmp_path):
    put(tmp_path, "p=1/a.parquet", id=pa.array([1], pa.int32()), raw=[b"x"], more=[1])
    reader = Footers(tmp_path)
    known = StructType(fields("id:long", "raw:string", "gone:date", "p:integer"))
    run(tmp_path, "p:integer", reader=reader, schema=known)
    assert bayou.open(tmp_path).snapshot().schema == known
    assert reader.derived == []
    assert json.loads(adds(tmp_path)["p=1/a.parquet"]["stats"]) == {
        "numRecords": 1,
        "minValues": {"id": 1, "raw": "x"},
        "maxValues": {"id": 1, "raw": "x"},
        "nullCount": {"id": 0, "raw": 0, "gone": 1},
    }


def note(root, name, *files):
    (root / "_spark_metadata").mkdir(exist_ok=True)
    lines = [json.dumps({"path": uri, "size": size, "isDir": False, "modificationTime": 7, "action": "add"}) for uri, size in files]
    (root / "_spark_metadata" / name).write_text("\n".join(["v1", *lines]))


def test_the_log_of_a_streaming_sink_says_which_files_there_are(tmp_path):
    for path in ("p=a b/a.parquet", "p=a b/half-written.parquet", "p=c/b.parquet"):
        put(tmp_path, path)
    size = (tmp_path / "p=c/b.parquet").stat().st_size
    note(tmp_path, "9.compact", (f"{tmp_path.as_uri()}/p=a%20b/a.parquet", size))
    note(tmp_path, "10", (f"{tmp_path.as_uri()}/p=c/b.parquet", size))
    assert run(tmp_path, "p:string") == 2
    assert {path: each["partitionValues"]["p"] for path, each in adds(tmp_path).items()} == {
        "p=a%20b/a.parquet": "a b",
        "p=c/b.parquet": "c",
    }


def test_the_log_of_a_streaming_sink_can_be_left_out_of_account(tmp_path):
    put(tmp_path, "a.parquet")
    note(tmp_path, "0")
    refused(tmp_path, TableNotFoundError, "DELTA_EMPTY_DIRECTORY")
    assert run(tmp_path, uses_sink_log=False) == 1


def test_a_sinks_log_that_cannot_be_followed_is_refused(tmp_path):
    put(tmp_path, "a.parquet")
    note(tmp_path, "0", ("file:///elsewhere/a.parquet", 1))
    assert refused(tmp_path, InvalidCommitError, InvalidCommitError.error_class).file == "/elsewhere/a.parquet"
    (tmp_path / "_spark_metadata" / "0").write_text("v1\nnonsense")
    assert refused(tmp_path, StorageError, None).file == "_spark_metadata"


def test_a_link_to_a_file_is_that_file_and_one_to_a_folder_is_refused(tmp_path):
    root, other = tmp_path / "root", tmp_path / "other"
    put(root, "p=1/x")
    put(other, "y")
    (root / "p=1" / "y").symlink_to(other / "y")
    (root / "_hidden").symlink_to(other)
    (root / "p=2").symlink_to(other)
    with pytest.raises(InvalidCommitError, match="The folder p=2 is a link"):
        run(root, "p:long")
    assert not (root / "_delta_log").exists()
    (root / "p=2").unlink()
    assert run(root, "p:long") == 2
    assert {each["path"]: each["size"] for each in actions(root, "add")}["p=1/y"] == (other / "y").stat().st_size
