# SPDX-License-Identifier: Apache-2.0
"""What works on the local disk works on S3, and asks for no more than it needs."""

from __future__ import annotations

import pytest
from tests.object_stores.conftest import BUCKET
from tests.support.object_servers import ACCESS, Fault

import bayou
from bayou.log.checkpoint.sharding import register_log_jobs
from bayou.log.checkpoint.writer import write_checkpoint
from bayou.spark.native.session.log_jobs import SparkLogJobs
from bayou.spark.native.session.object_stores import open_session_object_store
from bayou.spark.session.application import Application
from bayou.storage import qualify
from bayou.storage.object_stores import conditional_puts


def rows(spark, path):
    return sorted(row[0] for row in spark.read.format("delta").load(path).collect())


def write(spark, path, start, end, mode="append", **options):
    spark.range(start, end).coalesce(1).write.format("delta").mode(mode).options(**options).save(path)


def on_log(server):
    """The requests for the log since the last time, by kind."""
    found = {}
    for each in server.requests:
        if "_delta_log" in each.path:
            found[each.kind] = found.get(each.kind, 0) + 1
    server.requests.clear()
    return found


@pytest.mark.parametrize("vectors", ["false", "true"])
def test_a_table_is_written_changed_and_maintained(spark, path, vectors):
    spark.sql(f"create table delta.`{path}` (id long) using delta tblproperties ('delta.enableDeletionVectors' = '{vectors}')")
    write(spark, path, 0, 50)
    write(spark, path, 50, 100)
    table = bayou.DeltaTable.forPath(spark, path)
    table.delete("id < 10")
    table.update("id = 10", {"id": "-1"})
    source = spark.range(95, 105)
    table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedDelete().whenNotMatchedInsertAll().execute()
    expected = sorted([-1, *range(11, 95), *range(100, 105)])
    assert rows(spark, path) == expected
    table.optimize().executeCompaction()
    assert rows(spark, path) == expected
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        table.vacuum(0)
    finally:
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    assert rows(spark, path) == expected
    assert len(bayou.open(path).history()) >= 7
    for shallow in (True, False):
        clone = table.clone(f"{path}.{shallow}", isShallow=shallow)
        assert sorted(row[0] for row in clone.toDF().collect()) == expected


def test_a_stream_reads_and_writes_tables(spark, path, tmp_path):
    write(spark, path, 0, 20)
    for end in (20, 40):
        if end == 40:
            write(spark, path, 20, 40)
        reading = spark.readStream.format("delta").load(path)
        writing = reading.writeStream.format("delta").option("checkpointLocation", f"{path}.checkpoint").trigger(availableNow=True)
        writing.start(f"{path}.out").awaitTermination()
        assert rows(spark, f"{path}.out") == list(range(end))


def test_every_spelling_is_the_same_table(spark, path):
    write(spark, path, 0, 5)
    other = path.replace("s3a:", "s3:")
    write(spark, other, 5, 10)
    assert rows(spark, other) == rows(spark, path) == list(range(10))
    assert spark.sql(f"select count(*) from delta.`{other}`").first()[0] == 10


def test_a_checkpoint_and_time_travel(spark, path):
    for version in range(12):
        write(spark, path, version, version + 1)
    assert rows(spark, path) == list(range(12))
    old = spark.read.format("delta").option("versionAsOf", 4).load(path)
    assert sorted(row[0] for row in old.collect()) == list(range(5))


def test_the_checkpoint_of_a_very_large_log_is_written_and_read_by_jobs(spark, path, caplog):
    jobs = SparkLogJobs(10)  # from ten files on
    take_back = register_log_jobs(jobs)
    try:
        frame = spark.range(4000).repartitionByRange(40, "id")
        frame.write.format("delta").option("delta.checkpointPolicy", "v2").save(path)
        written = write_checkpoint(bayou.open(path).snapshot(), sidecar_actions=15)
        assert len(written.files) > 3
        write(spark, path, 4000, 4010)
        Application.of(spark).logs.clear()  # as a session that has not read this log yet
        assert spark.read.format("delta").load(path).where("id = 1234").count() == 1
        assert rows(spark, path) == list(range(4010))
        assert bayou.open(path).snapshot().num_files == 41
    finally:
        take_back()
    assert not [each for each in caplog.records if each.name == "bayou"]


def test_what_an_append_asks_of_the_log(spark, path, server):
    write(spark, path, 0, 5)
    write(spark, path, 5, 10)
    spark.catalog.clearCache()  # cached DataFrames of other tests are refreshed after a write, by one more LIST
    on_log(server)
    write(spark, path, 10, 15)
    # A LIST before the commit, and one after it. What was written is not read, nor listed again for Spark's relation.
    assert on_log(server) == {"LIST": 2, "PUT": 2}
    assert spark.read.format("delta").load(path).count() == 15
    assert on_log(server) == {"LIST": 2}


