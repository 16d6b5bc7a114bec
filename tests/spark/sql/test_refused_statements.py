# SPDX-License-Identifier: Apache-2.0
"""Statements that bayou does not have are refused by name, and those of others fail as Spark has it."""

from __future__ import annotations

import pytest
from pyspark.errors import ParseException

import bayou
from bayou.errors import UnsupportedFeatureError

STATEMENTS = {
    "ALTER TABLE {t} CLUSTER BY AUTO": "CLUSTER BY AUTO",
    "COPY INTO {t} FROM '/files' FILEFORMAT = JSON": "COPY INTO",
    "CREATE BLOOMFILTER INDEX ON TABLE {t} FOR COLUMNS (id)": "CREATE BLOOMFILTER INDEX",
    "UNDROP TABLE {t}": "UNDROP TABLE",
    "APPLY CHANGES INTO {t} FROM stream(source) KEYS (id) SEQUENCE BY n": "APPLY CHANGES",
}


@pytest.fixture
def delta(spark, name, table_path):
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING delta LOCATION '{table_path}'")
    return name


@pytest.mark.parametrize(("text", "command"), STATEMENTS.items(), ids=STATEMENTS)
def test_a_statement_that_is_not_there_is_refused_by_its_name(spark, delta, table_path, text, command):
    for table in (delta, f"default.{delta}", f"spark_catalog.default.{delta}", f"delta.`{table_path}`", f"`{delta}`"):
        with pytest.raises(UnsupportedFeatureError) as caught:
            spark.sql(text.format(t=table))
        assert list(caught.value.features) == [command]
        assert command in str(caught.value)
        assert caught.value.next_step
        assert bayou.open(table_path).snapshot().version == 0


def test_a_statement_in_a_script_stands_in_a_string(spark, delta, table_path):
    if spark.version < "4":
        pytest.skip("this Spark has no scripts")
    for text in (f"BEGIN SELECT 1; VACUUM {delta}; END", f"a: BEGIN IF true THEN OPTIMIZE {delta}; END IF; END"):
        with pytest.raises(UnsupportedFeatureError, match="EXECUTE IMMEDIATE"):
            spark.sql(text)
    spark.sql(f"INSERT INTO {delta} VALUES (1)")
    spark.sql(f"INSERT INTO {delta} VALUES (2)")
    spark.sql(f"BEGIN EXECUTE IMMEDIATE 'OPTIMIZE {delta}'; END")
    assert [each.operation for each in bayou.open(table_path).history(1)] == ["OPTIMIZE"]


OTHERS = [
    "VACUUM other_catalog.a.b",
    "CREATE TABLE other_catalog.a.b CLONE {p}",
    "ALTER TABLE {p} DROP CLUSTER",
    "CREATE TABLE clone (",
    "SELECT vacuum optimize restore FROM",
    "SELECT 'VACUUM x' )",
    "-- VACUUM x",
    "CALL system.vacuum(",
    "COPY INTO {p} FROM '/files' FILEFORMAT = JSON",
    "UNDROP TABLE other_catalog.a.b",
    "SELECT copy INTO undrop",
]


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_about_no_delta_table_fails_as_spark_has_it(spark, other_name, text):
    spark.sql(f"CREATE TABLE {other_name} (id BIGINT) USING parquet")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW some_view AS SELECT 1")
    with pytest.raises(ParseException):
        spark.sql(text.format(p=other_name, v="some_view"))


@pytest.mark.parametrize("word", ["history", "detail"])
def test_a_table_with_the_name_of_a_description_is_described(spark, delta, word):
    assert len(spark.sql(f"DESCRIBE {word} {delta}").columns) == 15
    spark.sql(f"CREATE TEMPORARY VIEW {word} AS SELECT 1 AS {delta}, 2 AS x")
    try:
        assert spark.sql(f"DESCRIBE {word} {delta}").first().info_value == delta
        assert spark.sql(f"DESCRIBE {word} x").first().info_value == "x"
        assert [row.col_name for row in spark.sql(f"DESCRIBE {word}").collect()] == [delta, "x"]
    finally:
        spark.catalog.dropTempView(word)
