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


def test_a_client_that_tries_again_gets_a_frame_that_follows(spark, path, append):
    import grpc

    stub = spark.client._stub
    failed = []

    class Unavailable(grpc.RpcError, grpc.Call):
        def code(self):
            return grpc.StatusCode.UNAVAILABLE

        def details(self):
            return "lost"

        def trailing_metadata(self):
            return ()

        initial_metadata = time_remaining = is_active = cancel = add_callback = trailing_metadata

    class Unreliable:
        def __getattr__(self, name):
            return getattr(inner, name)

        def ExecutePlan(self, request, **options):  # noqa: N802  (a name of the service)
            if not failed:
                failed.append(1)
                raise Unavailable
            return inner.ExecutePlan(request, **options)

    inner, stub.inner = stub.inner, Unreliable()
    spark.client.disable_reattachable_execute()
    try:
        frame = spark.sql(f"SELECT * FROM delta.`{path}`")
        append(3)
        assert frame.count() == 4
        assert failed
    finally:
        stub.inner = inner
        spark.client.enable_reattachable_execute()


def test_tables_stand_wherever_a_text_may_have_one(spark, path):
    texts = (
        f"TABLE delta.`{path}`",
        f"FROM delta.`{path}` SELECT id",
        f"SELECT * FROM delta.`{path}` TABLESAMPLE (100 PERCENT)",
        f"SELECT * FROM (VALUES (0), (1), (2)) AS v(id) WHERE EXISTS (SELECT 1 FROM delta.`{path}` t WHERE t.id = v.id)",
        f"SELECT id, (SELECT max(price) FROM delta.`{path}`) FROM range(3)",
        f"SELECT * FROM delta.`{path}` LATERAL VIEW explode(array(1)) e AS x",
        f"SELECT /*+ BROADCAST(orders) */ * FROM delta.`{path}`",
    )
    assert [len(spark.sql(text).collect()) for text in texts] == [3] * len(texts)
