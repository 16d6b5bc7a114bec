# SPDX-License-Identifier: Apache-2.0
"""Create, append, overwrite: what is in the table and in its log afterwards, and what is refused before a file is written."""

from __future__ import annotations

import json
import re
import shutil
import uuid
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException, UnsupportedOperationException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.spark.tables import file_of, ids, numbers, numbers_table

import bayou
from bayou.errors import (
    AppendOnlyError,
    ConcurrentAppendException,
    ConcurrentModificationError,
    InvalidOptionError,
    InvalidSchemaError,
    SchemaMismatchError,
    TableExistsError,
    UnsupportedFeatureError,
)
from bayou.log.transaction import Transaction
from bayou.protocol.actions import AddFile, Protocol
from bayou.protocol.file_names import commit_path
from bayou.protocol.schema import StructField, StructType
from bayou.testing.table_builder import TableBuilder, add, metadata


def commit_of(path, version):
    lines = Path(path, commit_path(version)).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def actions(path, version, kind):
    return [action[kind] for action in commit_of(path, version) if kind in action]


def data_files(path):
    return sorted(str(file.relative_to(path)) for file in Path(path).rglob("*.parquet") if "_delta_log" not in file.parts)


WAYS = {
    "bayou.write": lambda frame, path, mode, **options: bayou.write(frame, path, mode=mode, **options),
    "save": lambda frame, path, mode, **options: frame.write.format("delta").mode(mode).options(**options).save(path),
}


@pytest.fixture(params=WAYS)
def write(request):
    return WAYS[request.param]


@pytest.mark.smoke
def test_create_append_and_overwrite(spark, table_path, write):
    write(spark.range(3), table_path, "error")
    write(spark.range(3, 5), table_path, "append")
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2, 3, 4]
    write(spark.range(7, 9), table_path, "overwrite")
    assert ids(bayou.read(spark, table_path)) == [7, 8]
    assert ids(bayou.read(spark, table_path, version=1)) == [0, 1, 2, 3, 4]
    removed = actions(table_path, 2, "remove")
    assert {action["path"] for action in removed} == {a["path"] for v in (0, 1) for a in actions(table_path, v, "add")}
    assert all(action["dataChange"] and action["extendedFileMetadata"] and action["size"] > 0 for action in removed)


def test_the_mode_error_refuses_a_table_that_is_there_and_writes_nothing(spark, table_path, write):
    write(spark.range(3), table_path, "error")
    before = data_files(table_path)
    for mode in ("error", "errorifexists"):
        with pytest.raises(TableExistsError) as caught:
            write(spark.range(3), table_path, mode)
        assert isinstance(caught.value, AnalysisException)
        assert caught.value.getErrorClass() == "DELTA_PATH_EXISTS"
    assert data_files(table_path) == before
    assert bayou.open(table_path).version() == 0


def test_the_mode_ignore_writes_only_where_no_table_is(spark, table_path, write):
    write(spark.range(3), table_path, "ignore")
    write(spark.range(9), table_path, "ignore")
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2]
    assert bayou.open(table_path).version() == 0


@pytest.mark.smoke
def test_append_and_overwrite_make_a_table_where_none_is(spark, tmp_path, write):
    for mode in ("append", "overwrite"):
        write(spark.range(2), str(tmp_path / mode), mode)
        assert ids(bayou.read(spark, str(tmp_path / mode))) == [0, 1]


def test_the_result_says_what_was_done(spark, table_path):
    made = bayou.write(spark.range(10).repartition(2), table_path)
    assert (made.version, made.committed, made.num_files, made.num_rows, made.num_removed_files) == (0, True, 2, 10, 0)
    assert made.num_bytes == sum(Path(table_path, file).stat().st_size for file in data_files(table_path))
    over = bayou.write(spark.range(1), table_path, mode="overwrite")
    assert (over.version, over.num_files, over.num_removed_files) == (1, 1, 2)
    assert not bayou.write(spark.range(1), table_path, mode="ignore").committed


@pytest.mark.smoke
def test_an_empty_append_makes_no_commit(spark, table_path, write):
    write(spark.range(3), table_path, "error")
    before = data_files(table_path)
    write(spark.range(0), table_path, "append")
    write(spark.range(3).where("id > 5"), table_path, "append")
    assert bayou.open(table_path).version() == 0
    assert data_files(table_path) == before