def test_options_of_a_read_reach_log_and_files(spark, path):
    write(spark, path, 0, 5)
    options = {f"fs.s3a.{name}": value for name, value in (("access.key", "another"), ("secret.key", "key"))}
    assert spark.read.format("delta").options(**options).load(path).count() == 5
    with pytest.raises(Exception, match=r"no credentials.*com\.acme\.Provider"):
        spark.read.format("delta").option("fs.s3a.aws.credentials.provider", "com.acme.Provider").load(path).count()


SYSTEM_PROPERTIES = "software.amazon.awssdk.auth.credentials.SystemPropertyCredentialsProvider"


def test_credentials_of_a_class_of_javas_reach_the_log_too(spark, server, path):
    """A class that only the JVM has gives the credentials, as those of a role, a profile or a vault do."""
    write(spark, path, 0, 5)
    option = {"fs.s3a.aws.credentials.provider": SYSTEM_PROPERTIES}
    system = spark._jvm.java.lang.System
    names = ("aws.accessKeyId", "aws.secretAccessKey", "aws.sessionToken")
    try:
        for name in names:
            system.setProperty(name, f"of-java{name}")
        store = open_session_object_store(qualify(path), option)
        store.read("_delta_log/00000000000000000000.json")
        assert "of-javaaws.accessKeyId" in server.requests[-1].authorization
        # New ones are asked for once the server says that the old ones are over.
        system.setProperty(names[0], "newer")
        server.requests.clear()
        server.fault = lambda request: Fault(400, "ExpiredToken") if "of-java" in request.authorization else None
        store.read("_delta_log/00000000000000000000.json")
        assert ["newer" in each.authorization for each in server.requests] == [False, True]
        assert spark.read.format("delta").options(**option).load(path).count() == 5
    finally:
        for name in names:
            system.clearProperty(name)


def test_a_token_that_the_session_has_renewed_is_taken(spark, server, path):
    write(spark, path, 0, 5)
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    name = f"fs.s3a.bucket.{BUCKET}.access.key"
    store = open_session_object_store(qualify(path), {})
    try:
        hadoop.set(name, "renewed")
        server.fault = lambda request: None if "renewed" in request.authorization else Fault(400, "ExpiredToken")
        assert store.read("_delta_log/00000000000000000000.json")
    finally:
        hadoop.set(name, "access")


def test_a_refused_request_is_an_error_that_says_what_to_do(spark, path, server):
    write(spark, path, 0, 5)
    server.fault = lambda request: Fault(403, "AccessDenied") if "_delta_log" in request.path else None
    with pytest.raises(Exception, match="permissions to list the bucket"):
        spark.read.format("delta").load(path.replace("ü", "u")).count()


def test_a_commit_that_cannot_be_put_leaves_no_file(spark, path, server):
    write(spark, path, 0, 5)
    server.fault = lambda request: Fault(403, "AccessDenied") if request.method == "PUT" and ".json" in request.path else None
    with pytest.raises(Exception, match="AccessDenied"):
        write(spark, path, 5, 10)
    server.fault = lambda _: None
    assert rows(spark, path) == list(range(5))
    store = bayou.open(path).store
    assert len([each for each in store.list_from("") if each.name.endswith(".parquet")]) == 1


@pytest.mark.filterwarnings("ignore:.*as single_writer asks")
def test_a_server_that_does_not_obey_needs_a_single_writer(spark, path, server, monkeypatch):
    monkeypatch.setattr(conditional_puts, "_answers", {})
    server.fault = lambda request: Fault(without="if-none-match") if request.method == "PUT" else None
    with pytest.raises(Exception, match="single_writer=true"):
        write(spark, path, 0, 5)
    write(spark, path, 0, 5, single_writer="true")
    write(spark, path, 5, 10, single_writer="true")
    assert rows(spark, path) == list(range(10))


def test_a_session_without_the_file_system_is_told_what_it_lacks(spark):
    with pytest.raises(
        Exception, match=r"spark\.jars\.packages=(com\.google\.cloud\.bigdataoss:gcs-connector|org\.apache\.hadoop:hadoop-gcp):\w+"
    ):
        spark.read.format("delta").load("gs://bucket/t").count()
    with pytest.raises(Exception, match="abfss://CONTAINER@ACCOUNT"):
        spark.read.format("delta").load("az://container/t").count()


def test_a_table_of_a_session_is_opened_without_one(spark, path, server):
    write(spark, path, 0, 5)
    log = bayou.open(path, storage_options={**ACCESS, "AWS_ENDPOINT_URL": server.url})
    assert log.snapshot().num_files == 1
    assert [each.version for each in log.history()] == [0]
