# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from tests.support.cases import in_one_test

from bayou.errors import StorageError
from bayou.storage import MemoryStore, check_spark_log_store_conf, register

JAVA = "io.delta.storage."
SCALA = "org.apache.spark.sql.delta.storage."


def impl(scheme, class_name, prefix="spark."):
    return {f"{prefix}delta.logStore.{scheme}.impl": class_name}


def refused(conf, **options):
    with pytest.raises(StorageError) as caught:
        check_spark_log_store_conf(conf, **options)
    return caught.value


def own_factory(_place, _options):
    return MemoryStore()


def test_nothing_set_is_nothing_honored():
    assert check_spark_log_store_conf({}) == {}
    other = {"spark.delta.logStore.cache": "x", "spark.master": "local", "spark.delta.logStores.s3.impl": "x"}
    assert check_spark_log_store_conf(other) == {}


@in_one_test("package", [JAVA, SCALA])
@in_one_test(
    ("scheme", "name", "store"),
    [
        ("file", "HDFSLogStore", "LocalStore"),
        ("file", "LocalLogStore", "LocalStore"),
        ("hdfs", "HDFSLogStore", "HadoopStore"),
        ("viewfs", "HDFSLogStore", "HadoopStore"),
        ("abfs", "AzureLogStore", "HadoopStore"),
        ("ABFSS", "AzureLogStore", "HadoopStore"),
        ("wasbs", "AzureLogStore", "ObjectStore"),
        ("gs", "GCSLogStore", "ObjectStore"),
    ],
)
def test_a_class_whose_writers_our_store_excludes_is_honored(package, scheme, name, store):
    for prefix in ("spark.", ""):
        assert check_spark_log_store_conf(impl(scheme, f" {package}{name} ", prefix)) == {scheme.lower(): store}


@in_one_test(
    ("scheme", "class_name", "why"),
    [
        ("s3a", f"{JAVA}S3SingleDriverLogStore", "inside one JVM"),
        ("s3", f"{SCALA}S3SingleDriverLogStore", "inside one JVM"),
        ("s3", f"{JAVA}S3DynamoDBLogStore", "DynamoDB"),
        ("s3a", f"{JAVA}S3LogStore", "inside one JVM"),
        ("s3a", f"{JAVA}GCSLogStore", "gcs, gs"),
        ("oci", f"{JAVA}OracleCloudLogStore", "Oracle"),
        ("cos", f"{JAVA}IBMCOSLogStore", "IBM"),
        ("hdfs", f"{JAVA}S3SingleDriverLogStore", "inside one JVM"),
        ("hdfs", f"{JAVA}AzureLogStore", "abfs, abfss"),
        ("s3a", f"{JAVA}HDFSLogStore", "file, hdfs, viewfs"),
        ("hdfs", "com.acme.HDFSLogStore", "JVM"),
        ("hdfs", "com.acme.delta.storage.HDFSLogStore", "JVM"),
        ("hdfs", "HDFSLogStore", "JVM"),
    ],
)
def test_every_other_class_is_refused_by_name(scheme, class_name, why):
    error = refused(impl(scheme, class_name))
    assert (error.error_class, error.sql_state) == ("DELTA_INCORRECT_LOG_STORE_IMPLEMENTATION", "0AKDC")
    assert class_name in str(error)
    assert why in str(error)
    assert f"bayou.storage.register({scheme!r}, factory)" in error.next_step


def test_only_the_scheme_that_matters_is_refused():
    conf = {**impl("gs", f"{JAVA}S3LogStore"), **impl("hdfs", f"{JAVA}HDFSLogStore")}
    assert check_spark_log_store_conf(conf, scheme="HDFS") == {"hdfs": "HadoopStore"}
    assert check_spark_log_store_conf(conf, scheme="file") == {}
    assert "S3LogStore" in str(refused(conf, scheme="gs"))
    assert "S3LogStore" in str(refused(conf))


def test_a_class_for_all_schemes_counts_for_those_that_it_is_for():
    conf = {"spark.delta.logStore.class": f"{JAVA}HDFSLogStore"}
    assert check_spark_log_store_conf(conf) == {"file": "LocalStore", "hdfs": "HadoopStore", "viewfs": "HadoopStore"}
    assert check_spark_log_store_conf(conf, scheme="hdfs") == {"hdfs": "HadoopStore"}
    assert "abfss" in str(refused(conf, scheme="abfss"))
    error = refused({"delta.logStore.class": f"{JAVA}S3SingleDriverLogStore"})
    assert "spark.delta.logStore.class" in error.next_step


def test_the_class_that_chooses_by_scheme_is_the_default():
    assert check_spark_log_store_conf({"spark.delta.logStore.class": f"{SCALA}DelegatingLogStore"}) == {}


def test_both_kinds_at_once_are_refused():
    error = refused({"delta.logStore.class": f"{JAVA}HDFSLogStore", **impl("file", f"{JAVA}LocalLogStore")}, scheme="hdfs")
    assert (error.error_class, error.sql_state) == ("DELTA_INVALID_LOGSTORE_CONF", "F0000")
    assert "spark.delta.logStore.class, spark.delta.logStore.file.impl" in str(error)


def test_a_key_has_one_value_with_and_without_its_prefix():
    same = {**impl("hdfs", f"{JAVA}HDFSLogStore"), **impl("hdfs", f"{JAVA}HDFSLogStore", "")}
    assert check_spark_log_store_conf(same) == {"hdfs": "HadoopStore"}
    error = refused({**same, **impl("hdfs", "com.acme.Store", "")})
    assert (error.error_class, error.sql_state) == ("DELTA_INCONSISTENT_LOGSTORE_CONFS", "F0000")
    assert f"spark.delta.logStore.hdfs.impl = {JAVA}HDFSLogStore" in str(error)
    assert "delta.logStore.hdfs.impl = com.acme.Store" in str(error)


def test_an_own_store_stands_for_any_class_where_bayou_has_none(monkeypatch):
    monkeypatch.setattr("bayou.storage.registry._registered", {})
    register("s3a", own_factory)
    conf = impl("s3a", f"{JAVA}S3DynamoDBLogStore")
    assert check_spark_log_store_conf(conf) == {"s3a": f"{__name__}:own_factory"}
    register("hdfs", own_factory)
    assert "com.acme.Store" in str(refused(impl("hdfs", "com.acme.Store")))
