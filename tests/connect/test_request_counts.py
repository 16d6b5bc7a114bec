# SPDX-License-Identifier: Apache-2.0
"""How many requests an operation sends: each costs a round trip to the server.

The limits are for a table without timestamps, of which the session has read something before. PySpark's `collect` asks for one
setting, which counts here.
"""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.cases import in_one_test

import bayou

LAST_VERSION = "spark.databricks.delta.lastCommitVersionInSession"


@pytest.fixture(scope="module")
def sent(spark):
    """The names of the service's methods that reach the server, without those that need no answer."""
    stub, seen = spark.client._stub, []
    while hasattr(stub.inner, "inner"):
        stub = stub.inner
    inner = stub.inner

    class Recorder:
        def __getattr__(self, name):
            def call(request, **options):
                if name != "ReleaseExecute":
                    seen.append(name)
                return getattr(inner, name)(request, **options)

            return call

    stub.inner = Recorder()
    yield seen
    stub.inner = inner


def rows(spark, first, end, value="b"):
    return spark.range(first, end).select("id", F.lit(value).alias("v"))


class Table:
    """A table of two columns, with operations."""

    def __init__(self, spark, path, *, vectors):
        self.spark, self.path, self.name = spark, path, f"delta.`{path}`"
        made = bayou.DeltaTable.create(spark).location(path).addColumn("id", "BIGINT").addColumn("v", "STRING")
        made.property("delta.enableDeletionVectors", str(vectors).lower()).execute()
        for first in (0, 20):
            bayou.write(rows(spark, first, first + 20), path, mode="append")
        self.table = bayou.DeltaTable.forPath(spark, path)
        self.table.delete("id = 39")
        spark.read.format("delta").load(path).collect()
        self.table.detail().collect()
        rows(spark, 4, 5).createOrReplaceTempView("changes_to_count")

    def append(self):
        rows(self.spark, 40, 42).write.format("delta").mode("append").save(self.path)

    def bayou_write(self):
        bayou.write(rows(self.spark, 42, 43), self.path, mode="append")

    def insert(self):
        self.spark.sql(f"INSERT INTO {self.name} VALUES (50, 'x')")

    def overwrite(self):
        rows(self.spark, 0, 20).write.format("delta").mode("overwrite").save(self.path)

    def replace_where(self):
        rows(self.spark, 0, 2).write.format("delta").mode("overwrite").option("replaceWhere", "id < 2").save(self.path)

    def read(self):
        assert len(self.spark.read.format("delta").load(self.path).where("id = 3").collect()) == 1

    def read_in_sql(self):
        assert len(self.spark.sql(f"SELECT * FROM {self.name} WHERE id = 3").collect()) == 1

    def delete(self):
        self.table.delete("id = 5")

    def delete_in_sql(self):
        self.spark.sql(f"DELETE FROM {self.name} WHERE id = 6")

    def update(self):
        self.table.update("id = 7", {"v": "'q'"})

    def update_in_sql(self):
        self.spark.sql(f"UPDATE {self.name} SET v = 'z' WHERE id = 8")

    def merge(self):
        merge = self.table.alias("t").merge(rows(self.spark, 9, 10).alias("s"), "t.id = s.id")
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    def merge_in_sql(self):
        merge = f"MERGE INTO {self.name} t USING changes_to_count s ON t.id = s.id"
        self.spark.sql(f"{merge} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")

    def optimize(self):
        self.table.optimize().executeCompaction()


@pytest.fixture(scope="module", params=[True, False], ids=["vectors", "rewriting"])
def table(request, spark, tmp_path_factory):
    return Table(spark, str(tmp_path_factory.mktemp("counted") / "table"), vectors=request.param)


@in_one_test(
    ("operation", "plans", "analyses", "settings"),
    [
        ("append", 1, 1, 1),
        ("bayou_write", 1, 1, 1),
        ("insert", 1, 2, 1),
        ("read", 1, 0, 2),
        ("read_in_sql", 2, 0, 2),
        ("delete", 2, 1, 1),
        ("delete_in_sql", 2, 1, 1),
        ("update", 2, 1, 1),
        ("update_in_sql", 2, 1, 1),
        ("merge", 6, 2, 2),
        ("merge_in_sql", 6, 2, 1),
        ("replace_where", 2, 3, 1),
        ("optimize", 1, 1, 4),
        ("overwrite", 1, 1, 1),
    ],
)
def test_an_operation_sends_few_requests(table, sent, operation, plans, analyses, settings):
    sent.clear()
    getattr(table, operation)()
    found = Counter(sent)
    counts = [found.pop(name, 0) for name in ("ExecutePlan", "AnalyzePlan", "Config")]
    assert not found
    assert all(map(int.__le__, counts, (plans, analyses, settings))), counts


def test_a_setting_of_the_program_counts_from_the_next_call_on(spark, tmp_path):
    path = str(tmp_path / "table")
    bayou.write(spark.range(3), path)
    spark.conf.set("spark.sql.storeAssignmentPolicy", "STRICT")
    try:
        with pytest.raises(Exception, match="Cannot safely cast"):
            spark.sql(f"INSERT INTO delta.`{path}` VALUES ('5')")
    finally:
        spark.conf.unset("spark.sql.storeAssignmentPolicy")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES ('5')")
    assert spark.read.format("delta").load(path).count() == 4


@pytest.mark.parametrize("ask", ["get", "getAll", "sql"])
def test_the_version_of_the_last_commit_is_a_setting(spark, tmp_path, ask):
    for version in range(2):
        bayou.write(spark.range(3), str(tmp_path / "table"), mode="append")
        if ask == "get":
            found = spark.conf.get(LAST_VERSION)
        elif ask == "getAll":
            found = spark.conf.getAll[LAST_VERSION]
        else:
            found = spark.sql(f"SET {LAST_VERSION}").collect()[0].value
        assert found == str(version)
