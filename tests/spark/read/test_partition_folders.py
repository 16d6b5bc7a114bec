# SPDX-License-Identifier: Apache-2.0
"""The folder of a partition is read as those rows of its table, as delta-spark reads it, and is never written to as a table."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from tests.support.tables.built import ids

import bayou

pytestmark = pytest.mark.smoke
# Spark itself refuses to insert into what is not one folder, and into a path that its catalog does not know.
ON_CONNECT = "PATH_NOT_FOUND|UNSUPPORTED_FEATURE.TABLE_OPERATION|UNSUPPORTED_INSERT"
REFUSED = f"DELTA_UNEXPECTED_PARTIAL_SCAN|DELTA_TABLE_NOT_FOUND|TABLE_OR_VIEW_NOT_FOUND|relations with a single path|{ON_CONNECT}"


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("folders") / "t")
    rows = spark.sql(
        "select id, cast(id % 3 as int) as p, concat('a:', id % 2) as q, "
        "if(id = 7, null, date_add(date'2026-11-24', cast(id as int))) as d from range(10)"
    )
    rows.write.format("delta").partitionBy("p", "q", "d").save(path)
    return path


def read(spark, path):
    return spark.read.format("delta").load(path)


def test_a_folder_gives_the_rows_of_its_partition(spark, path):
    assert ids(read(spark, f"{path}/p=1")) == [1, 4, 7]
    assert ids(read(spark, f"{path}/p=01")) == [1, 4, 7]
    assert ids(read(spark, f"{path}/p=1/q=a%3A0")) == [4]
    assert ids(read(spark, f"{path}/q=a%3A1")) == [1, 3, 5, 7, 9]
    assert ids(read(spark, f"{path}/d=2026-11-26")) == [2]
    assert ids(read(spark, f"{path}/d=__HIVE_DEFAULT_PARTITION__")) == [7]
    assert ids(spark.sql(f"select * from delta.`{path}/p=1/q=a%3A0`")) == [4]
    assert ids(bayou.read(spark, f"{path}/p=1")) == [1, 4, 7]


def test_filters_and_counts_are_about_the_partition(spark, path):
    rows = read(spark, f"{path}/p=1")
    assert ids(rows.where("id > 1")) == [4, 7]
    assert ids(rows.where("q = 'a:1'")) == [1, 7]
    assert rows.where("p = 2").count() == 0
    assert rows.count() == 3
    assert rows.agg({"id": "max"}).first()[0] == 7
    assert len(rows.limit(2).collect()) == 2
    assert rows.join(read(spark, path), "id").count() == 3


def test_versions_of_a_folder_are_those_of_its_table(spark, tmp_path):
    path = str(tmp_path / "t")
    for _ in range(2):
        spark.range(3).selectExpr("id", "id as p").write.format("delta").partitionBy("p").mode("append").save(path)
    rows = read(spark, f"{path}/p=1")
    assert rows.count() == 2
    assert spark.read.format("delta").option("versionAsOf", 0).load(f"{path}/p=1").count() == 1
    assert read(spark, f"{path}/p=1@v0").count() == 1
    spark.range(3).selectExpr("id", "id as p").write.format("delta").mode("append").save(path)
    assert rows.count() == 3


@pytest.mark.parametrize(
    ("folder", "error_class"),
    [
        ("p=9", "DELTA_PATH_DOES_NOT_EXIST"),
        ("p=x", "DELTA_PATH_DOES_NOT_EXIST"),
        ("id=1", "DELTA_NON_PARTITION_COLUMN_SPECIFIED"),
        ("P=1", "DELTA_NON_PARTITION_COLUMN_SPECIFIED"),
        ("elsewhere", "DELTA_INVALID_PARTITION_PATH"),
        ("=1", "DELTA_INVALID_PARTITION_PATH"),
    ],
)
def test_what_is_no_partition_is_said_so(spark, path, folder, error_class):
    with pytest.raises(AnalysisException, match=error_class):
        read(spark, f"{path}/{folder}")


@pytest.mark.parametrize(
    "statement",
    [
        "delete from {} where id = 1",
        "update {} set q = 'x'",
        "merge into {} t using (select 1 as id) s on s.id = t.id when matched then delete",
        "insert into {} values (1, 1, 'x', null)",
    ],
)
@pytest.mark.parametrize("by", ["a view", "a path"])
def test_rows_are_not_changed_through_a_folder(spark, path, statement, by):
    folder = f"{path}/p=1"
    read(spark, folder).createOrReplaceTempView("a_folder")
    before = ids(read(spark, path))
    with pytest.raises(AnalysisException, match=REFUSED):
        spark.sql(statement.format("a_folder" if by == "a view" else f"delta.`{folder}`"))
    assert ids(read(spark, path)) == before


def test_a_folder_below_no_table_is_still_not_found(spark, tmp_path):
    (tmp_path / "t" / "p=1").mkdir(parents=True)
    with pytest.raises(AnalysisException, match="DELTA_TABLE_NOT_FOUND"):
        read(spark, str(tmp_path / "t" / "p=1"))
    with pytest.raises(AnalysisException, match="PATH_NOT_FOUND"):
        read(spark, str(tmp_path / "u" / "p=1"))