def test_an_empty_dataframe_makes_an_empty_table(spark, table_path, write):
    write(spark.range(0), table_path, "error")
    frame = bayou.read(spark, table_path)
    assert frame.collect() == []
    assert frame.columns == ["id"]
    assert data_files(table_path) == []
    write(spark.range(2), table_path, "append")
    write(spark.range(0), table_path, "overwrite")
    assert bayou.read(spark, table_path).count() == 0
    assert len(actions(table_path, 2, "remove")) >= 1


@pytest.mark.smoke
def test_the_first_commit_says_what_the_table_is(spark, table_path):
    rows = spark.range(3).selectExpr("id", "'x' as name", "id % 2 as p")
    rows.write.format("delta").partitionBy("p").option("delta.dataSkippingNumIndexedCols", "1").save(table_path)
    (protocol,), (made,) = actions(table_path, 0, "protocol"), actions(table_path, 0, "metaData")
    assert protocol == {"minReaderVersion": 1, "minWriterVersion": 2}
    assert made["partitionColumns"] == ["p"]
    assert made["format"] == {"provider": "parquet", "options": {}}
    assert made["configuration"] == {"delta.dataSkippingNumIndexedCols": "1"}
    assert [(f["name"], f["type"], f["nullable"]) for f in json.loads(made["schemaString"])["fields"]] == [
        ("id", "long", True),
        ("name", "string", True),
        ("p", "long", True),
    ]


@pytest.mark.smoke
def test_the_commit_says_who_did_what(spark, table_path, write):
    write(spark.range(3).coalesce(1), table_path, "error", userMetadata="a note")
    write(spark.range(2).coalesce(1), table_path, "append")
    write(spark.range(1).coalesce(1), table_path, "overwrite")
    create, append, overwrite = (actions(table_path, version, "commitInfo")[0] for version in range(3))
    assert commit_of(table_path, 0)[0].keys() == {"commitInfo"}
    assert [info["operation"] for info in (create, append, overwrite)] == ["WRITE"] * 3
    assert append["operationParameters"] == {"mode": "Append", "partitionBy": "[]"}
    assert create["operationParameters"]["mode"] == "ErrorIfExists"
    assert overwrite["operationParameters"]["mode"] == "Overwrite"
    assert (create["userMetadata"], "userMetadata" in append) == ("a note", False)
    assert ("readVersion" in create, append["readVersion"], overwrite["readVersion"]) == (False, 0, 1)
    assert [info["isBlindAppend"] for info in (create, append, overwrite)] == [True, True, False]
    (added,) = actions(table_path, 1, "add")
    assert append["operationMetrics"] == {"numFiles": "1", "numOutputRows": "2", "numOutputBytes": str(added["size"])}
    assert overwrite["operationMetrics"]["numRemovedFiles"] == "2"
    assert append["engineInfo"] == f"Apache-Spark/{spark.version} bayou/{bayou.__version__}"
    assert len({info["txnId"] for info in (create, append, overwrite)}) == 3
    history = bayou.DeltaTable.forPath(spark, table_path).history().collect()
    assert [row.operation for row in history] == ["WRITE"] * 3
    assert history[2].userMetadata == "a note"


@pytest.mark.smoke
def test_files_are_named_and_placed_as_sparks_are(spark, table_path):
    spark.range(4).selectExpr("id", "id % 2 as p").coalesce(1).write.format("delta").partitionBy("p").save(table_path)
    bayou.write(spark.range(2), table_path + "-plain")
    uuid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    assert all(re.fullmatch(rf"p=[01]/part-\d{{5}}-{uuid}\.c000\.snappy\.parquet", file) for file in data_files(table_path))
    assert all(re.fullmatch(rf"part-\d{{5}}-{uuid}-c000\.snappy\.parquet", file) for file in data_files(table_path + "-plain"))
    leftovers = [p.name for p in Path(table_path).rglob("*") if p.is_file() and not p.name.endswith((".parquet", ".json"))]
    assert all(name.endswith(".crc") for name in leftovers)
    assert not any(name.startswith(("_temporary", "_SUCCESS", "_spark_metadata")) for name in leftovers)
    assert not Path(table_path, "_temporary").exists()


