# SPDX-License-Identifier: Apache-2.0
"""A MERGE's source in Parquet files: how many rows it has, and which keys, as its footers say it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.observing import jobs

import bayou
from bayou.errors import StorageError
from bayou.spark.dml.keys import key_values as source_keys
from bayou.spark.native.merge.source import footers as source_footers

DECRYPTS = "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"
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


@pytest.mark.smoke
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


def test_the_keys_of_a_small_source_in_files_are_told_one_by_one_without_counting_them(spark, tmp_path, table_path, counted):
    for first in (0, 100, 200):
        spark.range(first, first + 5, 1, 1).selectExpr("id", "id v").write.format("delta").mode("append").save(table_path)
    path = str(tmp_path / "source")
    spark.createDataFrame([(3, -1), (203, -1)], "id long, v long").coalesce(1).write.parquet(path)
    source = spark.read.parquet(path)
    with jobs(spark) as planning:
        plan = upsert(spark, table_path, source).plan()
    assert (planning.value, counted, plan.plan.to_read.files) == (2, [], 2)


def test_footers_tell_that_all_keys_are_null(spark, tmp_path, table_path, counted):
    spark.createDataFrame([(None, 0), (3, 0)], "id long, v long").coalesce(1).write.format("delta").save(table_path)
    path = str(tmp_path / "source.parquet")
    pq.write_table(pa.table({"id": pa.array([None] * MANY, pa.int64())}), path)
    table = bayou.DeltaTable.forPath(spark, table_path)
    table.alias("t").merge(spark.read.parquet(path).alias("s"), "t.id <=> s.id").whenMatchedDelete().execute()
    assert (rows(table), counted) == ([(3, 0)], [])


@pytest.mark.parametrize("values", [[None, 3], []])
def test_footers_tell_of_keys_that_are_null(spark, tmp_path, table_path, counted, values):
    spark.createDataFrame([(None, 0), (3, 0), (4, 0)], "id long, v long").coalesce(1).write.format("delta").save(table_path)
    path = str(tmp_path / "source.parquet")
    filler = [10_000 + n for n in range(MANY)] if values else []
    pq.write_table(
        pa.table({"id": pa.array([*values, *filler], pa.int64()), "v": pa.array([-1] * len([*values, *filler]), pa.int64())}), path
    )
    upsert(spark, table_path, spark.read.parquet(path), "t.id <=> s.id").execute()
    assert counted == []
    known = bayou.DeltaTable.forPath(spark, table_path).toDF().where("id is null or id < 10000").collect()
    assert {row.id: row.v for row in known} == {key: -1 if key in values else 0 for key in (None, 3, 4)}


def written(spark, path, **options):
    writer = spark.range(10_000, 10_000 + MANY, 1, 1).selectExpr("id", "-1L v", "1 part").write.options(**options)
    writer.parquet(path)
    return spark.read.parquet(path)


def by_arrow(spark, path, columns, **options):
    pq.write_table(pa.table(columns), f"{path}.parquet", **options)
    return spark.read.parquet(f"{path}.parquet")


def in_parts(spark, path):
    """The files have a column of the partition's name, too; Spark reads what the folder's name says."""
    Path(path, "id=10001").mkdir(parents=True)
    pq.write_table(pa.table({"id": pa.array([0] * MANY, pa.int64()), "v": of_ids()}), f"{path}/id=10001/one.parquet")
    return spark.read.schema("v long, id long").parquet(path)


def of_ids():
    return pa.array(range(10_000, 10_000 + MANY), pa.int64())


def with_summary(spark, path):
    frame, footers = written(spark, path), []
    (file,) = Path(path).glob("*.parquet")
    pq.write_table(pq.read_table(file), f"{path}/one.parquet", metadata_collector=footers)
    footers[0].set_file_path("one.parquet")
    pq.write_metadata(footers[0].schema.to_arrow_schema(), f"{path}/_metadata", metadata_collector=footers)
    file.unlink()
    return spark.read.parquet(path).select(frame.columns)


def with_option(spark, path, name, value):
    written(spark, path)
    return spark.read.option(name, value).parquet(path)


def in_json(spark, path):
    spark.range(10_000, 10_000 + MANY, 1, 1).selectExpr("id", "-1L v").write.json(path)
    return spark.read.schema("id long, v long").json(path)


COUNTED = {
    "a filter": lambda spark, path: written(spark, path).where("id > 10001"),
    "other numbers than in the files": lambda spark, path: written(spark, path).selectExpr("id + 1 id", "v"),
    "the same files twice": lambda spark, path: written(spark, path).union(spark.read.parquet(path).selectExpr("-id", "v", "part")),
    "no statistics": lambda spark, path: by_arrow(spark, path, {"id": of_ids(), "v": of_ids()}, write_statistics=False),
    "numbers without a sign": lambda spark, path: by_arrow(spark, path, {"id": of_ids().cast(pa.uint32()), "v": of_ids()}),
    "an option that may be about the store": lambda spark, path: with_option(spark, path, "hadoop.security.key.provider.path", "x"),
    "what decrypts files": lambda spark, path: with_option(spark, path, "parquet.crypto.factory.class", DECRYPTS),
    "a column in capitals": lambda spark, path: by_arrow(spark, path, {"ID": of_ids(), "v": of_ids()}),
    "a summary of the footers": with_summary,
    "folders of a partition": in_parts,
    "another format": in_json,
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("what", COUNTED)
def test_a_source_of_which_footers_do_not_tell_is_counted(spark, tmp_path, table_of_two_files, counted, what):
    source = COUNTED[what](spark, str(tmp_path / "source"))
    table = bayou.DeltaTable.forPath(spark, table_of_two_files)
    table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedDelete().execute()
    assert len(counted) == 1
    deleted = {*range(5), *range(10_000, 10_005)} - {row[0] for row in rows(table)}
    assert deleted == {*range(5), *range(10_000, 10_005)} & {row.id for row in source.select("id").collect()}
    assert deleted


@pytest.mark.parametrize(
    ("name", "value"), [("spark.sql.parquet.fieldId.read.enabled", "true"), ("parquet.crypto.factory.class", DECRYPTS)]
)
def test_footers_are_not_asked_where_the_session_reads_files_in_its_own_way(
    spark, tmp_path, table_of_two_files, counted, name, value
):
    source = written(spark, str(tmp_path / "source")).select("id", "v")
    spark.conf.set(name, value)
    try:
        upsert(spark, table_of_two_files, source).plan()
    finally:
        spark.conf.unset(name)
    assert len(counted) == 1


def test_files_that_are_read_twice_are_counted(spark, tmp_path, table_of_two_files, counted):
    path = str(tmp_path / "source")
    written(spark, path)
    source = spark.read.parquet(path, path).select("id", "v")
    table = bayou.DeltaTable.forPath(spark, table_of_two_files)
    result = table.alias("t").merge(source.alias("s"), "t.id = s.id").whenNotMatchedInsertAll().execute()
    assert (len(counted), result.num_inserted_rows) == (1, source.count() - 10)
    assert source.count() == 2 * MANY


def test_footers_that_cannot_be_read_or_are_many_are_not_asked(spark, tmp_path, table_of_two_files, counted, monkeypatch):
    source = written(spark, str(tmp_path / "source")).select("id", "v")
    for name, value in (
        ("read_footers", lambda *_: [OSError("not now")]),
        ("read_footers", unreachable),
        ("_MOST_FILES", 0),
        ("_MOST_COLUMNS", 2),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(source_footers, name, value)
            plan = upsert(spark, table_of_two_files, source).plan()
        assert plan.plan.to_read.files == 1
    assert len(counted) == 4


def unreachable(*_):
    raise StorageError("The store does not answer.")


def test_numbers_that_are_cut_off_are_not_values_in_footers(spark, tmp_path, table_path, counted):
    for number in (44, 100):
        spark.sql(f"select cast({number} as byte) id").write.format("delta").mode("append").save(table_path)
    path = str(tmp_path / "source.parquet")
    pq.write_table(pa.table({"id": pa.array([300 + 256 * n for n in range(MANY)], pa.int32())}), path)
    source = spark.read.schema("id byte").parquet(path)
    assert source.distinct().collect() == [(44,)]
    bayou.DeltaTable.forPath(spark, table_path).alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedDelete().execute()
    assert (rows(bayou.DeltaTable.forPath(spark, table_path)), len(counted)) == ([(100,)], 1)


def test_dates_that_are_read_as_numbers_are_not_values_in_footers(spark, tmp_path, table_path, counted):
    spark.sql("select 10001 id").write.format("delta").save(table_path)
    path = str(tmp_path / "source.parquet")
    pq.write_table(pa.table({"id": pa.array(range(10_000, 10_000 + MANY), pa.int32()).cast(pa.date32())}), path)
    source, table = spark.read.schema("id int").parquet(path), bayou.DeltaTable.forPath(spark, table_path)
    table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedDelete().execute()
    assert (rows(table), len(counted)) == ([], 1)


def test_bytes_are_values_in_footers_that_call_them_so(spark, tmp_path, table_path, counted):
    spark.sql("select cast(44 as byte) id").write.format("delta").save(table_path)
    path = str(tmp_path / "source")
    spark.range(MANY).selectExpr("cast(id % 100 as byte) id").coalesce(1).write.parquet(path)
    table = bayou.DeltaTable.forPath(spark, table_path)
    table.alias("t").merge(spark.read.parquet(path).alias("s"), "t.id = s.id").whenMatchedDelete().execute()
    assert (rows(table), counted) == ([], [])


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
    found = source_footers._range_of(footers, "id", 64)
    assert (found.least, found.greatest) == ((str(min(known)), str(max(known))) if known else (None, None))
    assert found.has_null == any(None in values for values in files)
