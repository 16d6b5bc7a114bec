# SPDX-License-Identifier: Apache-2.0
"""MERGE and UPDATE beside other writers: what their new values are made of is as it was, or they are refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import bayou
from bayou.errors import ConcurrentModificationError
from bayou.log.commit.transaction import Transaction


@pytest.fixture
def overtaken(monkeypatch):
    """Runs a call, once, just before the next commit, as another session would."""
    try_commit, calls = Transaction.try_commit, []

    def commit(self, *arguments, **options):
        if calls:
            call = calls.pop()
            with ThreadPoolExecutor(1) as pool:
                pool.submit(call).result()
        return try_commit(self, *arguments, **options)

    monkeypatch.setattr(Transaction, "try_commit", commit)
    return calls.append


@pytest.fixture
def table(spark, table_path, way):
    bayou.write(spark.sql("select * from values (1L, 10L), (2L, 20L) t(id, v)"), table_path, **way)
    return f"delta.`{table_path}`"


def rows(spark, table):
    return sorted(tuple(row) for row in spark.table(table).collect())


def merge(table, source):
    return f"MERGE INTO {table} t USING ({source}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v"


SOURCES = {
    "aggregate": "SELECT {to}L id, max(v) v FROM {table} WHERE id = {of}",
    "projection": "SELECT {to}L id, v FROM {table} WHERE id = {of}",
}


@pytest.mark.parametrize("source", SOURCES)
def test_two_merges_that_copy_a_row_to_each_other_do_not_swap_them(spark, table, overtaken, source):
    copies = [merge(table, SOURCES[source].format(table=table, of=of, to=3 - of)) for of in (1, 2)]
    overtaken(lambda: spark.sql(copies[1]))
    with pytest.raises(ConcurrentModificationError):
        spark.sql(copies[0])
    assert rows(spark, table) == [(1, 20), (2, 20)]


def test_two_merges_that_remove_the_same_duplicates_leave_a_row(spark, table, overtaken):
    spark.sql(f"INSERT INTO {table} VALUES (3, 10)")
    which = f"SELECT {{}}(id) id, v FROM {table} GROUP BY v HAVING count(*) > 1"
    statement = f"MERGE INTO {table} t USING ({which}) s ON t.id = s.id AND t.v = s.v WHEN MATCHED THEN DELETE"
    overtaken(lambda: spark.sql(statement.format("min")))
    with pytest.raises(ConcurrentModificationError):
        spark.sql(statement.format("max"))
    assert rows(spark, table) == [(2, 20), (3, 10)]


def test_a_merge_that_inserts_sums_of_the_table_is_not_committed_beside_another(spark, table, overtaken):
    def insert(key):
        source = f"SELECT {key}L id, sum(v) v FROM {table}"
        return f"MERGE INTO {table} t USING ({source}) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"

    overtaken(lambda: spark.sql(insert(200)))
    with pytest.raises(ConcurrentModificationError):
        spark.sql(insert(100))
    assert rows(spark, table) == [(1, 10), (2, 20), (200, 30)]


def test_a_plan_whose_source_was_changed_before_it_is_executed_is_refused(spark, table_path, table):
    handle = bayou.DeltaTable.forPath(spark, table_path)
    source = handle.toDF().where("id = 1").selectExpr("2L id", "v").alias("s")
    plan = handle.alias("t").merge(source, "t.id = s.id").whenMatchedUpdate(set={"v": "s.v"}).plan()
    handle.update("id = 1", {"v": "99"})
    with pytest.raises(ConcurrentModificationError):
        plan.execute()
    assert rows(spark, table) == [(1, 99), (2, 20)]


def test_a_source_that_does_not_read_the_table_is_no_reason_for_a_conflict(spark, table, overtaken):
    overtaken(lambda: spark.sql(f"INSERT INTO {table} VALUES (50, 1)"))
    spark.sql(merge(table, "SELECT 2L id, 7L v"))
    assert rows(spark, table) == [(1, 10), (2, 7), (50, 1)]


def test_an_update_depends_on_what_its_subqueries_read(spark, table, overtaken):
    def update(of, to):
        return f"UPDATE {table} SET v = (SELECT max(v) FROM {table} WHERE id = {of}) WHERE id = {to}"

    overtaken(lambda: spark.sql(update(2, 1)))
    with pytest.raises(ConcurrentModificationError):
        spark.sql(update(1, 2))
    assert rows(spark, table) == [(1, 20), (2, 20)]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("of", [pytest.param("the table", marks=pytest.mark.smoke), "another table", "parquet"])
@pytest.mark.parametrize("now", ["", ", current_timestamp() at"], ids=["", "now"])
def test_the_source_may_be_a_view_in_sql(spark, table, tmp_path, of, now):
    """Spark's optimizer lets go of the ids that a view gives to columns."""
    other = str(tmp_path / "other")
    if of == "another table":
        bayou.write(spark.table(table), other)
    elif of == "parquet":
        spark.table(table).write.parquet(other)
    name = {"the table": table, "another table": f"delta.`{other}`", "parquet": f"parquet.`{other}`"}[of]
    spark.sql(f"CREATE OR REPLACE TEMP VIEW source_view AS SELECT * FROM {name}")
    source = f"SELECT id + 1 id, v + year(current_date()) v{now} FROM source_view WHERE id > 0"
    spark.sql(f"{merge(table, source)} WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)")
    year = spark.sql("SELECT year(current_date())").first()[0]
    assert rows(spark, table) == [(1, 10), (2, 10 + year), (3, 20 + year)]
    spark.catalog.dropTempView("source_view")


def test_an_append_that_only_moves_the_marks_of_identity_columns_conflicts_with_no_other_row(spark, table_path, overtaken):
    table = f"delta.`{table_path}`"
    builder = bayou.DeltaTable.create(spark).location(table_path).property("delta.enableDeletionVectors", "true")
    builder = builder.addColumn("k", "BIGINT", generatedAlwaysAs=bayou.IdentityGenerator())
    builder.addColumn("v", "BIGINT").execute()
    spark.sql(f"INSERT INTO {table} (v) VALUES (1), (2), (3), (4)")
    overtaken(lambda: spark.sql(f"INSERT INTO {table} (v) VALUES (6), (8)"))
    spark.sql(f"DELETE FROM {table} WHERE v % 2 = 1")
    overtaken(lambda: spark.sql(f"INSERT INTO {table} (v) VALUES (10), (12)"))
    spark.sql(f"MERGE INTO {table} t USING (SELECT 2L v) s ON t.v = s.v WHEN MATCHED THEN DELETE")
    assert sorted(row["v"] for row in spark.table(table).collect()) == [4, 6, 8, 10, 12]