def test_options_of_the_parquet_writer_are_heard(spark, table_path):
    bayou.write(spark.range(100).coalesce(1), table_path, maxRecordsPerFile=30, compression="gzip")
    assert len(data_files(table_path)) == 4
    assert all(".gz." in file for file in data_files(table_path))
    assert bayou.read(spark, table_path).where("id >= 0").count() == 100


FACTORY = "parquet.crypto.factory.class"
BY_PROPERTIES = "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"


@pytest.mark.parametrize("key", ["parquet.encryption.footer.key", "parquet.encryption.column.keys"])
def test_a_write_that_spark_would_encrypt_is_refused_before_a_file_is_written(spark, table_path, write, key):
    write(spark.range(3), table_path, "append")
    before = data_files(table_path)
    own = bayou.enable(spark.newSession())
    own.conf.set(FACTORY, BY_PROPERTIES)
    write(own.range(3), table_path, "append")  # decrypts what it reads, at most
    assert len(data_files(table_path)) == 2 * len(before)
    own.conf.set(key, "a")
    with pytest.raises(UnsupportedFeatureError, match=r"encrypts Parquet files.*parquet\.crypto\.factory\.class") as caught:
        write(own.range(3), table_path, "append")
    assert (caught.value.version, caught.value.error_class) == (1, "DELTA_OPERATION_NOT_ALLOWED")
    with pytest.raises(UnsupportedFeatureError):
        write(spark.range(3), table_path, "append", **{FACTORY: "a.factory.of.somebodys"})
    assert len(data_files(table_path)) == 2 * len(before)
    assert bayou.open(table_path).version() == 1


def test_columns_match_by_name_in_any_case_and_order(spark, table_path, write):
    write(spark.sql("select 1L as Id, 'a' as Name"), table_path, "error")
    write(spark.sql("select 'b' as NAME, 2L as iD"), table_path, "append")
    write(spark.sql("select 3L as id"), table_path, "append")
    frame = bayou.read(spark, table_path)
    assert frame.columns == ["Id", "Name"]
    assert sorted(frame.collect(), key=str) == [(1, "a"), (2, "b"), (3, None)]


@pytest.mark.smoke
def test_rows_of_another_schema_are_refused_with_the_columns_named(spark, table_path, write):
    write(spark.sql("select 1L as id, 'a' as name"), table_path, "error")
    before = data_files(table_path)
    with pytest.raises(SchemaMismatchError) as caught:
        write(spark.sql("select 'x' as id, 'a' as name, 1 as extra"), table_path, "append")
    assert isinstance(caught.value, AnalysisException)
    assert caught.value.getErrorClass() == "DELTA_FAILED_TO_MERGE_FIELDS"
    assert "'extra'" in str(caught.value)
    assert "id" in str(caught.value)
    for mode in ("append", "overwrite"):
        with pytest.raises(SchemaMismatchError):
            write(spark.sql("select 1L as id, struct(1) as name"), table_path, mode)
    assert data_files(table_path) == before
    assert bayou.open(table_path).version() == 0


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("select 1 as `a b`", "a b"),
        ("select 1 as a, 2 as A", "more than once: a"),
        ("select struct(1 as `x;y`) as s", "x;y"),
        ("select interval 1 day as i", "interval"),
    ],
)
def test_a_schema_that_no_table_can_have_is_refused(spark, table_path, query, error):
    with pytest.raises(InvalidSchemaError, match=error):
        bayou.write(spark.sql(query), table_path)
    assert not Path(table_path).exists() or data_files(table_path) == []


@pytest.mark.parametrize("columns", [["nothing"], ["id", "ID"], ["id", "p"], ["s"]])
def test_partition_columns_that_cannot_be_are_refused(spark, table_path, columns):
    rows = spark.sql("select 1L as id, 2 as p, struct(1) as s") if columns != ["id", "p"] else spark.sql("select 1L as id, 2 as p")
    with pytest.raises(InvalidSchemaError):
        bayou.write(rows, table_path, partition_by=columns)


