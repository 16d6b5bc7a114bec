# SPDX-License-Identifier: Apache-2.0
"""Values of CHAR(n) are in the files as queries see them, so whatever looks at new rows sees them so, too."""

from __future__ import annotations

import contextlib

import pyspark
import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.observing import actions, feed

import bayou
from bayou.errors import ConcurrentModificationError, ConstraintViolationError
from bayou.spark.write import writer

AS_TEXT = "spark.sql.legacy.charVarcharAsString"
VECTORS = pytest.mark.parametrize("vectors", ["true", "false"])


@contextlib.contextmanager
def chars_as_texts(spark):
    """Chars are plain strings: nothing pads them, as other writers do not and as other readers see them."""
    spark.conf.set(AS_TEXT, "true")
    try:
        yield
    finally:
        spark.conf.unset(AS_TEXT)


def made(spark, path, columns, more=""):
    spark.sql(f"create table delta.`{path}` ({columns}) using delta {more}")
    return f"delta.`{path}`"


def rows(spark, table):
    return sorted((tuple(row) for row in spark.sql(f"select * from {table}").collect()), key=str)


def stored(spark, table, *columns):
    with chars_as_texts(spark):
        return sorted((tuple(row) for row in spark.table(table).selectExpr(*columns).collect()), key=str)


@pytest.mark.smoke
def test_every_way_of_writing_pads_chars_wherever_they_are(spark, table_path):
    table = made(spark, table_path, "v int, c char(3), s struct<x: char(2), y: int>, a array<char(2)>")
    nested = "named_struct('x', 'p', 'y', 1) s, array('q') a"
    with chars_as_texts(spark):
        spark.sql(f"insert into {table} select 0, 'o', {nested}")
    assert stored(spark, table, "c", "s.x", "a") == [("o", "p", ["q"])]
    spark.sql(f"insert into {table} select 1, 'a', {nested}")
    spark.sql("select array('q') a, struct('p' x) s, '7' c, 3 v").write.format("delta").mode("append").save(table_path)
    spark.sql(f"merge into {table} t using (select 4 v, 'm' k) s on t.v = s.v when not matched then insert (v, c) values (v, k)")
    spark.sql(f"update {table} set c = 'u' where v = 0")
    assert stored(spark, table, "v", "c") == [(0, "u  "), (1, "a  "), (3, "7  "), (4, "m  ")]
    assert {row[:2] for row in stored(spark, table, "s.x", "a[0]", "v") if row[2] in (0, 1, 3)} == {("p ", "q ")}


@pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark 3.5 takes no text for the default of a char")
def test_defaults_are_padded(spark, table_path):
    more = "tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
    table = made(spark, table_path, "v int, c char(3) default 'd'", more)
    spark.sql(f"insert into {table} (v) values (2)")
    assert stored(spark, table, "v", "c") == [(2, "d  ")]


@pytest.mark.in_turn(2)
@VECTORS
def test_rules_see_chars_as_queries_do(spark, table_path, vectors):
    more = f"tblproperties ('delta.enableDeletionVectors' = '{vectors}')"
    table = made(spark, table_path, "id int not null, c char(5)", more)
    spark.sql(f"insert into {table} values (1, 'ab')")
    spark.sql(f"alter table {table} add constraint known check (c = 'ab' or c in ('cd', 'ef'))")
    spark.sql(f"insert into {table} values (2, 'ab')")
    spark.sql("select 3 id, 'cd   ' c").write.format("delta").mode("append").save(table_path)
    spark.sql(f"insert into {table} select id + 3, c from {table}")
    spark.sql(f"update {table} set c = 'ef' where id = 1")
    spark.sql(f"update {table} set id = 10 where c = 'ef'")
    assert [row[0] for row in rows(spark, table)] == [10, 2, 3, 4, 5, 6]
    with pytest.raises(ConstraintViolationError, match="known"):
        spark.sql(f"insert into {table} values (7, 'xy')")
    with pytest.raises(ConstraintViolationError, match="known"):
        spark.sql(f"update {table} set c = 'xy' where id = 2")


def test_rules_see_chars_so_where_the_files_are_read_again_for_another_rule(spark, table_path):
    table = made(spark, table_path, "id double, c char(5)")
    spark.sql(f"alter table {table} add constraint known check (c = 'ab')")
    spark.sql(f"alter table {table} add constraint above check (id > 0)")
    spark.sql(f"insert into {table} values (1, 'ab'), (double('NaN'), 'ab')")
    with pytest.raises(ConstraintViolationError, match="above") as broken:
        spark.sql(f"insert into {table} values (-1, 'ab'), (1, 'ab')")
    assert broken.value.num_violations == 1


