# SPDX-License-Identifier: Apache-2.0
"""Partition values of every type go into the log and come back as they were, whatever their folder is called."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.observing import files_read

import bayou

STRINGS = [
    "plain",
    "",
    "__HIVE_DEFAULT_PARTITION__",
    "__HIVE_DEFAULT_PARTITION__x",
    "__HIVE_DEFAULT_PARTITION___",
    "a/b",
    "a=b",
    "100%",
    "%2F",
    "ü",
    " around ",
    "new\nline",
    "tab\t",
    "quote\"'",
    "a:b*c?[d]#e",
    "..",
    "{x}",
    "\u007f\u0001",
    "😀",
    "x" * 200,
]
VALUES = {
    "boolean": ["true", "false"],
    "tinyint": ["-128Y", "127Y"],
    "smallint": ["-32768S"],
    "int": ["-2147483648", "0"],
    "bigint": ["-9223372036854775807L - 1", "9223372036854775807L"],
    "float": ["float('1.1')", "float('NaN')", "float('-Infinity')", "float('1.17549435E-38')"],
    "double": ["double('1.1')", "double('NaN')", "double('1.7976931348623157E308')", "double('0.1') + double('0.2')"],
    "decimal(38,10)": [
        "cast('1234567890123456789012345678.0123456789' as decimal(38,10))",
        "cast('-0.0000000001' as decimal(38,10))",
    ],
    "decimal(5,0)": ["cast(7 as decimal(5,0))"],
    "date": ["date'2026-01-01'", "date'0001-01-01'", "date'9999-12-31'", "date'1582-10-04'"],
    "timestamp": [
        "timestamp'2025-11-02 01:30:00 America/New_York'",
        "timestamp'2025-11-02 05:30:00Z'",
        "timestamp'2025-11-02 06:30:00Z'",
        "timestamp'1900-01-01 00:00:00.000001Z'",
        "timestamp'0001-01-01 00:00:00Z'",
        "timestamp'9999-12-31 23:59:59.999999Z'",
    ],
    "timestamp_ntz": ["timestamp_ntz'2025-11-02 01:30:00.123456'", "timestamp_ntz'0001-01-01 00:00:00'"],
    "string": [f"decode(unhex('{text.encode().hex()}'), 'UTF-8')" for text in STRINGS],
    "binary": ["unhex('616263')", "encode('ü=/%', 'UTF-8')", "encode('__HIVE_DEFAULT_PARTITION__', 'UTF-8')"],
}


@pytest.fixture
def session(spark):
    """A session in a zone whose clock shows one hour twice a year."""
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    return session


def exact(name, kind):
    """The value as something that compares exactly and prints well."""
    match kind:
        case "timestamp":
            return f"cast(unix_micros({name}) as string)"
        case "binary":
            return f"hex({name})"
        case "string":
            return f"hex(encode({name}, 'UTF-8'))"
        case _:
            return f"cast({name} as string)"


@pytest.mark.smoke
@pytest.mark.parametrize("kind", VALUES)
def test_partition_values_come_back_as_they_were(session, table_path, kind):
    values = [*VALUES[kind], f"cast(null as {kind})"]
    rows = session.sql(" union all ".join(f"select {n}L as id, {value} as p" for n, value in enumerate(values)))
    expected = {row.id: row.v for row in rows.selectExpr("id", f"{exact('p', kind)} v").collect()}
    if kind == "string":
        expected[STRINGS.index("")] = None
    bayou.write(rows, table_path, partition_by=["p"])
    table = bayou.read(session, table_path)
    assert table.dtypes == [("id", "bigint"), ("p", kind)]
    assert {row.id: row.v for row in table.selectExpr("id", f"{exact('p', kind)} v").collect()} == expected
    for number, value in enumerate(values):
        found = table.where(f"p <=> ({value})").select("id")
        same = {n for n, v in expected.items() if v == expected[number]} if expected[number] is not None else set()
        if expected[number] is not None:
            assert {row.id for row in found.collect()} == same, value
            assert files_read(found) <= len(values)


def test_both_instants_of_a_repeated_hour_are_two_partitions(session, table_path):
    rows = session.sql("select id, timestamp_seconds(1762061400 + id * 3600) as t from range(2)")
    assert {row.t for row in rows.selectExpr("cast(t as string) t").collect()} == {"2025-11-02 01:30:00"}
    bayou.write(rows, table_path, partition_by=["t"])
    snapshot = bayou.open(table_path).snapshot()
    assert sorted(snapshot.partition_texts()["t"].to_pylist()) == ["2025-11-02T05:30:00.000000Z", "2025-11-02T06:30:00.000000Z"]
    assert len({str(file.parent) for file in Path(table_path).rglob("*.parquet")}) == 2
    assert bayou.read(session, table_path).where("unix_seconds(t) = 1762065000").select("id").collect() == [(1,)]


def test_several_partition_columns_in_another_order_than_the_schemas(session, table_path):
    rows = session.sql("select 'x' as s, 1L as id, 2 as i, date'2026-01-01' as d union all select null, 2L, null, null")
    rows.write.format("delta").partitionBy("d", "i").save(table_path)
    frame = bayou.read(session, table_path)
    assert frame.columns == ["s", "id", "i", "d"]
    assert frame.where("i = 2 and d = '2026-01-01'").select("id").collect() == [(1,)]
    assert frame.where("i is null and d is null").select("s", "id").collect() == [(None, 2)]
    rows.write.format("delta").mode("append").save(table_path)
    assert frame.groupBy("d").count().where("d is null").select("count").first() == (2,)
    assert all("d=" in str(file.parent.parent) for file in Path(table_path).rglob("*.parquet"))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("date", ("date'2020-01-02'", "date'1900-03-01'")),
        ("timestamp", ("timestamp'2024-10-27 01:30:00.123456'", "timestamp'1900-03-01 00:00:00'")),
        ("timestamp_ntz", ("timestamp_ntz'2024-10-27 01:30:00.5'", "timestamp_ntz'1900-03-01 00:00:00'")),
        ("decimal(5,2)", ("1.50BD", "-2.25BD")),
        ("boolean", ("true", "false")),
        ("double", ("0.5D", "-1e300D")),
        ("string", ("'a/b'", "'2020-01-02'")),
    ],
)
def test_a_dynamic_overwrite_finds_the_partitions_of_any_type(spark, table_path, kind, values):
    rows = [f"select {number}L id, cast({value} as {kind}) p" for number, value in enumerate((*values, "null"))]
    spark.sql(" union all ".join(rows)).write.format("delta").partitionBy("p").save(table_path)
    for number, row in enumerate(rows):
        new = spark.sql(row).selectExpr(f"{number + 10}L id", "p")
        new.write.format("delta").mode("overwrite").option("partitionOverwriteMode", "dynamic").save(table_path)
        left = sorted(each.id for each in spark.read.format("delta").load(table_path).collect())
        assert left == sorted([*range(number + 1, len(rows)), *range(10, 11 + number)])
