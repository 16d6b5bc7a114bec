# SPDX-License-Identifier: Apache-2.0
"""Files whose statistics exclude every row are not read; the rows are the same in any case."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.observing import files_read
from tests.support.tables.built import file_of, ids, numbers_table

import bayou
from bayou.protocol.types.schema import StructField, StructType
from bayou.testing.table_builder import TableBuilder


@pytest.fixture(scope="module")
def hundreds(spark, tmp_path_factory):
    """Five files: 0 to 99, 100 to 199, ..."""
    path = str(tmp_path_factory.mktemp("hundreds"))
    numbers_table(path, *(range(n * 100, n * 100 + 100) for n in range(5)))
    return bayou.read(spark, path)


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("condition", "files"),
    [
        ("id = 250", 1),
        ("id > 350", 2),
        ("id >= 400 or id < 3", 2),
        ("id between 199 and 200", 2),
        ("id in (1, 2, 450)", 2),
        ("id is null", 0),
        ("not (id > 99)", 1),
        ("id + 0 = 250", 5),
        ("250 > id and id > 180", 2),
        ("id <=> 250", 1),
        ("id = 250.0D", 5),
        ("cast(id as string) = '250'", 5),
        ("id > 1000", 0),
        ("id = int(77)", 1),
    ],
)
def test_a_filter_on_data_reads_the_files_that_may_match(hundreds, condition, files):
    filtered = hundreds.where(condition)
    assert len(filtered.inputFiles()) <= max(files, 0) or files == 5
    filtered.collect()
    assert files_read(filtered) <= files
    assert ids(filtered) == ids(hundreds.sparkSession.range(500).where(condition))


def test_a_filter_above_a_projection_or_a_join_skips_too(hundreds):
    renamed = hundreds.selectExpr("id as other").where("other = 7")
    assert len(renamed.inputFiles()) == 1
    joined = hundreds.alias("a").join(hundreds.alias("b"), "id").where("id = 7")
    assert len(joined.inputFiles()) == 1
    assert ids(joined) == [7]


COLUMNS = {
    "l": ("long", pa.int64(), [-5, 0, 3, 2**53 + 1, -(2**63), 2**63 - 1, None]),
    "f": ("double", pa.float64(), [float("nan"), -0.0, 0.0, 1.5, float("inf"), float("-inf"), None]),
    "s": ("string", pa.string(), ["", "a", "ab", "a" * 33, "a" * 32 + "\U0010ffff", "\U0010ffff" * 33, "ü", "10", None]),
    "m": ("decimal(38,10)", pa.decimal128(38, 10), ["0.1", "1234567890123456789012345678.0123456789", "-1.5", None]),
    "d": ("date", pa.date32(), [dt.date(2026, 1, 1), dt.date(1582, 10, 4), dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "t": (
        "timestamp",
        pa.timestamp("us", "UTC"),
        [
            dt.datetime(2026, 1, 1, 0, 0, 0, 999, tzinfo=dt.timezone.utc),
            dt.datetime(2025, 11, 2, 5, 30, tzinfo=dt.timezone.utc),
            None,
        ],
    ),
    "b": ("boolean", pa.bool_(), [True, False, None]),
}
ATOMS = [
    *(
        "l = 3",
        "l > 0",
        "l < 9007199254740993",
        "l <= -9223372036854775808",
        "l is null",
        "l in (3, null)",
        "l <=> null",
        "l = '3'",
    ),
    *(
        "f > 1.5",
        "f = 0",
        "f <= 0",
        "f = double('NaN')",
        "f < double('Infinity')",
        "not f < 1",
        "f >= double('NaN')",
        "f = float(1.5)",
    ),
    *(
        "s = 'ab'",
        "s > 'a'",
        "s like 'a%'",
        "s >= repeat('a', 33)",
        "s <=> ''",
        "s < 'b'",
        "s is not null",
        "s in ('ü', '10')",
    ),
    *("startswith(s, repeat('a', 32))", "s > concat(repeat('a', 32), 'b')", "s > '\U0010ffff'", "s like '%b'", "upper(s) = 'AB'"),
    *("m > 0", "m = 0.1", "m >= 1234567890123456789012345678.0123456789", "m < -1", "m = 0.1D", "m is null"),
    *("d = date'1582-10-04'", "d > '2025-12-31'", "d <= date'0001-01-01'", "year(d) = 9999", "d < current_date()"),
    *(
        "t >= timestamp'2026-01-01 00:00:00.000999Z'",
        "t < timestamp'2025-11-02 06:00:00Z'",
        "t = timestamp'2025-11-02 01:30:00-04:00'",
    ),
    *("d < t", "b", "not b", "b is null", "b = true", "l > m", "true", "cast(null as boolean)"),
]
CONDITIONS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda condition: f"(not {condition})"),
    ),
    max_leaves=3,
)


def value_of(text, kind):
    import decimal

    return (
        decimal.Decimal(text).quantize(decimal.Decimal("1e-10"), context=decimal.Context(50))
        if isinstance(text, str) and pa.types.is_decimal(kind)
        else text
    )


@pytest.fixture(scope="module")
def written(spark, tmp_path_factory):
    """The table that our own writer makes, many files with true statistics, and the same rows as plain Parquet."""
    folder = tmp_path_factory.mktemp("written")
    schema = pa.schema([("id", pa.int64()), *((name, kind) for name, (_, kind, _) in COLUMNS.items())])
    rows = [
        {
            "id": n,
            **{
                name: value_of(values[(n + n // 7 * (k + 1)) % len(values)], kind)
                for k, (name, (_, kind, values)) in enumerate(COLUMNS.items())
            },
        }
        for n in range(80)
    ]
    import pyarrow.parquet as pq

    for start in range(0, 80, 4):
        pq.write_table(pa.Table.from_pylist(rows[start : start + 4], schema=schema), folder / f"{start}.parquet")
    plain = spark.read.option("datetimeRebaseMode", "CORRECTED").parquet(str(folder))
    for start in range(0, 80, 4):
        chunk = spark.read.option("datetimeRebaseMode", "CORRECTED").parquet(str(folder / f"{start}.parquet"))
        bayou.write(chunk.coalesce(1), str(folder / "table"), mode="append")
    return bayou.read(spark, str(folder / "table")), plain.localCheckpoint()


@given(condition=CONDITIONS)
def test_no_filter_loses_a_row_of_a_table_that_we_wrote(written, condition):
    table, plain = written
    assert ids(table.where(condition)) == ids(plain.where(condition))


def test_what_we_write_is_skipped(written):
    table, _ = written
    assert len(table.where("id < 4").inputFiles()) == 1
    assert len(table.where("d < date'1500-01-01'").inputFiles()) < 20
    assert len(table.where("s = 'zzz'").inputFiles()) < 20


def test_nested_columns_skip_by_their_path(spark, table_path):
    point = StructType((StructField("x", "long"), StructField("y", "long")))
    builder = TableBuilder(table_path).create(StructType((StructField("p", point),)))
    for n in range(3):
        rows = {"p": pa.array([{"x": n, "y": -n}])}
        stats = {
            "numRecords": 1,
            "minValues": {"p": {"x": n, "y": -n}},
            "maxValues": {"p": {"x": n, "y": -n}},
            "nullCount": {"p": {"x": 0, "y": 0}},
        }
        builder.commit(file_of(table_path, f"{n}.parquet", rows, stats=stats))
    frame = bayou.read(spark, table_path)
    assert len(frame.where("p.x = 1").inputFiles()) == 1
    assert frame.where("p.x = 1 and p.y < 0").collect() == [((1, -1),)]
    assert len(frame.select("p.y").where("y = -2").inputFiles()) == 1


@pytest.mark.parametrize(
    "stats",
    [
        '{"numRecords":2,"minValues":{"id":"odd"},"maxValues":{"id":{"a":1}},"nullCount":{"id":-1}}',
        '{"numRecords":2,"minValues":{"id":null},"maxValues":{}}',
        "{not json",
        "",
        '{"numRecords":2,"minValues":{"other":1},"maxValues":{"other":1}}',
        "[]",
        '{"numRecords":"2"}',
    ],
)
def test_statistics_that_cannot_be_understood_cost_skipping_and_no_row(spark, table_path, stats):
    builder = numbers_table(table_path, [1, 2], [100])
    builder.commit(file_of(table_path, "odd.parquet", {"id": pa.array([5, 50], pa.int64())}, stats=stats))
    frame = bayou.read(spark, table_path)
    assert ids(frame.where("id = 50")) == [50]
    assert ids(frame.where("id > 60")) == [100]
    assert frame.count() == 5
    assert frame.agg({"id": "max"}).first() == (100,)
    assert frame.agg({"id": "min"}).first() == (1,)
    assert len(frame.limit(4).collect()) == 4