def test_other_partition_columns_than_the_tables_are_refused(spark, table_path):
    rows = spark.sql("select 1L as id, 2 as p")
    rows.write.format("delta").partitionBy("p").save(table_path)
    with pytest.raises(SchemaMismatchError, match="Partition columns do not match"):
        rows.write.format("delta").partitionBy("id").mode("append").save(table_path)
    rows.write.format("delta").partitionBy("P").mode("append").save(table_path)
    rows.write.format("delta").mode("append").save(table_path)
    with pytest.raises(SchemaMismatchError, match="'p'"):
        bayou.write(spark.sql("select 1L as id"), table_path, mode="append")
    assert bayou.open(table_path).version() == 2


def test_options_that_ask_for_nothing_new_pass(spark, table_path, write):
    write(spark.range(3), table_path, "error")
    write(spark.range(1), table_path, "append", mergeSchema="false", partitionOverwriteMode="static", optimizeWrite="false")
    assert bayou.open(table_path).version() == 1


def test_an_unknown_mode_is_an_illegal_argument(spark, table_path):
    with pytest.raises(InvalidOptionError, match="upsert"):
        bayou.write(spark.range(1), table_path, mode="upsert")


def feature(name, **configuration):
    return {"protocol": Protocol(1, 7, None, (name,)), "configuration": configuration}


def column(**facts):
    nullable = facts.pop("nullable", True)
    return StructType((StructField("id", "long", nullable=nullable, metadata=facts),))


REFUSED = {
    "a newer writer version": ("9", {"protocol": Protocol(1, 9)}),
    "an unknown writer feature": ("fromTheFuture", feature("fromTheFuture")),
    "an unknown reader feature": ("alsoNew", {"protocol": Protocol(3, 7, ("alsoNew",), ("alsoNew",))}),
    "symlink manifests": (
        "symlinkFormatManifest",
        {"configuration": {"delta.compatibility.symlinkFormatManifest.enabled": "true"}},
    ),
    "UniForm": ("universalFormat", {"configuration": {"delta.universalFormat.enabledFormats": "iceberg"}}),
    "IcebergCompatV2": ("cebergCompatV2", {"configuration": {"delta.enableIcebergCompatV2": "true"}}),
}


@pytest.mark.smoke
@pytest.mark.parametrize("rule", REFUSED)
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_table_with_a_rule_that_is_not_enforced_is_refused_by_name(spark, table_path, rule, mode):
    name, table = REFUSED[rule]
    TableBuilder(table_path).create(**table)
    with pytest.raises(UnsupportedFeatureError, match=name) as caught:
        spark.range(3).write.format("delta").mode(mode).save(table_path)
    assert isinstance(caught.value, UnsupportedOperationException)
    assert data_files(table_path) == []
    assert bayou.open(table_path).version() == 0


def test_a_new_table_that_asks_for_such_a_rule_is_refused(spark, table_path):
    with pytest.raises(UnsupportedFeatureError, match="cebergCompatV2"):
        bayou.write(spark.range(3), table_path, **{"delta.enableIcebergCompatV2": "true", "delta.columnMapping.mode": "name"})
    assert not Path(table_path).exists() or data_files(table_path) == []


WRITABLE = {
    "deletion vectors": {"protocol": Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))},
    "vacuum protocol check": {"protocol": Protocol(3, 7, ("vacuumProtocolCheck",), ("vacuumProtocolCheck",))},
    "v2 checkpoints": {"protocol": Protocol(3, 7, ("v2Checkpoint",), ("v2Checkpoint",))},
    "features that are off": {"protocol": Protocol(1, 7, None, ("appendOnly", "invariants", "changeDataFeed", "domainMetadata"))},
    "append only, off": {"configuration": {"delta.appendOnly": "false"}},
}