@pytest.mark.in_turn(2)
@VECTORS
def test_generated_columns_are_made_of_padded_values_and_are_padded(spark, table_path, vectors):
    builder = bayou.DeltaTable.create(spark).location(table_path).property("delta.enableDeletionVectors", vectors)
    builder = builder.addColumn("id", "int").addColumn("c", "char(3)").addColumn("v", "int")
    builder = builder.addColumn("g", "string", generatedAlwaysAs="concat(c, '|')")
    builder.addColumn("h", "char(4)", generatedAlwaysAs="if(c = 'a', 'y', 'n')").execute()
    table = f"delta.`{table_path}`"
    spark.sql(f"insert into {table} (id, c, v) values (1, 'a', 1), (2, 'b', 1)")
    spark.sql("select 3 id, 'c' c, 1 v").write.format("delta").mode("append").save(table_path)
    spark.sql(f"update {table} set v = 2")
    spark.sql(f"update {table} set c = 'a' where id = 3")
    merge = f"merge into {table} t using (select 2 id, 'a' c union all select 4, 'd') s on t.id = s.id"
    spark.sql(f"{merge} when matched then update set c = s.c when not matched then insert (id, c) values (s.id, s.c)")
    expected = [(1, "a  ", "a  |", "y   "), (2, "a  ", "a  |", "y   "), (3, "a  ", "a  |", "y   "), (4, "d  ", "d  |", "n   ")]
    assert stored(spark, table, "id", "c", "g", "h") == expected


@pytest.mark.in_turn(2)
@VECTORS
@pytest.mark.parametrize("old", ["padded", "as another writer has it"])
def test_new_rows_replace_those_that_have_their_chars(spark, table_path, vectors, old):
    table = made(spark, table_path, "c char(5), v int", f"tblproperties ('delta.enableDeletionVectors' = '{vectors}')")
    with contextlib.nullcontext() if old == "padded" else chars_as_texts(spark):
        spark.sql(f"insert into {table} values ('ab', 1), ('cd', 1)")
    ways = [
        {"replaceUsing": "c"},
        {"replaceOn": "t.c = s.c", "targetAlias": "t"},
        {"replaceOn": "t.c = 'ab' and s.c = 'ab'", "targetAlias": "t"},
        {"replaceWhere": "c = 'ab'"},
        {"replaceWhere": "c <=> 'ab   '"},
        {"replaceWhere": "c < 'b'"},
    ]
    for number, way in enumerate(ways):
        for text in ("ab", "ab  "):
            new = spark.sql(f"select '{text}' c, {number} v").alias("s")
            new.write.format("delta").mode("overwrite").options(**way).save(table_path)
            assert rows(spark, table) == [("ab   ", number), ("cd   ", 1)], way
    spark.sql("select 'ab' c, 10 v").writeTo(table).overwrite(F.col("c") == "ab")
    spark.sql(f"insert into {table} replace where c = 'ab' select 'ab', 11")
    assert rows(spark, table) == [("ab   ", 11), ("cd   ", 1)]


@pytest.mark.parametrize("old", ["padded", "as another writer has it"])
def test_partitions_of_chars_are_replaced_by_their_values(spark, table_path, old):
    table = made(spark, table_path, "v int, c char(5)", "partitioned by (c)")
    with contextlib.nullcontext() if old == "padded" else chars_as_texts(spark):
        spark.sql(f"insert into {table} values (1, 'ab'), (1, 'cd'), (1, null)")
    new = spark.sql("select 2 v, 'ab' c")
    new.write.format("delta").mode("overwrite").option("partitionOverwriteMode", "dynamic").save(table_path)
    assert rows(spark, table) == [(1, "cd   "), (1, None), (2, "ab   ")]
    spark.sql(f"insert overwrite {table} partition (c = 'ab') select 3")
    spark.sql(f"insert into {table} partition (c = 'cd') select 4")
    assert rows(spark, table) == [(1, "cd   "), (1, None), (3, "ab   "), (4, "cd   ")]
    assert [add["partitionValues"]["c"] for add in actions(table_path, "add", 2)] == ["ab   "]
    assert [add["partitionValues"]["c"] for add in actions(table_path, "add", 4)] == ["cd   "]


@pytest.mark.parametrize(("meanwhile", "conflicts"), [("'ab'", True), ("null", False)])
def test_rows_that_come_meanwhile_into_a_partition_that_is_replaced_are_a_conflict(
    spark, table_path, monkeypatch, meanwhile, conflicts
):
    """Also where their writer has another text for its value."""
    table, original = made(spark, table_path, "v int, c char(5)", "partitioned by (c)"), writer.replaced_partitions

    def beside(*arguments, **options):
        found = original(*arguments, **options)
        with chars_as_texts(spark):
            spark.sql(f"insert into {table} values (9, {meanwhile})")
        return found

    monkeypatch.setattr(writer, "replaced_partitions", beside)
    new = spark.sql("select 2 v, 'ab' c").write.format("delta").mode("overwrite").option("partitionOverwriteMode", "dynamic")
    with pytest.raises(ConcurrentModificationError) if conflicts else contextlib.nullcontext():
        new.save(table_path)
    assert [row[0] for row in rows(spark, table)] == ([9] if conflicts else [2, 9])


def test_the_change_feed_has_padded_values(spark, table_path):
    table = made(spark, table_path, "id int, c char(3)", "tblproperties ('delta.enableChangeDataFeed' = 'true')")
    with chars_as_texts(spark):
        spark.sql(f"insert into {table} values (1, 'a'), (2, 'b')")
    spark.sql(f"update {table} set c = 'x' where c = 'a'")
    assert feed(spark, table_path, "c", start=2) == [("a  ", "update_preimage"), ("x  ", "update_postimage")]
