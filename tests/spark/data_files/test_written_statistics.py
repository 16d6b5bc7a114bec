# SPDX-License-Identifier: Apache-2.0
"""The statistics that our writer puts into the log, for each type; a bound that is not sure is not there."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

import bayou
from bayou.protocol.actions.file_names import commit_path

TOP = "\U0010ffff"
CASES = {
    "boolean": ("values (true), (false), (null)", None, None, 1),
    "tinyint": ("values (1Y), (-2Y)", -2, 1, 0),
    "int": ("values (1), (null), (3)", 1, 3, 1),
    "bigint": ("values (9223372036854775807L), (-9223372036854775807L)", -9223372036854775807, 9223372036854775807, 0),
    "double": ("values (1.5D), (-2D)", -2.0, 1.5, 0),
    "float": ("values (float('0.5')), (null)", 0.5, 0.5, 1),
    "double with NaN": ("values (1.5D), (double('NaN'))", None, None, 0),
    "double with infinity": ("values (1.5D), (double('Infinity'))", 1.5, "Infinity", 0),
    "decimal": ("values (1.50BD), (-3.25BD)", "-3.25", "1.50", 0),
    "wide decimal": (
        "values (cast('1234567890123456789012345678.0123456789' as decimal(38,10))), (cast(0 as decimal(38,10)))",
        "0E-10",
        "1234567890123456789012345678.0123456789",
        0,
    ),
    "date": ("values (date'2026-01-02'), (date'0001-01-01')", "0001-01-01", "2026-01-02", 0),
    "timestamp": (
        "values (timestamp'2026-01-01 00:00:00.123456Z'), (timestamp'1900-01-01 00:00:00.000001Z')",
        "1900-01-01T00:00:00.000Z",
        "2026-01-01T00:00:00.123Z",
        0,
    ),
    "timestamp_ntz": (
        "values (timestamp_ntz'2026-01-01 01:02:03.123456')",
        "2026-01-01T01:02:03.123",
        "2026-01-01T01:02:03.123",
        0,
    ),
    "string": ("values ('b'), ('a'), (null)", "a", "b", 1),
    "empty string": ("values ('')", "", "", 0),
    "long string": ("select repeat('a', 33) v", "a" * 32, "a" * 32 + "\x7f", 0),
    "string of 32": ("select repeat('a', 32) v", "a" * 32, "a" * 32, 0),
    "binary": ("values (unhex('00'))", None, None, 0),
    "only NULL": ("select cast(null as int) v from range(3)", None, None, 3),
}


def stats_of(path, version=0):
    lines = Path(path, commit_path(version)).read_text(encoding="utf-8").splitlines()
    adds = [json.loads(line)["add"] for line in lines if line.startswith('{"add"')]
    return [json.loads(add["stats"], parse_float=Decimal) for add in adds]


def same(bound, expected):
    """Whether a bound is the number or the text that it should be."""
    if isinstance(bound, Decimal) or (isinstance(bound, int) and isinstance(expected, str)):
        return bound == Decimal(str(expected))
    return bound == expected


@pytest.mark.smoke
@pytest.mark.parametrize("case", CASES)
def test_bounds_and_null_counts_of_each_type(spark, table_path, case):
    query, low, high, nulls = CASES[case]
    rows = spark.sql(query).toDF("v").coalesce(1)
    count = rows.count()
    bayou.write(rows, table_path)
    (stats,) = stats_of(table_path)
    assert stats["numRecords"] == count
    assert same(stats.get("minValues", {}).get("v"), low)
    assert same(stats.get("maxValues", {}).get("v"), high)
    assert stats["nullCount"]["v"] == nulls
    json.loads(json.dumps(stats, default=str), parse_constant=pytest.fail)


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (TOP * 33, TOP * 32, None),
        ("a" * 31 + TOP + "b", "a" * 31 + TOP, "above"),
        ("ü" * 40, "ü" * 32, "ü" * 32 + TOP),
        ("😀" * 33, "😀" * 32, "above"),
        ("a" * 31 + "\ud7ff" + "z", "a" * 31 + "\ud7ff", "above"),
        ('q"\\\n\u0000x', 'q"\\\n\u0000x', 'q"\\\n\u0000x'),
    ],
    ids=["highest character", "ends with the highest", "two bytes", "four bytes", "before the surrogates", "escapes"],
)
def test_bounds_of_long_and_odd_strings_hold_the_value(spark, table_path, value, low, high):
    bayou.write(spark.createDataFrame([(value,)], "v string").coalesce(1), table_path)
    (stats,) = stats_of(table_path)
    assert stats["minValues"]["v"] == low
    if high == "above":
        assert stats["maxValues"]["v"].encode() >= value.encode()
    elif high is None:
        assert "v" not in stats.get("maxValues", {}) or stats["maxValues"]["v"].encode() >= value.encode()
    else:
        assert stats["maxValues"]["v"] == high
    assert bayou.read(spark, table_path).where(f"v >= repeat('{value[0]}', 2)" if value[0] != "q" else "v like 'q%'").count() == 1


def test_nested_columns_have_statistics_and_arrays_and_maps_a_null_count_where_nothing_in_them_is_null(spark, table_path):
    rows = spark.sql(
        """select 1 as a, struct(2 as b, struct('x' as d) as c) as s, array(1, null) as l, map('k', cast(null as int)) as m,
        array(struct(1 as e)) as ls, cast(null as struct<f: int>) as n, cast(null as array<int>) as nl,
        cast(array() as array<int>) as el, array(array(1), array(2, 3)) as ll, cast(map() as map<int, int>) as em"""
    )
    bayou.write(rows.coalesce(1), table_path)
    (stats,) = stats_of(table_path)
    assert stats["minValues"] == stats["maxValues"] == {"a": 1, "s": {"b": 2, "c": {"d": "x"}}}
    assert stats["nullCount"] == {"a": 0, "s": {"b": 0, "c": {"d": 0}}, "m": 0, "ls": 0, "n": {"f": 1}, "ll": 0}
    assert bayou.read(spark, table_path).where("ll is not null and em is not null and nl is null").count() == 1
    assert bayou.read(spark, table_path).where("ll is null or m is null").count() == 0


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_files_that_may_get_vectors_say_that_their_bounds_are_tight(spark, table_path, vectors):
    bayou.write(spark.range(3).coalesce(1), table_path, **{"delta.enableDeletionVectors": vectors})
    (stats,) = stats_of(table_path)
    assert stats.get("tightBounds") == (True if vectors == "true" else None)


PROPERTIES = {
    "the first two": ({"delta.dataSkippingNumIndexedCols": "2"}, {"a", "b"}),
    "none": ({"delta.dataSkippingNumIndexedCols": "0"}, set()),
    "all": ({"delta.dataSkippingNumIndexedCols": "-1"}, {"a", "b", "s", "c40"}),
    "named": ({"delta.dataSkippingStatsColumns": "s.y, b"}, {"s", "b"}),
    "named before counted": ({"delta.dataSkippingStatsColumns": "b", "delta.dataSkippingNumIndexedCols": "2"}, {"b"}),
}


@pytest.mark.parametrize("case", PROPERTIES)
@pytest.mark.parametrize("way", ["bayou.write", "save"])
def test_properties_choose_the_columns_with_statistics(spark, table_path, case, way):
    properties, expected = PROPERTIES[case]
    rest = [f"{n} as c{n}" for n in range(5, 41)]
    rows = spark.range(1).selectExpr("1 as a", "2 as b", "struct(3 as x, 4 as y) as s", *rest).coalesce(1)
    if way == "save":
        rows.write.format("delta").options(**properties).save(table_path)
    else:
        bayou.write(rows, table_path, **properties)
    (stats,) = stats_of(table_path)
    found = set(stats.get("minValues", {}))
    assert found & {"a", "b", "s", "c40"} == expected
    if case == "named":
        assert stats["minValues"]["s"] == {"y": 4}
    bayou.write(rows, table_path, mode="append")
    assert set(stats_of(table_path, 1)[0].get("minValues", {})) == found


def test_only_the_first_32_leaves_have_statistics_by_default(spark, table_path):
    rows = spark.range(1).selectExpr("struct(1 as x, 2 as y) as s", *(f"{n} as c{n}" for n in range(40))).coalesce(1)
    bayou.write(rows, table_path)
    (stats,) = stats_of(table_path)
    assert list(stats["minValues"]) == ["s", *(f"c{n}" for n in range(30))]


def test_partition_columns_have_no_statistics(spark, table_path):
    bayou.write(spark.sql("select 1 as id, 2 as p"), table_path, partition_by=["p"])
    (stats,) = stats_of(table_path)
    assert stats == {"numRecords": 1, "minValues": {"id": 1}, "maxValues": {"id": 1}, "nullCount": {"id": 0}}


def test_several_row_groups_are_taken_together(spark, table_path):
    rows = spark.range(0, 20_000, 1, 1).selectExpr("id", "if(id > 15000, null, id) as n", "repeat(cast(id as string), 20) as s")
    bayou.write(rows, table_path, **{"parquet.block.size": "65536", "parquet.page.size": "1024"})
    import pyarrow.parquet as pq

    (file,) = Path(table_path).rglob("*.parquet")
    assert pq.read_metadata(file).num_row_groups > 1
    (stats,) = stats_of(table_path)
    assert (stats["minValues"]["id"], stats["maxValues"]["id"]) == (0, 19_999)
    assert (stats["maxValues"]["n"], stats["nullCount"]["n"]) == (15_000, 4_999)


def test_a_value_that_is_too_long_for_a_footer_costs_its_columns_statistics_alone(spark, table_path):
    bayou.write(spark.sql("select 1 as id, repeat('x', 5000) as s union all select 2, null").coalesce(1), table_path)
    (stats,) = stats_of(table_path)
    assert (stats["minValues"]["id"], stats["maxValues"]["id"], stats["nullCount"]["id"]) == (1, 2, 0)
    assert stats["nullCount"].get("s") in (None, 1)
    frame = bayou.read(spark, table_path)
    assert frame.where("s is null").count() == 1
    assert frame.where("s > 'a'").count() == 1