@pytest.mark.parametrize("table", WRITABLE)
def test_a_table_whose_features_ask_nothing_of_an_append_is_written(spark, table_path, table):
    TableBuilder(table_path).create(**WRITABLE[table])
    bayou.write(spark.range(3), table_path, mode="append")
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("key", "value", "feature", "reader"),
    [
        ("delta.enableDeletionVectors", "true", "deletionVectors", 3),
        ("delta.enableInCommitTimestamps", "true", "inCommitTimestamp", 1),
        ("delta.checkpointPolicy", "v2", "v2Checkpoint", 3),
    ],
)
def test_a_property_of_a_new_table_brings_the_feature_that_it_needs(spark, table_path, key, value, feature, reader):
    bayou.write(spark.range(3), table_path, **{key: value})
    bayou.write(spark.range(3, 6), table_path, mode="append")
    snapshot = bayou.open(table_path).snapshot()
    assert feature in snapshot.protocol.writer_features
    assert snapshot.protocol.min_reader_version == reader
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2, 3, 4, 5]


def test_a_table_that_only_takes_appends_is_appended_to_and_not_overwritten(spark, table_path, write):
    write(spark.range(3), table_path, "error", **{"delta.appendOnly": "true"})
    write(spark.range(3, 6), table_path, "append")
    before = data_files(table_path)
    with pytest.raises(AppendOnlyError) as caught:
        write(spark.range(3), table_path, "overwrite")
    assert caught.value.getErrorClass() == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    assert data_files(table_path) == before
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2, 3, 4, 5]


def test_rows_of_one_batch_are_written_once(spark, table_path, write):
    for version, rows in ((1, spark.range(3)), (1, spark.range(3)), (0, spark.range(9)), (2, spark.range(3, 5))):
        write(rows, table_path, "append", txnAppId="nightly", txnVersion=str(version))
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2, 3, 4]
    snapshot = bayou.open(table_path).snapshot()
    assert snapshot.version == 1
    assert snapshot.transactions["nightly"].version == 2
    assert len(data_files(table_path)) == snapshot.num_files


def test_a_replay_says_so(spark, table_path):
    assert bayou.write(spark.range(3), table_path, txn=("nightly", 1)).reason == ""
    replay = bayou.write(spark.range(3), table_path, txn=("nightly", 1))
    assert (replay.committed, replay.reason, replay.version) == (False, "replayed", 0)


def test_the_session_can_say_which_batch_is_written(spark, table_path):
    app, version, reset = (
        f"spark.databricks.delta.write.{name}" for name in ("txnAppId", "txnVersion", "txnVersion.autoReset.enabled")
    )
    try:
        spark.conf.set(app, "nightly")
        spark.conf.set(version, "5")
        spark.conf.set(reset, "true")
        bayou.write(spark.range(3), table_path)
        assert spark.conf.get(version, None) is None
        spark.conf.set(version, "5")
        assert bayou.write(spark.range(3), table_path, mode="append").reason == "replayed"
        assert spark.conf.get(version, None) is None, "what comes next is another batch"
        spark.conf.set(version, "many")
        with pytest.raises(InvalidOptionError, match="txnVersion"):
            bayou.write(spark.range(3), table_path, mode="append")
    finally:
        for name in (app, version, reset):
            spark.conf.unset(name)
    assert bayou.open(table_path).version() == 0


def test_each_operation_spends_the_batch_of_the_session_and_no_other(spark, table_path):
    app, version, reset = (
        f"spark.databricks.delta.write.{name}" for name in ("txnAppId", "txnVersion", "txnVersion.autoReset.enabled")
    )
    bayou.write(spark.range(9), table_path)
    table = bayou.DeltaTable.forPath(spark, table_path)
    operations = (
        lambda **_: table.delete("id = 1"),
        lambda **_: table.update("id = 2", {"id": "20"}),
        lambda **txn: table.merge(spark.range(3, 4), "false", **txn).whenNotMatchedInsertAll().execute(),
        lambda **txn: bayou.write(spark.range(1), table_path, mode="append", **txn),
    )
    try:
        spark.conf.set(app, "nightly")
        spark.conf.set(reset, "true")
        for number, operation in enumerate(operations):
            spark.conf.set(version, str(number))
            assert operation().committed
            assert spark.conf.get(version, None) is None
            spark.conf.set(version, str(number))
            assert operation().reason == "replayed"
            assert spark.conf.get(version, None) is None
        spark.conf.set(version, "9")
        for operation in operations[2:]:
            assert operation(txn=(str(operation), 1)).committed
        assert spark.conf.get(version) == "9"
    finally:
        for name in (app, version, reset):
            spark.conf.unset(name)


