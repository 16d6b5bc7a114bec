# SPDX-License-Identifier: Apache-2.0
"""Tables in the text of `spark.sql`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor


def test_a_query_by_path_follows_the_table(spark, path, append):
    frame = spark.sql(f"SELECT orders.id, price FROM delta.`{path}` WHERE orders.price > 0")
    assert frame.count() == 2
    append(3)
    assert frame.count() == 3
    assert frame.columns == ["id", "price"]


def test_ctes_subqueries_joins_and_aliases_are_replaced(spark, path):
    text = f"""
        WITH big AS (SELECT * FROM delta.`{path}` WHERE price > 5)
        SELECT big.id, t.price FROM big JOIN delta.`{path}` t ON t.id = big.id
        WHERE big.id IN (SELECT max(id) FROM delta.`{path}`)
    """
    assert [tuple(row) for row in spark.sql(text).collect()] == [(2, 20)]


def test_arguments_are_kept(spark, path):
    named = spark.sql(f"SELECT * FROM delta.`{path}` WHERE id >= :low AND id < :high", args={"low": 1, "high": 2})
    assert [row.id for row in named.collect()] == [1]
    listed = spark.sql(f"SELECT * FROM delta.`{path}` WHERE id >= ? AND id < ?", args=[1, 2])
    assert [row.id for row in listed.collect()] == [1]


def test_arguments_in_a_reference_are_taken_out(spark, path, append):
    append(3)
    frame = spark.sql(f"SELECT * FROM delta.`{path}` VERSION AS OF ? WHERE id < ?", args=[0, 10])
    assert frame.count() == 3


def test_frames_given_to_a_text_are_replaced_beside_its_own_tables(spark, path, append):
    given = spark.read.format("delta").load(path)
    frame = spark.sql(f"SELECT a.id FROM {{given}} a JOIN delta.`{path}` b ON a.id = b.id", given=given)
    assert frame.count() == 3
    append(3)
    assert frame.count() == 4


def test_a_text_without_tables_is_the_servers(spark, answers):
    assert spark.sql("SELECT 'delta.x' AS text").collect()[0].text == "delta.x"
    assert spark.sql("SHOW TABLES").columns[0] == "namespace"


def test_columns_of_a_query_resolve_on_it(spark, path):
    frame = spark.sql(f"SELECT * FROM delta.`{path}`")
    assert frame.filter(frame["id"] == 1).count() == 1
    assert frame.join(frame.select("id"), "id").count() == 3


def test_a_statement_that_the_server_runs_reads_the_table(spark, path, tmp_path):
    made = spark.sql(f"CREATE TABLE copied USING parquet LOCATION '{tmp_path}/copied' AS SELECT * FROM delta.`{path}`")
    assert made.collect() == []
    try:
        assert spark.table("copied").count() == 3
    finally:
        spark.sql("DROP TABLE copied")


def test_threads_may_run_one_query_at_once(spark, path):
    frame = spark.sql(f"SELECT sum(price) AS s FROM delta.`{path}`")

    def total(_):
        return frame.collect()[0].s

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(total, range(18))) == [30] * 18


def test_one_query_has_one_meaning_in_one_request(spark, path):
    one = spark.sql(f"SELECT * FROM delta.`{path}`")
    assert one.sameSemantics(one)
