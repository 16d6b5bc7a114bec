# SPDX-License-Identifier: Apache-2.0
"""delta-rs writes into tables that we made, as into delta-spark's, and we go on from what it wrote."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass

import pyarrow as pa
import pytest
from pyspark.sql.functions import expr
from tests.interop.delta_rs import by_query, deltalake, outcome, outcomes, refusal, rows_of
from tests.interop.kinds_of_tables import KINDS, made_by_them, made_by_us
from tests.interop.sampled import sampled
from tests.interop.written_tables import TEXT

import bayou
from bayou.errors import AppendOnlyError

pytestmark = pytest.mark.oracle


@dataclass(frozen=True)
class Row:
    """A row of a kind of table, and what it becomes.

    Attributes:
        key: what only this row meets.
        column: the column that changes.
        value: its new value, in the SQL of both engines.
        columns: the columns that rows are inserted with; None for all.
    """

    key: str = "id = 1"
    column: str = "id"
    value: str = "100"
    columns: tuple[str, ...] = ()


ROWS = {
    "clustered": Row(column="v", value="'x'"),
    "defaults": Row(column="v", value="'x'"),
    "row tracking": Row(column="v", value="'x'"),
    "mapping by name": Row(key="number = 1", column="number"),
    "mapping removed": Row(key="number = 1", column="number"),
    "change feed": Row(column="v", value="'x'"),
    "generated": Row(key="at is not null", column="at", value="timestamp'2024-01-02 05:00:00'"),
    "timestamps without a zone": Row(),
    "char and varchar": Row(key="v = 'b'", column="v", value="'x'"),
    "materialized partitions": Row(column="p", value="'c d'"),
    "vectors": Row(),
    "truncated": Row(key="id = 2"),
}


def append(path, row, rows, changed):
    deltalake.write_deltalake(path, changed, mode="append")


def update(path, row, rows, changed):
    deltalake.DeltaTable(path).update({row.column: row.value}, predicate=row.key)


def merge(path, row, rows, changed):
    source, target = changed, deltalake.DeltaTable(path)
    merging = target.merge(source, f"t.{row.column} = s.{row.column}", source_alias="s", target_alias="t")
    merging.when_matched_update_all().when_not_matched_insert_all().execute()


def replace(path, row, rows, changed):
    deltalake.write_deltalake(path, rows, mode="overwrite", predicate=row.key)


def delete(path, row, rows, changed):
    deltalake.DeltaTable(path).delete(f"{row.column} = {row.value}")


WRITES = (append, replace, update, merge, delete)


def read_by_us(spark, path):
    return rows_of(bayou.read(spark, path).toArrow())


def unpadded(rows):
    """Rows without blanks at the end of texts: Spark fills up a char(n) when it reads one, delta-rs does not."""
    return sorted(re.sub(" +'", "'", row) for row in rows)


def texts(rows):
    return sorted(row[0] for row in rows)


def all_agree(spark, delta_spark, path):
    """Asserts that the three read the same rows, and that the version's checksum, if there is one, is right."""
    ours = bayou.read(spark, path)
    # Its pyarrow data set reads NULL where columns are mapped.
    by_delta_rs = outcome(by_query, path)
    assert isinstance(by_delta_rs, str) or unpadded(by_delta_rs[0]) == unpadded(rows_of(ours.toArrow()))
    columns = ", ".join(f"`{name}`" for name in ours.columns)
    by_delta_spark = delta_spark.sql(f"select {TEXT.replace('*', columns)} from delta.`{path}`")
    assert texts(by_delta_spark) == texts(ours.selectExpr(TEXT).collect())
    bayou.open(path).verify_checksum()


def go_on(spark, path, row, appends_only):
    """Appends, updates, merges and deletes by us."""
    table = f"delta.`{path}`"
    spark.sql(f"insert into {table} select * from {table}")
    for statement in (
        f"update {table} set {row.column} = {row.value} where {row.key}",
        f"merge into {table} t using (select {row.value} k) s on t.{row.column} = s.k when matched then delete",
        f"delete from {table} where {row.key}",
    ):
        with pytest.raises(AppendOnlyError) if appends_only else contextlib.nullcontext():
            spark.sql(statement)
    bayou.write(bayou.read(spark, path), path, mode="append")