@pytest.mark.parametrize("options", [{"txnAppId": "a"}, {"txnVersion": "1"}, {"txnAppId": "a", "txnVersion": "-1"}])
def test_half_a_batch_id_is_refused(spark, table_path, write, options):
    with pytest.raises(InvalidOptionError) as caught:
        write(spark.range(3), table_path, "append", **options)
    wanted = "DELTA_ILLEGAL_OPTION" if len(options) == 2 else "DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS"
    assert caught.value.getErrorClass() == wanted
    assert not Path(table_path).exists()


def rival_commit(path, *actions):
    builder = TableBuilder(path)
    builder.version = bayou.open(path).version()
    builder.commit(*actions, info={"operation": "WRITE", "isBlindAppend": True})


def test_rows_that_were_read_from_the_table_itself_are_no_blind_append(spark, table_path):
    rows = spark.range(10).selectExpr("id", "cast(id % 2 as int) part")
    bayou.write(rows, table_path, partition_by=["part"])
    bayou.write(bayou.read(spark, table_path).where("part = 0"), table_path, mode="append")
    assert actions(table_path, 1, "commitInfo")[0]["isBlindAppend"] is False
    bayou.write(rows, table_path, mode="append")
    assert actions(table_path, 2, "commitInfo")[0]["isBlindAppend"] is True


@pytest.mark.parametrize(("part", "conflicts"), [(0, True), (1, False)])
def test_a_write_that_reads_its_table_conflicts_with_what_it_would_have_read(spark, table_path, monkeypatch, part, conflicts):
    rows = spark.range(10).selectExpr("id", "cast(id % 2 as int) part")
    bayou.write(rows, table_path, partition_by=["part"])
    rival = add("rival.parquet", partitionValues={"part": str(part)})
    race(monkeypatch, table_path, [rival])
    source = bayou.read(spark, table_path).where("part = 0")
    if conflicts:
        with pytest.raises(ConcurrentAppendException):
            bayou.write(source, table_path, mode="append")
    else:
        assert bayou.write(source, table_path, mode="append").version == 2


def test_reads_inside_a_transaction_see_its_snapshot_and_count_as_its_reads(spark, table_path):
    bayou.write(spark.range(10), table_path)
    log = bayou.open(table_path)
    with log.transaction("TEST") as transaction:
        frame = bayou.read(spark, table_path)
        rival_commit(table_path, add("rival.parquet", stats='{"numRecords": 1}'))
        assert frame.count() == 10
        assert spark.read.format("delta").load(table_path).count() == 10
        with pytest.raises(ConcurrentAppendException):
            transaction.commit([AddFile("new.parquet", {}, 1, 1)])
    assert bayou.open(table_path).snapshot().num_files == len(data_files(table_path)) + 1


@pytest.mark.smoke
def test_a_job_that_fails_leaves_no_file_and_no_commit(spark, table_path):
    bayou.write(spark.range(3), table_path)
    before = data_files(table_path)
    # One task: of several, one that ends after the job has failed leaves its file behind, as with Spark's own sinks.
    failing = spark.range(0, 1000, 1, 1).selectExpr("if(id = 999, raise_error('boom'), id) as id")
    with pytest.raises(Exception, match="boom"):
        bayou.write(failing, table_path, mode="append")
    with pytest.raises(Exception, match="boom"):
        failing.write.format("delta").mode("overwrite").save(table_path)
    assert data_files(table_path) == before
    assert bayou.open(table_path).version() == 0
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2]


def race(monkeypatch, path, *rivals):
    """Before our commit is tried, other writers commit these actions."""
    original = Transaction.try_commit

    def late(self, *arguments, **options):
        builder = TableBuilder(path)
        builder.version = bayou.open(path).version() if Path(path, "_delta_log").exists() else -1
        for rival in rivals:
            builder.commit(*rival)
        return original(self, *arguments, **options)

    monkeypatch.setattr(Transaction, "try_commit", late)


