# SPDX-License-Identifier: Apache-2.0
"""What a write leaves behind: what its commit says, and files that are named, placed and encoded as Spark's are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.support.operations.writes import actions, commit_of, data_files

import bayou
from bayou.errors import UnsupportedFeatureError


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
    (file,) = Path(table_path).rglob("*.parquet")
    column = pq.read_metadata(file).row_group(0).column(0)
    assert column.compression == codec
    assert encoding in column.encodings


@pytest.mark.parametrize("name", ["delta.autoOptimize", "delta.autoOptimize.optimizeWrite"])
def test_rows_are_gathered_where_the_table_says_so(spark, table_path, name):
    spark.range(0, 100, 1, 4).write.format("delta").option(name, "true").save(table_path)
    assert len(list(Path(table_path).rglob("*.parquet"))) == 1
