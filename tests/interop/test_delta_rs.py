# SPDX-License-Identifier: Apache-2.0
"""delta-rs sees in our tables what we wrote, also through filters that its statistics skip files for; and we in its tables."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.interop import written_tables
from tests.interop.written_tables import TABLES

import bayou

deltalake = pytest.importorskip("deltalake", reason="delta-rs is not installed")


def plain(value):
    """A value of Arrow as something that compares: NaN equals NaN, and a map is its pairs."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def rows_of(table):
    return sorted(([plain(value) for value in row.values()] for row in table.to_pylist()), key=lambda row: row[0])


@pytest.fixture(scope="module", params=TABLES)
def written(request, spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("ours") / request.param)
    return path, written_tables.write(spark, request.param, path)


def test_delta_rs_reads_the_rows_that_we_wrote(spark, written):
    path, rows = written
    found = deltalake.DeltaTable(path).to_pyarrow_table()
    ours = bayou.read(spark, path).toArrow()
    assert found.column_names == rows.columns
    assert rows_of(found) == rows_of(ours)
    assert len(found) == rows.count()


def literal(value):
    """A value of Arrow as SQL of DataFusion."""
    match value:
        case dt.datetime():
            return f"timestamp '{value.isoformat()}'"
        case dt.date():
            return f"date '{value.isoformat()}'"
        case Decimal():
            return f"cast('{value}' as decimal(38, 10))"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes():
            return f"X'{value.hex()}'"
    return str(value)


def test_delta_rs_filters_lose_no_row(written):
    """By its SQL: its pyarrow data set takes a missing bound, or one that is NaN, for a proof that no row matches."""
    path, _ = written
    table = deltalake.DeltaTable(path)
    everything = table.to_pyarrow_table()
    query = deltalake.QueryBuilder().register("t", table)

    def count(condition):
        return len(pa.table(query.execute(f"select id from t where {condition}").read_all()))

    for field in everything.schema:
        if pa.types.is_nested(field.type):
            continue
        values = everything[field.name].to_pylist()
        nan = sum(value != value for value in values)  # noqa: PLR0124  (that is how NaN is told)
        known = [value for value in values if value is not None and value == value]  # noqa: PLR0124
        assert count(f"{field.name} is null") == values.count(None)
        assert count(f"{field.name} is not null") == len(known) + nan
        for value in {repr(value): value for value in known}.values():
            if value in (float("inf"), float("-inf")):
                continue
            assert count(f"{field.name} = {literal(value)}") == known.count(value), (field.name, value)
            if not pa.types.is_boolean(field.type):
                above, below = sum(other >= value for other in known), sum(other <= value for other in known)
                # Whether NaN is above everything depends on how DataFusion finds the row.
                assert count(f"{field.name} >= {literal(value)}") in (above, above + nan), (field.name, value)
                assert count(f"{field.name} <= {literal(value)}") == below, (field.name, value)


def test_delta_rs_sees_our_versions_and_writes_on(spark, table_path):
    bayou.write(spark.range(3), table_path)
    bayou.write(spark.range(3, 5), table_path, mode="append")
    bayou.write(spark.range(9, 10), table_path, mode="overwrite")
    seen = [sorted(deltalake.DeltaTable(table_path, version=v).to_pyarrow_table()["id"].to_pylist()) for v in range(3)]
    assert seen == [[0, 1, 2], [0, 1, 2, 3, 4], [9]]
    deltalake.write_deltalake(table_path, pa.table({"id": pa.array([10], pa.int64())}), mode="append")
    assert sorted(row.id for row in bayou.read(spark, table_path).collect()) == [9, 10]
    bayou.write(spark.range(11, 12), table_path, mode="append")
    assert sorted(deltalake.DeltaTable(table_path).to_pyarrow_table()["id"].to_pylist()) == [9, 10, 11]


def test_delta_rs_reads_our_protocol_metadata_and_history(spark, table_path):
    bayou.write(spark.sql("select 1L as id, 'a' as p"), table_path, partition_by=["p"], userMetadata="a note")
    table = deltalake.DeltaTable(table_path)
    assert (table.protocol().min_reader_version, table.protocol().min_writer_version) == (1, 2)
    assert table.metadata().partition_columns == ["p"]
    (entry,) = table.history()
    assert (entry["operation"], entry["userMetadata"]) == ("WRITE", "a note")


def test_we_read_what_delta_rs_wrote(spark, table_path):
    everything = pa.table(
        {
            "id": pa.array([1, 2, 3, 4], pa.int64()),
            "p": ["a/b", "ü", None, "x y"],
            "f": [float("nan"), 1.0, None, -0.0],
            "s": ["a" * 40, "", None, "b"],
            "d": [dt.date(2026, 1, 1), dt.date(1500, 1, 1), None, dt.date(9999, 12, 31)],
            "t": pa.array(
                [dt.datetime(2026, 1, 1, 0, 0, 0, 999_999, tzinfo=dt.timezone.utc), None, None, None], pa.timestamp("us", "UTC")
            ),
            "m": pa.array([Decimal("1.50"), Decimal("-99999999.99"), None, None], pa.decimal128(10, 2)),
            "l": pa.array([[1, None], [], None, [3]]),
        }
    )
    for start in range(4):
        deltalake.write_deltalake(table_path, everything.slice(start, 1), mode="append", partition_by=["p"])
    frame = bayou.read(spark, table_path)
    assert rows_of(frame.select(*everything.column_names).toArrow()) == rows_of(everything)
    for condition, expected in {
        "f > 1.0": [1],
        "f = double('NaN')": [1],
        "f <= 0": [4],
        "p = 'ü'": [2],
        "p is null": [3],
        "s > 'aa'": [1, 4],
        "d < '1600-01-01'": [2],
        "t >= timestamp'2026-01-01 00:00:00.999999Z'": [1],
        "m < 0": [2],
        "l is null": [3],
    }.items():
        assert sorted(row.id for row in frame.where(condition).select("id").collect()) == expected, condition
    assert frame.selectExpr("max(f)").first()[0] != 1.0
    deltalake.DeltaTable(table_path).delete("id = 2")
    deltalake.DeltaTable(table_path).create_checkpoint()
    deltalake.DeltaTable(table_path).optimize.compact()
    assert sorted(row.id for row in bayou.read(spark, table_path).collect()) == [1, 3, 4]