def test_a_blind_append_goes_on_top_of_other_writers_commits(spark, table_path, monkeypatch):
    builder = numbers_table(table_path, [1])
    rival = numbers(table_path, "rival.parquet", [2])
    race(monkeypatch, table_path, [rival], [{"txn": {"appId": "other", "version": 1}}])
    done = bayou.write(spark.range(7, 8), table_path, mode="append")
    assert (done.version, builder.version) == (4, 1)
    assert ids(bayou.read(spark, table_path)) == [1, 2, 7]
    assert actions(table_path, 4, "commitInfo")[0]["readVersion"] == 1


@pytest.mark.parametrize(
    ("mode", "rival"),
    [
        ("append", metadata({"id": "long", "more": "string"})),
        ("append", {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["appendOnly"]}}),
        ("overwrite", "a file"),
    ],
    ids=["metadata", "protocol", "overwrite"],
)
def test_a_write_that_lost_raises_and_leaves_no_file(spark, table_path, monkeypatch, mode, rival):
    numbers_table(table_path, [1])
    action = file_of(table_path, "rival.parquet", {"id": [2]}) if rival == "a file" else rival
    before = data_files(table_path)
    race(monkeypatch, table_path, [action])
    with pytest.raises(ConcurrentModificationError) as caught:
        bayou.write(spark.range(7, 8), table_path, mode=mode)
    assert caught.value.conflicting_version == 2
    assert data_files(table_path) == before
    assert bayou.open(table_path).version() == 2


def test_of_two_first_appends_at_once_both_land(spark, table_path, monkeypatch):
    race(monkeypatch, table_path, [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, metadata()])
    done = bayou.write(spark.range(3), table_path, mode="append")
    assert done.version >= 1
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2]


def test_two_creations_at_once_leave_one_table(spark, table_path, monkeypatch):
    race(monkeypatch, table_path, [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, metadata()])
    with pytest.raises(ConcurrentModificationError):
        bayou.write(spark.range(3), table_path)
    assert bayou.open(table_path).version() == 0
    assert data_files(table_path) == []


def test_an_overwrite_that_reads_its_own_table(spark, table_path):
    bayou.write(spark.range(10), table_path)
    bayou.write(bayou.read(spark, table_path).where("id >= 5"), table_path, mode="overwrite")
    assert ids(bayou.read(spark, table_path)) == [5, 6, 7, 8, 9]
    bayou.write(bayou.read(spark, table_path), table_path, mode="append")
    assert bayou.read(spark, table_path).count() == 10


def test_an_overwrite_removes_files_with_their_vectors(spark, table_path):
    from tests.spark.tables import without_rows

    protocol = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
    builder = TableBuilder(table_path).create(protocol=protocol)
    added = numbers(table_path, "a b.parquet".replace(" ", "%20"), [1, 2], **without_rows([0]))
    builder.commit(added)
    bayou.write(spark.range(1), table_path, mode="overwrite")
    (removed,) = actions(table_path, 2, "remove")
    assert (removed["path"], removed["deletionVector"]) == (added["add"]["path"], added["add"]["deletionVector"])


@pytest.mark.smoke
def test_insert_statements_write_through_the_log(spark, table_path, tmp_path):
    bayou.write(spark.sql("select 1L as id, 'a' as name"), table_path)
    name = "into_" + "".join(c if c.isalnum() else "_" for c in tmp_path.name)
    spark.sql(f"create table {name} using delta location '{table_path}'")
    try:
        spark.sql(f"insert into {name} values (2, 'b')")
        spark.sql(f"insert into {name} select id + 2, name from {name}")
        spark.range(9, 10).select("id", F.lit("z").alias("name")).write.insertInto(name)
        assert sorted(bayou.read(spark, table_path).collect()) == [(1, "a"), (2, "b"), (3, "a"), (4, "b"), (9, "z")]
        spark.sql(f"insert overwrite {name} values (5, 'e')")
        assert spark.table(name).collect() == [(5, "e")]
        assert bayou.open(table_path).version() == 4
    finally:
        spark.sql(f"drop table {name}")