@pytest.mark.parametrize("kind", sampled(KINDS, 5))
def test_delta_rs_writes_on_after_us_and_we_after_it(spark, delta_spark, tmp_path, kind):
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    made_by_us(spark, ours, KINDS[kind])
    made_by_them(delta_spark, theirs, KINDS[kind])
    row = ROWS.get(kind, Row())
    frame = bayou.read(spark, ours).where(row.key)
    rows, changed = frame.toArrow(), frame.withColumn(row.column, expr(row.value).cast(frame.schema[row.column].dataType)).toArrow()
    for write in WRITES:
        refused = refusal(write, ours, row, rows, changed)
        assert refused == refusal(write, theirs, row, rows, changed), write.__name__
        assert outcomes(ours) == outcomes(theirs), write.__name__
        found = outcome(by_query, ours)
        assert isinstance(found, str) or unpadded(found[0]) == unpadded(read_by_us(spark, ours)), write.__name__
    all_agree(spark, delta_spark, ours)
    go_on(spark, ours, row, kind == "append only")
    all_agree(spark, delta_spark, ours)


MODES = {
    "append": ("append", {}),
    "dynamic partitions": ("overwrite", {"partitionOverwriteMode": "dynamic"}),
    "replaceWhere": ("overwrite", {"replaceWhere": "p = 'b'"}),
    "overwrite": ("overwrite", {}),
    "another schema": ("overwrite", {"overwriteSchema": "true"}),
}


def test_delta_rs_appends_after_each_mode_of_ours(spark, delta_spark, table_path):
    rows = spark.sql("select 1L id, 'a' p union all select 2L, 'b' union all select 3L, null")
    bayou.write(rows, table_path, partition_by=["p"])
    for number, (mode, options) in enumerate(MODES.values()):
        given = spark.sql(f"select {number}L id, 'b' p")
        bayou.write(given, table_path, mode=mode, **options)
        for value in ("b", None):
            more = pa.table({"id": pa.array([10 + number], pa.int64()), "p": pa.array([value], pa.string())})
            deltalake.write_deltalake(table_path, more, mode="append")
        assert [found for found, _ in outcomes(table_path)] == [read_by_us(spark, table_path)] * 2
    all_agree(spark, delta_spark, table_path)


LONG = pa.array([1], pa.int64())
STRUCT = pa.struct([("x", pa.int32())])
REFUSED_ROWS = {
    "not null": ("id bigint not null", {"id": pa.array([None], pa.int64())}),
    "not null in a struct": ("s struct<x: int not null>", {"s": pa.array([{"x": None}], STRUCT)}),
    "a rule": ("id bigint", {"id": LONG}),
    "a rule, of null": ("id bigint", {"id": pa.array([None], pa.int64())}),
    "generated": ("id bigint, g bigint generated always as (id + 1)", {"id": LONG, "g": LONG}),
    "identity": ("id bigint, k bigint generated always as identity", {"id": LONG, "k": LONG}),
    "identity, left out": ("id bigint, k bigint generated always as identity", {"id": LONG}),
    "default, left out": ("id bigint, v string default 'none'", {"id": LONG}),
}
TAKEN_ROWS = {
    "generated, left out": ("id bigint, g bigint generated always as (id + 1)", {"id": LONG}, "{'id': 1, 'g': 2}"),
    # How long a text may be is Spark's rule: the protocol has none.
    "a text that is too long": ("v varchar(2)", {"v": pa.array(["long"])}, "{'v': 'long'}"),
}


def ruled(spark, path, rule, columns):
    defaults = "tblproperties ('delta.feature.allowColumnDefaults' = 'supported')" if "default" in columns else ""
    spark.sql(f"create table delta.`{path}` ({columns}) using delta {defaults}")
    if rule.startswith("a rule"):
        bayou.DeltaTable.forPath(spark, path).addConstraint("more", "id > 1")


def test_delta_rs_keeps_the_rules_of_our_tables(spark, tmp_path):
    for rule, (columns, rows) in REFUSED_ROWS.items():
        path = str(tmp_path / rule)
        ruled(spark, path, rule, columns)
        version = bayou.open(path).version()
        refused = refusal(lambda path=path, rows=rows: deltalake.write_deltalake(path, pa.table(rows), mode="append"))
        assert "1 rows failed validation check" in refused or "Unsupported table features required" in refused, rule
        assert (bayou.open(path).version(), read_by_us(spark, path)) == (version, []), rule


def test_we_read_what_no_rule_of_the_protocol_forbids(spark, tmp_path):
    for rule, (columns, rows, row) in TAKEN_ROWS.items():
        path = str(tmp_path / rule)
        ruled(spark, path, rule, columns)
        deltalake.write_deltalake(path, pa.table(rows), mode="append")
        assert read_by_us(spark, path) == [row], rule
        table = bayou.DeltaTable.forPath(spark, path)
        table.delete("false")
        assert table.delete().num_affected_rows == 1, rule
