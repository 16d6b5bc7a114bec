# SPDX-License-Identifier: Apache-2.0
"""A MERGE's source in Parquet files: how many rows it has, and which keys, as its footers say it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.spark.counting import jobs

import bayou
from bayou.errors import StorageError
from bayou.spark.dml.merge import source_footers, source_keys

INT_64 = st.integers(-(2**63), 2**63 - 1)
MANY = source_keys.MOST_VALUES + 1


def rows(table):
    return sorted(tuple(row) for row in table.toDF().collect())


def upsert(spark, table_path, source, condition="t.id = s.id"):
    table = bayou.DeltaTable.forPath(spark, table_path)
    return table.alias("t").merge(source.alias("s"), condition).whenMatchedUpdateAll().whenNotMatchedInsertAll()


@pytest.fixture
def counted(monkeypatch):
    """The sources whose rows a job counted."""
    calls, count = [], source_keys._counted

    def noted(frame, keys):
        calls.append(frame)
        return count(frame, keys)

    monkeypatch.setattr(source_keys, "_counted", noted)
    return calls


@pytest.fixture
def table_of_two_files(spark, table_path):
    for first in (0, 10_000):
        spark.range(first, first + 5, 1, 1).selectExpr("id", "id v").write.format("delta").mode("append").save(table_path)
    return table_path


def test_a_source_in_parquet_files_is_not_counted_by_a_job(spark, tmp_path, table_of_two_files, counted):
    path = str(tmp_path / "source")
    spark.range(10_003, 10_003 + MANY, 1, 2).selectExpr("id", "-1L v").write.parquet(path)
    source = spark.read.parquet(path)
    with jobs(spark) as planning:
        plan = upsert(spark, table_of_two_files, source).plan()
    assert (planning.value, counted, plan.plan.to_read.files) == (0, [], 1)
    plan.execute()
    found = rows(bayou.DeltaTable.forPath(spark, table_of_two_files))
    assert found == [*((n, n) for n in (*range(5), 10_000, 10_001, 10_002)), *((10_003 + n, -1) for n in range(MANY))]


def test_the_keys_of_a_small_source_in_files_are_told_one_by_one_in_one_job(spark, tmp_path, table_path, counted):
    for first in (0, 100, 200):
        spark.range(first, first + 5, 1, 1).selectExpr("id", "id v").write.format("delta").mode("append").save(table_path)
    path = str(tmp_path / "source")
    spark.createDataFrame([(3, -1), (203, -1)], "id long, v long").coalesce(1).write.parquet(path)
    source = spark.read.parquet(path)
    with jobs(spark) as planning:
        plan = upsert(spark, table_path, source).plan()
    assert (planning.value <= 2, counted, plan.plan.to_read.files) == (True, [], 2)


@pytest.mark.parametrize("values", [[None, 3, None], [None, None], []])
def test_footers_tell_of_keys_that_are_null(spark, tmp_path, table_path, counted, values):
    spark.createDataFrame([(None, 0), (3, 0), (4, 0)], "id long, v long").coalesce(1).write.format("delta").save(table_path)
    path = str(tmp_path / "source.parquet")
    keys = list(dict.fromkeys(values))
    filler = [10_000 + n for n in range(MANY)] if keys else []
    pq.write_table(
        pa.table({"id": pa.array([*keys, *filler], pa.int64()), "v": pa.array([-1] * len([*keys, *filler]), pa.int64())}), path
    )
    upsert(spark, table_path, spark.read.parquet(path), "t.id <=> s.id").execute()
    assert counted == []
    known = bayou.DeltaTable.forPath(spark, table_path).toDF().where("id is null or id < 10000").collect()
    assert {row.id: row.v for row in known} == {key: -1 if key in keys else 0 for key in (None, 3, 4)}


def written(spark, path, **options):
    writer = spark.range(10_000, 10_000 + MANY, 1, 1).selectExpr("id", "-1L v", "1 part").write.options(**options)
    writer.parquet(path)
    return spark.read.parquet(path)


def by_arrow(spark, path, columns, **options):
    pq.write_table(pa.table(columns), f"{path}.parquet", **options)
    return spark.read.parquet(f"{path}.parquet")


def in_parts(spark, path):
    frame = spark.range(10_000, 10_000 + MANY, 1, 1).selectExpr("-1L v", "id div 5000 * 5000 id")
    frame.dropDuplicates(["id"]).write.partitionBy("id").parquet(path)
    return spark.read.parquet(path).selectExpr("cast(id as bigint) id", "v")


def of_ids():
    return pa.array(range(10_000, 10_000 + MANY), pa.int64())


def in_json(spark, path):
    spark.range(10_000, 10_000 + MANY, 1, 1).selectExpr("id", "-1L v").write.json(path)
    return spark.read.schema("id long, v long").json(path)


COUNTED = {
    "a filter": lambda spark, path: written(spark, path).where("id > 10001"),
    "other numbers than in the files": lambda spark, path: written(spark, path).selectExpr("id + 1 id", "v"),
    "the same files twice": lambda spark, path: written(spark, path).union(spark.read.parquet(path).selectExpr("-id", "v", "part")),
    "no statistics": lambda spark, path: by_arrow(spark, path, {"id": of_ids(), "v": of_ids()}, write_statistics=False),
    "numbers without a sign": lambda spark, path: by_arrow(spark, path, {"id": of_ids().cast(pa.uint32()), "v": of_ids()}),
    "decimals": lambda spark, path: by_arrow(spark, path, {"id": of_ids().cast(pa.decimal128(19, 0)), "v": of_ids()}),
    "a column in capitals": lambda spark, path: by_arrow(spark, path, {"ID": of_ids(), "v": of_ids()}),
    "folders of a partition": in_parts,
    "another format": in_json,
}


@pytest.mark.parametrize("what", COUNTED)
def test_a_source_of_which_footers_do_not_tell_is_counted(spark, tmp_path, table_of_two_files, counted, what):
    source = COUNTED[what](spark, str(tmp_path / "source"))
    merge = bayou.DeltaTable.forPath(spark, table_of_two_files).alias("t").merge(source.alias("s"), "t.id = s.id")
    merge.whenMatchedUpdate(set={"v": "-1"}).execute()
    assert len(counted) == 1
    found = {row.id for row in source.select("id").collect()}
    changed = {row[0] for row in rows(bayou.DeltaTable.forPath(spark, table_of_two_files)) if row[1] == -1}
    assert changed == found & {*range(5), *range(10_000, 10_005)}
    assert changed


def test_field_ids_decide_which_column_is_read_where_the_session_says_so(spark, tmp_path, table_of_two_files, counted):
    source = written(spark, str(tmp_path / "source"))
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    try:
        upsert(spark, table_of_two_files, source.select("id", "v")).plan()
    finally:
        spark.conf.unset("spark.sql.parquet.fieldId.read.enabled")
    assert len(counted) == 1


def test_footers_that_cannot_be_read_or_are_many_are_not_asked(spark, tmp_path, table_of_two_files, counted, monkeypatch):
    source = written(spark, str(tmp_path / "source")).select("id", "v")
    for name, value in (("read_footers", lambda *_: [OSError("not now")]), ("read_footers", unreachable), ("_MOST_FILES", 0)):
        with monkeypatch.context() as patch:
            patch.setattr(source_footers, name, value)
            plan = upsert(spark, table_of_two_files, source).plan()
        assert plan.plan.to_read.files == 1
    assert len(counted) == 3


def unreachable(*_):
    raise StorageError("The store does not answer.")


def test_a_field_of_a_struct_is_not_taken_for_a_column(spark, tmp_path, table_path, counted):
    spark.sql("select 10001L `a.b`, 0L v").write.format("delta").save(table_path)
    path = str(tmp_path / "source.parquet")
    struct = pa.StructArray.from_arrays([pa.array([1] * MANY, pa.int64())], ["b"])
    pq.write_table(pa.table({"a": struct, "v": of_ids()}), path)
    source = spark.read.schema("`a.b` long, v long").parquet(path)
    upsert(spark, table_path, source, "t.`a.b` <=> s.`a.b`").plan()
    assert len(counted) == 1


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.lists(st.lists(st.none() | INT_64, max_size=12), min_size=1, max_size=3), size=st.integers(1, 5))
def test_footers_tell_the_range_of_a_column_and_whether_it_is_null(tmp_path, files, size):
    footers = []
    for number, values in enumerate(files):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"id": pa.array(values, pa.int64())}), path, row_group_size=size)
        footers.append(pq.read_metadata(path))
    known = [each for values in files for each in values if each is not None]
    found = source_footers._range_of(footers, "id")
    assert (found.least, found.greatest) == ((str(min(known)), str(max(known))) if known else (None, None))
    assert found.has_null == any(None in values for values in files)