def test_statements_that_would_pass_the_log_by_are_refused(spark, table_path, tmp_path):
    bayou.write(spark.sql("select 1L as id, 2 as p"), table_path, partition_by=["p"])
    name = "refused_" + "".join(c if c.isalnum() else "_" for c in tmp_path.name)
    spark.sql(f"create table {name} using delta location '{table_path}'")
    statements = [
        f"truncate table {name} partition (p = 2)",
        f"alter table {name} drop partition (p = 2)",
        f"msck repair table {name}",
        f"load data inpath '{tmp_path}' into table {name}",
    ]
    before = data_files(table_path)
    try:
        for statement in statements:
            with pytest.raises(Exception) as caught:
                spark.sql(statement).collect()
            assert "\n\tat " not in str(caught.value), statement
        assert bayou.read(spark, table_path).where("id = 1").collect() == [(1, 2)]
        live = set(bayou.open(table_path).snapshot().files(columns=["path"])["path"].to_pylist())
        assert set(before) <= live
        assert live == set(data_files(table_path))
        assert spark.table(name).columns == ["id", "p"]
    finally:
        spark.sql(f"drop table {name}")


def test_the_users_session_keeps_its_int96_setting_and_it_does_not_matter(spark, table_path):
    session = bayou.enable(spark.newSession())
    for kind in ("INT96", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS"):
        session.conf.set("spark.sql.parquet.outputTimestampType", kind)
        rows = session.sql("select timestamp'2026-01-01 00:00:00.123456' as t")
        rows.write.format("delta").mode("append").save(table_path)
        assert session.conf.get("spark.sql.parquet.outputTimestampType") == kind
    for version in range(3):
        (added,) = actions(table_path, version, "add")
        stats = json.loads(added["stats"])
        assert stats["minValues"]["t"] == "2026-01-01T00:00:00.123Z"
        assert stats["maxValues"]["t"] == "2026-01-01T00:00:00.123Z"
    values = {row.t for row in bayou.read(session, table_path).selectExpr("cast(t as string) t").collect()}
    assert values == {"2026-01-01 00:00:00.123456"}


@pytest.mark.parametrize("versions", [1, 3])
def test_a_table_whose_folder_was_deleted_is_made_anew_by_the_same_session(spark, table_path, versions):
    for number in range(versions):
        spark.range(number, number + 1).write.format("delta").mode("append").save(table_path)
    assert spark.read.format("delta").load(table_path).count() == versions
    shutil.rmtree(table_path)
    for number in range(2):
        spark.range(10 + number, 11 + number).write.format("delta").mode("append").save(table_path)
        assert bayou.open(table_path).version() == number
    assert ids(bayou.read(spark, table_path)) == [10, 11]


def test_an_overwrite_under_a_name_that_spark_drops_first(spark):
    name = f"overwritten_{uuid.uuid4().hex[:8]}"
    bayou.enable(spark)
    try:
        spark.range(3).write.format("delta").saveAsTable(name)
        spark.range(3).write.format("delta").mode("append").saveAsTable(name)
        spark.range(5, 7).write.format("delta").mode("overwrite").saveAsTable(name)
        assert ids(spark.table(name)) == [5, 6]
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.mark.parametrize(
    ("options", "codec", "encoding"),
    [
        ({}, "SNAPPY", "PLAIN"),
        ({"delta.parquet.compression.codec": "ZSTD"}, "ZSTD", "PLAIN"),
        ({"delta.parquet.compression.codec": "ZSTD", "compression": "gzip"}, "GZIP", "PLAIN"),
        ({"delta.parquet.format.version": "2.12.0"}, "SNAPPY", "DELTA_BINARY_PACKED"),
    ],
)
def test_files_are_as_the_properties_of_the_table_say_and_the_option_beats_them(spark, table_path, options, codec, encoding):
    spark.range(0, 5000, 1, 1).write.format("delta").options(**options).save(table_path)
    (file,) = Path(table_path).glob("*.parquet")
    column = pq.read_metadata(file).row_group(0).column(0)
    assert column.compression == codec
    assert encoding in column.encodings


@pytest.mark.parametrize("name", ["delta.autoOptimize", "delta.autoOptimize.optimizeWrite"])
def test_rows_are_gathered_where_the_table_says_so(spark, table_path, name):
    spark.range(0, 100, 1, 4).write.format("delta").option(name, "true").save(table_path)
    assert len(list(Path(table_path).glob("*.parquet"))) == 1
