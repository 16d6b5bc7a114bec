# SPDX-License-Identifier: Apache-2.0
"""CREATE TABLE ... CLUSTER BY and INSERT ... REPLACE as bayou parses them for Sparks that do not: here on every Spark."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

import bayou
from bayou.errors import DeltaError, SqlSyntaxError, TableNotFoundError
from bayou.spark.jvm.core.session import dataset, java_session
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.native.sql.older_parsers import OlderParsers
from bayou.spark.session.application import Application


@pytest.fixture
def parse(spark, monkeypatch):
    """Gives the plan of a text, as on a Spark that knows neither clause."""
    for name in ("knows_clustering", "knows_replacing"):
        monkeypatch.setattr(f"bayou.spark.jvm.catalyst.parsed_nodes.{name}", lambda _jvm: False)
    return OlderParsers(Application.of(spark)).of_text


@pytest.fixture
def run(spark, parse):
    def run(text):
        jvm = jvm_of(Application.of(spark))
        return dataset(jvm, java_session(spark), parse(text))

    return run


@pytest.fixture
def pairs(spark, name, table_path):
    spark.sql(f"CREATE TABLE {name} (id INT, v STRING) USING delta LOCATION '{table_path}'")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    return name


def clustering(spark, name):
    return spark.sql(f"DESCRIBE DETAIL {name}").first().clusteringColumns


CREATIONS = {
    "CREATE TABLE {t} (id INT, v STRING) USING delta CLUSTER BY (ID, v) TBLPROPERTIES ('a' = 'b')": ["id", "v"],
    "CREATE TABLE IF NOT EXISTS {t} (id INT, s STRUCT<x: INT>) USING `delta`\nCLUSTER BY (s.x) COMMENT 'cluster by (id)'": ["s.x"],
    "CREATE OR REPLACE TABLE {t} USING delta CLUSTER BY (v) AS SELECT 1 AS id, 'a' AS v CLUSTER BY (id)": ["v"],
    "CREATE TABLE {t} USING delta CLUSTER BY (id) WITH q AS (SELECT 1 AS id) SELECT * FROM q": ["id"],
}


@pytest.mark.parametrize(("text", "columns"), CREATIONS.items(), ids=CREATIONS)
def test_a_new_table_is_clustered(spark, name, run, text, columns):
    run(text.format(t=name))
    assert clustering(spark, name) == columns


def test_a_replaced_table_is_clustered(spark, pairs, table_path, run):
    run(f"REPLACE TABLE {pairs} (n INT) USING delta CLUSTER BY (n) LOCATION '{table_path}'")
    assert clustering(spark, pairs) == ["n"]
    run(f"CREATE OR REPLACE TABLE delta.`{table_path}` USING delta CLUSTER BY (m) AS SELECT 1 AS m")
    assert clustering(spark, pairs) == ["m"]


NOT_WITH = "SPECIFY_CLUSTER_BY_WITH_{}_IS_NOT_ALLOWED"
WRONG = {
    "USING delta CLUSTER BY (a) CLUSTER BY (a)": ("DUPLICATE_CLAUSES", "Please, remove one"),
    "USING delta CLUSTER BY (a) PARTITIONED BY (b)": (NOT_WITH.format("PARTITIONED_BY"), "Leave PARTITIONED BY out"),
    "USING delta CLUSTERED BY (b) INTO 2 BUCKETS CLUSTER BY (a)": (NOT_WITH.format("BUCKETING"), "BUCKETS out"),
    "USING delta CLUSTER BY ()": ("PARSE_SYNTAX_ERROR", "Expected: a name"),
    "USING delta CLUSTER BY (a) foo": ("PARSE_SYNTAX_ERROR", "foo"),
}


@pytest.mark.parametrize(("clauses", "error"), WRONG.items(), ids=WRONG)
def test_wrong_clauses_are_refused(spark, name, parse, clauses, error):
    with pytest.raises(SqlSyntaxError) as caught:
        parse(f"CREATE TABLE {name} (a INT, b INT) {clauses}")
    assert caught.value.error_class == error[0]
    assert error[1] in str(caught.value)


def test_columns_that_no_table_can_be_clustered_by_are_refused(spark, name, run):
    for columns in ("nothing", "a, a", "a, b, c, d, e"):
        with pytest.raises((AnalysisException, DeltaError)):
            run(f"CREATE TABLE {name} (a INT, b INT, c INT, d INT, e INT) USING delta CLUSTER BY ({columns})")
    assert not spark.catalog.tableExists(name)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE {t} (a INT) USING parquet CLUSTER BY (a)",
        "CREATE TABLE {t} (a INT) CLUSTER BY (a)",
        "CREATE TABLE other_catalog.a.b (a INT) USING delta CLUSTER BY (a)",
        "INSERT INTO other_catalog.a.b REPLACE USING (a) SELECT 1",
        "INSERT INTO {t} REPLACE USING (a) SELECT 1",
        "INSERT INTO {t} REPLACE WHERE a = 1 SELECT",
        "INSERT INTO {t} (a) REPLACE USING (a) SELECT 1",
    ],
)
def test_what_is_about_other_tables_is_left_to_spark(spark, name, parse, text):
    if text.startswith("INSERT INTO {t}"):
        spark.sql(f"CREATE TABLE {name} (a INT) USING parquet")
    assert parse(text.format(t=name)) is None


REPLACING = {
    "INSERT INTO {t} REPLACE USING (id) VALUES (1, 'A'), (9, 'z')": [(1, "A"), (2, "b"), (3, "c"), (9, "z")],
    "INSERT INTO TABLE {t} REPLACE USING (`id`) VALUES (1, 'A')": [(1, "A"), (2, "b"), (3, "c")],
    "WITH q AS (SELECT 3 AS k, 'w' AS w) INSERT INTO {t} REPLACE USING (id) SELECT * FROM q": [(1, "a"), (2, "b"), (3, "w")],
    "INSERT INTO {t} BY NAME REPLACE USING (ID) SELECT 'B' AS v, 2 AS id": [(1, "a"), (2, "B"), (3, "c")],
    "INSERT INTO {t} AS a REPLACE ON a.id = s.id AND a.id > 1 (SELECT 3 AS id, 'on' AS v) AS s": [(1, "a"), (2, "b"), (3, "on")],
    "WITH q AS (SELECT 2 id, 'q' v) INSERT INTO {t} a REPLACE ON a.id >= s.id (SELECT * FROM q) s": [(1, "a"), (2, "q")],
    "INSERT INTO {t} AS a REPLACE ON (a.v) IN ('a', 'b') VALUES (7, 'n') AS s(id, v)": [(3, "c"), (7, "n")],
}


@pytest.mark.parametrize("text", REPLACING)
@pytest.mark.parametrize("by", ["name", "path"])
def test_rows_that_match_are_replaced(spark, pairs, table_path, run, text, by):
    run(text.format(t=pairs if by == "name" else f"delta.`{table_path}`"))
    assert sorted(tuple(row) for row in spark.table(pairs).collect()) == REPLACING[text]
    assert bayou.open(table_path).snapshot().version == 2


def test_explain_shows_the_clause_and_writes_nothing(pairs, table_path, run):
    for how in ("USING (`id`)", "ON id = 1"):
        found = run(f"EXPLAIN INSERT INTO {pairs} REPLACE {how} VALUES (1, 'A')").first()
        assert f"REPLACE {how}" in found.getString(0)
    assert bayou.open(table_path).snapshot().version == 1


@pytest.mark.parametrize("text", ["REPLACE ON id = 1", "REPLACE ON id = = 1 SELECT 1", "REPLACE USING id VALUES (1, 'a')"])
def test_wrong_replacing_inserts_are_refused(pairs, parse, text):
    with pytest.raises(SqlSyntaxError):
        parse(f"INSERT INTO {pairs} {text}")


def test_a_table_that_is_another_one_when_the_statement_runs_gets_no_rows(spark, pairs, parse):
    plan = parse(f"INSERT INTO {pairs} REPLACE USING (id) VALUES (1, 'A')")
    spark.sql(f"DROP TABLE {pairs}")
    spark.sql(f"CREATE TABLE {pairs} (id INT, v STRING) USING parquet")
    with pytest.raises(TableNotFoundError, match="DELTA_TABLE_ONLY_OPERATION"):
        dataset(jvm_of(Application.of(spark)), java_session(spark), plan)
    assert spark.table(pairs).count() == 0
