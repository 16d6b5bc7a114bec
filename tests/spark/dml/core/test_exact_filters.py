# SPDX-License-Identifier: Apache-2.0
"""Values that Parquet compares otherwise than Spark: a change of rows finds every row that Spark's own comparison finds."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.observing import physical_plans
from tests.support.tables.queried import FILES, VECTORS

import bayou

VALUES = {
    "not UTF-8": ("cast(X'FF' as string)", "cast(X'FF' as string)"),
    "not UTF-8 in the middle": ("cast(X'61FF62' as string)", "cast(X'61FF62' as string)"),
    "replacement character": ("'\ufffd'", "'\ufffd'"),
    "zero": ("-0.0D", "0.0D"),
    "negative zero": ("0.0D", "-0.0D"),
    "zero of floats": ("cast(-0.0D as float)", "cast(0.0D as float)"),
    "NaN": ("double('NaN')", "double('NaN')"),
    "NaN of floats": ("float('NaN')", "float('NaN')"),
    "old date": ("date'1582-10-10'", "date'1582-10-10'"),
    "old moment": ("timestamp'1500-01-01 00:00:00.0001'", "timestamp'1500-01-01 00:00:00.0001'"),
    "microseconds": ("timestamp'2026-01-01 00:00:00.0001'", "timestamp'2026-01-01 00:00:00.0001'"),
    "binary": ("X'FF80'", "X'FF80'"),
    "decimal": ("cast(1.5 as decimal(5,2))", "cast(1.5 as decimal(5,2))"),
    "plain": ("'abc'", "'abc'"),
}
"""What the rows have, and the literal that equals it."""
ROWS = 4


def make(spark, path, stored, way):
    bayou.write(spark.sql(f"select {stored} k, id from range({ROWS})").coalesce(1), path, **way)


def overwrite(spark, path, literal, **options):
    rows = spark.sql(f"select {literal} k, 50L id")
    rows.write.format("delta").mode("overwrite").options(**options).save(path)
    return ROWS - bayou.read(spark, path).where("id <> 50").count()


def merged(spark, path, literal):
    """A MERGE whose source is one literal row, which Spark's optimizer turns into a filter on the table."""
    matched = "when matched then update set id = t.id + 100 when not matched then insert (k, id) values (s.k, -1)"
    row = spark.sql(f"merge into delta.`{path}` t using (select {literal} k) s on t.k = s.k {matched}").first()
    return row.num_updated_rows if row.num_inserted_rows == 0 else -1


CHANGES = {
    "delete": lambda spark, path, literal: spark.sql(f"delete from delta.`{path}` where k = {literal}").first()[0],
    "delete in": lambda spark, path, literal: spark.sql(f"delete from delta.`{path}` where k in ({literal}, null)").first()[0],
    "delete <=>": lambda spark, path, literal: spark.sql(f"delete from delta.`{path}` where k <=> {literal}").first()[0],
    "delete >=": lambda spark, path, literal: spark.sql(f"delete from delta.`{path}` where k >= {literal}").first()[0],
    "update": lambda spark, path, literal: spark.sql(f"update delta.`{path}` set id = 9 where k = {literal}").first()[0],
    "merge": merged,
    "replaceWhere": lambda spark, path, literal: overwrite(spark, path, literal, replaceWhere=f"k = {literal}"),
    "replaceUsing": lambda spark, path, literal: overwrite(spark, path, literal, replaceUsing="k"),
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("value", ["not UTF-8", "zero"])
def test_every_change_finds_each_row_with_the_value(spark, table_path, value, change):
    stored, literal = VALUES[value]
    make(spark, table_path, stored, FILES)
    assert CHANGES[change](spark, table_path, literal) == ROWS


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("value", VALUES)
def test_each_value_is_found(spark, table_path, value):
    stored, literal = VALUES[value]
    make(spark, table_path, stored, FILES)
    assert merged(spark, table_path, literal) == ROWS
    assert CHANGES["delete"](spark, table_path, literal) == ROWS


@pytest.mark.parametrize("value", ["not UTF-8", "zero"])
@pytest.mark.parametrize("change", ["delete", "merge", "replaceWhere"])
def test_with_deletion_vectors_too(spark, table_path, value, change):
    stored, literal = VALUES[value]
    make(spark, table_path, stored, VECTORS)
    assert CHANGES[change](spark, table_path, literal) == ROWS


def test_a_field_of_a_struct_is_compared_as_a_column_is(spark, table_path):
    bayou.write(spark.sql("select named_struct('d', -0.0D) s, id from range(4)").coalesce(1), table_path)
    assert spark.sql(f"delete from delta.`{table_path}` where s.d = 0.0D").first()[0] == ROWS


@pytest.mark.parametrize("condition", ["d > 5.0D", "d <> 1.0D", "not (d <= 1.0D)"])
def test_nan_that_the_bounds_of_a_file_leave_out_is_found(spark, table_path, condition):
    """Arrow's writer leaves NaN out of the bounds of row groups; to Spark NaN is greater than any number."""
    bayou.write(spark.sql("select double(1) d, id from range(4)").coalesce(1), table_path)
    (file,) = Path(table_path).rglob("*.parquet")
    numbers = pa.table({"d": pa.array([1.0, float("nan"), 1.0, 1.0]), "id": pa.array(range(4), pa.int64())})
    log = Path(table_path, "_delta_log", "00000000000000000000.json")
    size = file.stat().st_size
    pq.write_table(numbers, file)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    text = (
        log.read_text()
        .replace(f'"size":{size}', f'"size":{file.stat().st_size}')
        .replace('\\"maxValues\\":{\\"d\\":1.0,', '\\"maxValues\\":{')
    )
    log.write_text(text)
    Path(table_path, "_delta_log", f".{log.name}.crc").unlink(missing_ok=True)
    assert spark.sql(f"delete from delta.`{table_path}` where {condition}").first()[0] == 1


def test_usual_filters_still_reach_parquet(spark, table_path):
    bayou.write(spark.sql("select cast(id as string) k, id from range(1000)").coalesce(1), table_path)
    with physical_plans(spark) as plans:
        spark.sql(f"delete from delta.`{table_path}` where k = '7' and id = 7").first()
    assert any("EqualTo(k,7)" in plan and "EqualTo(id,7)" in plan for plan in plans)
