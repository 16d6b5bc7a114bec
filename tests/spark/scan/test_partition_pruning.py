# SPDX-License-Identifier: Apache-2.0
"""Partition filters leave the plan, so the listing must apply them exactly: judged by the same filter on the same rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.observing import files_read, plan_of
from tests.support.tables.built import file_of, ids

import bayou
from bayou.testing.table_builder import TableBuilder

TYPES = {"s": "string", "i": "integer", "d": "date", "t": "timestamp", "b": "boolean", "m": "decimal(10,2)", "f": "double"}
SQL_TYPES = {**TYPES, "i": "int"}
VALUES = {
    "s": ["a", "B", "ab", "7", " 7 ", "ü", "__HIVE_DEFAULT_PARTITION__", "x/y=z%25", None],
    "i": ["-1", "0", "3", "7", "2147483647", None],
    "d": ["2026-01-01", "2025-12-31", "1582-10-04", "0001-01-01", "9999-12-31", None],
    "t": ["2026-01-01 00:00:00", "2025-12-31T23:30:00.000000Z", "1900-01-01 00:00:00.123456", None],
    "b": ["true", "false", None],
    "m": ["1.50", "-99999999.99", "0.00", None],
    "f": ["NaN", "-0.0", "0.0", "1.5", "Infinity", None],
}
ROWS = [
    {name: VALUES[name][(number * (place + 1) + number // 5) % len(VALUES[name])] for place, name in enumerate(TYPES)}
    for number in range(36)
]

ATOMS = [
    *("s = 'a'", "s > 'B'", "s is null", "s <=> null", "s <=> 'ab'", "s in ('a', '7', null)", "s not in ('a', 'ü')"),
    *("substring(s, 1, 1) = 'a'", "upper(s) = 'AB'", "s like '%b'", "s rlike '^[a-z]+$'", "length(s) > 2"),
    *("try_cast(s as int) = 7", "coalesce(s, 'none') = 'none'", "hash(s) % 2 = 0", "concat(s, i) = 'a3'", "s = ''"),
    *("i > 0", "i >= 3 and i < 8", "i = 3.0", "cast(i as string) = '3'", "i % 2 = 1", "i between -1 and 3", "i is not null"),
    *("try_add(i, 1) > 1", "i > 2.5", "i <=> cast(null as int)", "i in (0, 7)", "abs(i) = 1", "length(s) > i"),
    *("d = date'2026-01-01'", "year(d) < 2026", "d > '2025-06-01'", "d < timestamp'2026-01-01 00:00:01'", "month(d) = 12"),
    *("d in (date'1582-10-04', date'9999-12-31')", "date_add(d, 1) = date'2026-01-01'", "cast(d as string) like '2%'"),
    *("t >= timestamp'2026-01-01'", "hour(t) = 23", "cast(t as date) = d", "t < '2025-12-31 23:30:01'", "t is null"),
    *("b", "not b", "b is null", "b = (i > 0)", "case when b then i else 1 end > 0"),
    *("m > 1", "m = 1.5", "m + i > 2", "m in (0, 1.50)", "floor(m) = 1", "f = 0", "f > 1.5", "isnan(f)", "f <=> double('NaN')"),
    *("true", "cast(null as boolean)", "id % 2 = 0", "id > i", "id < 20 or s = 'a'", "rand(0) < 2"),
]
CONDITIONS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda condition: f"(not {condition})"),
        inner.map(lambda condition: f"(({condition}) is null)"),
    ),
    max_leaves=4,
)


def literal(value, name):
    return f"cast(null as {SQL_TYPES[name]})" if value is None else f"cast('{value}' as {SQL_TYPES[name]})"


@pytest.fixture(scope="module")
def partitioned(spark, tmp_path_factory):
    """The table as a DataFrame, and its rows as one that no file is behind."""
    path = str(tmp_path_factory.mktemp("partitioned"))
    builder = TableBuilder(path).create({"id": "long", **TYPES}, partition_by=list(TYPES))
    builder.commit(*(file_of(path, f"{n}.parquet", {"id": [2 * n, 2 * n + 1]}, partitionValues=row) for n, row in enumerate(ROWS)))
    values = ", ".join(
        f"({identity}L, {', '.join(literal(value, name) for name, value in ROWS[identity // 2].items())})"
        for identity in range(2 * len(ROWS))
    )
    plain = spark.sql(f"select * from values {values} as t(id, {', '.join(TYPES)})")
    return bayou.read(spark, path), plain


@pytest.mark.smoke
def test_partition_values_are_read_as_they_were_meant(partitioned):
    table, plain = partitioned
    assert table.dtypes == plain.dtypes
    texts = [f"cast({name} as string)" for name in table.columns]
    assert sorted(table.selectExpr(*texts).collect(), key=str) == sorted(plain.selectExpr(*texts).collect(), key=str)


@given(condition=CONDITIONS)
def test_a_filter_leaves_the_rows_that_it_leaves_of_a_plain_dataframe(partitioned, condition):
    table, plain = partitioned
    assert ids(table.where(condition)) == ids(plain.where(condition))


@pytest.mark.parametrize("condition", ["s = 'nowhere'", "s = 'a' and s is null", "i > 3 and i < 2", "d = date'2000-02-29'"])
def test_a_filter_that_no_partition_passes_leaves_no_row(partitioned, condition):
    assert partitioned[0].where(condition).collect() == []


@pytest.mark.parametrize(
    "condition",
    [
        "i > 0",
        "s = 'a' or d is null",
        "upper(s) = 'AB' and i is not null",
        "hour(t) = 23",
        "length(s) > i",
        "not b",
        "f <=> double('NaN')",
    ],
)
def test_only_files_of_matching_partitions_are_read(partitioned, condition):
    table, plain = partitioned
    filtered = table.where(condition)
    expected = ids(plain.where(condition).selectExpr("id div 2").distinct())
    assert sorted({i // 2 for i in ids(filtered)}) == expected
    assert files_read(filtered) == len(expected) < len(ROWS)


def test_a_python_function_of_partition_columns_sees_their_values(partitioned):
    table, plain = partitioned
    is_short = F.udf(lambda s, i: s is not None and len(s) > 1 and (i or 0) < 5, "boolean")
    condition = is_short("s", "i") & (F.col("id") > 3)
    assert ids(table.where(condition)) == ids(plain.where(condition))
    assert ids(table.where(is_short("s", "i") | F.col("b"))) == ids(plain.where(is_short("s", "i") | F.col("b")))


@pytest.mark.parametrize(
    "query",
    [
        "select id from {t} where i = (select max(i) from {p} where i < 100)",
        "select id from {t} where s in (select s from {p} where i = 3)",
        "select id from {t} where s not in (select s from {p} where i = 3 and s is not null)",
        "select a.id from {t} a where exists (select 1 from {p} b where a.d = b.d and b.i = 0)",
        "select id from {t} where i > (select min(i) from {t}) and d = (select max(d) from {t} where d < date'9999-01-01')",
        "select a.id from {t} a left join {p} b on a.s = b.s and b.i = 3 where b.id is null",
    ],
)
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_subqueries_over_partition_columns(spark, partitioned, query, adaptive):
    table, plain = partitioned
    table.createOrReplaceTempView("the_table")
    plain.createOrReplaceTempView("the_plain")
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        found = ids(spark.sql(query.format(t="the_table", p="the_plain")))
        assert found == ids(spark.sql(query.format(t="the_plain", p="the_plain")))
        assert found
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.mark.smoke
def test_a_join_prunes_partitions_at_run_time(spark, tmp_path):
    facts, dimension = str(tmp_path / "facts"), str(tmp_path / "dimension")
    builder = TableBuilder(facts).create({"id": "long", "p": "integer"}, partition_by=["p"])
    builder.commit(*(file_of(facts, f"{n}.parquet", {"id": [n]}, partitionValues={"p": str(n)}) for n in range(10)))
    builder = TableBuilder(dimension).create({"k": "integer", "name": "string"})
    builder.commit(file_of(dimension, "0.parquet", spark_types({"k": list(range(10)), "name": [f"n{i}" for i in range(10)]})))
    joined = bayou.read(spark, facts).join(bayou.read(spark, dimension).where("name = 'n4'"), F.col("p") == F.col("k"))
    assert ids(joined.select("id")) == [4]
    joined.collect()
    assert "dynamicpruning" in plan_of(joined)
    assert files_read(joined) == 2


def spark_types(columns):
    import pyarrow as pa

    return {
        name: pa.array(values, pa.int32()) if isinstance(values[0], int) else pa.array(values) for name, values in columns.items()
    }


def test_timestamps_without_a_zone_are_of_the_sessions_zone(spark, table_path):
    builder = TableBuilder(table_path).create({"id": "long", "t": "timestamp"}, partition_by=["t"])
    values = ["2026-01-01 00:00:00", "2026-01-01T00:00:00.000000Z"]
    builder.commit(*(file_of(table_path, f"{n}.parquet", {"id": [n]}, partitionValues={"t": v}) for n, v in enumerate(values)))
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    rows = session.read.format("delta").load(table_path).selectExpr("id", "unix_seconds(t) s").orderBy("id").collect()
    assert rows[0].s - rows[1].s == 5 * 3600


@pytest.mark.parametrize(
    ("condition", "expected"),
    [("t = timestamp'2026-01-01 00:00:00'", [0]), ("t > timestamp'2026-01-01 00:00:00' - interval 1 hour", [0])],
)
def test_a_filter_on_timestamps_without_a_zone_means_the_sessions_zone(spark, table_path, condition, expected):
    builder = TableBuilder(table_path).create({"id": "long", "t": "timestamp"}, partition_by=["t"])
    values = ["2026-01-01 00:00:00", "2026-01-01T00:00:00.000000Z"]
    builder.commit(*(file_of(table_path, f"{n}.parquet", {"id": [n]}, partitionValues={"t": v}) for n, v in enumerate(values)))
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    assert ids(bayou.read(session, table_path).where(condition)) == expected


def test_an_extreme_of_timestamps_without_a_zone_means_the_sessions_zone(spark, table_path):
    builder = TableBuilder(table_path).create({"id": "long", "t": "timestamp"}, partition_by=["t"])
    values = ["2026-01-01 00:00:00", "2026-01-01T01:00:00.000000Z"]
    builder.commit(*(file_of(table_path, f"{n}.parquet", {"id": [n]}, partitionValues={"t": v}) for n, v in enumerate(values)))
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    frame = bayou.read(session, table_path).selectExpr("min(t) low", "max(t) high")
    rows = frame.selectExpr("cast(low as string)", "cast(high as string)").collect()
    assert rows == [("2025-12-31 20:00:00", "2026-01-01 00:00:00")]


def test_a_malformed_partition_value_is_null_also_under_ansi_rules(spark, table_path):
    builder = TableBuilder(table_path).create({"id": "long", "i": "integer"}, partition_by=["i"])
    values = ["five", "5", "99999999999", " 5 "]
    builder.commit(*(file_of(table_path, f"{n}.parquet", {"id": [n]}, partitionValues={"i": v}) for n, v in enumerate(values)))
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.ansi.enabled", "true")
    frame = bayou.read(session, table_path)
    assert ids(frame.where("i is null")) == [0, 2]
    assert ids(frame.where("i = 5")) == [1, 3]
