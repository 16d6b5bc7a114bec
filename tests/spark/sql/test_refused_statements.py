# SPDX-License-Identifier: Apache-2.0
"""Statements of Delta Lake that bayou does not have are refused by name on every enabled session."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, ParseException

import bayou
from bayou.errors import UnsupportedFeatureError

STATEMENTS = {
    "VACUUM {t} RETAIN 3 HOURS DRY RUN": "VACUUM",
    "vacuum\n-- all of it\n{t}": "VACUUM",
    "OPTIMIZE {t} WHERE id > 1 ZORDER BY (id)": "OPTIMIZE",
    "REORG TABLE {t} APPLY (PURGE)": "REORG TABLE",
    "RESTORE TABLE {t} TO VERSION AS OF 0": "RESTORE",
    "RESTORE {t} TO TIMESTAMP AS OF '2026-01-01'": "RESTORE",
    "GENERATE symlink_format_manifest FOR TABLE {t}": "GENERATE",
    "CREATE TABLE copy SHALLOW CLONE {t}": "CLONE",
    "CREATE TABLE IF NOT EXISTS a.copy DEEP CLONE {t} VERSION AS OF 0": "CLONE",
    "CREATE OR REPLACE TABLE copy CLONE {t}": "CLONE",
    "DESCRIBE HISTORY {t}": "DESCRIBE HISTORY",
    "desc /* the table's */ history {t} LIMIT 2": "DESCRIBE HISTORY",
    "Describe Detail {t}": "DESCRIBE DETAIL",
    "ALTER TABLE {t} DROP FEATURE deletionVectors TRUNCATE HISTORY": "ALTER TABLE ... DROP FEATURE",
    "ALTER TABLE {t} ALTER COLUMN id SYNC IDENTITY": "ALTER TABLE ... SYNC IDENTITY",
    "ALTER TABLE {t} CLUSTER BY AUTO": "CLUSTER BY AUTO",
    "EXPLAIN EXTENDED OPTIMIZE {t}": "OPTIMIZE",
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


@pytest.mark.parametrize(
    "text", ["VACUUM '{p}'", 'OPTIMIZE "{p}"', "DESCRIBE HISTORY '{p}'", "DESC DETAIL '{p}'", "RESTORE '{p}' TO 1"]
)
def test_a_path_as_a_string_is_refused_by_name(spark, table_path, text):
    with pytest.raises(UnsupportedFeatureError) as caught:
        spark.sql(text.format(p=table_path))
    assert table_path in str(caught.value)


def test_the_next_step_is_the_method_that_gives_the_same(spark, delta, table_path):
    with pytest.raises(UnsupportedFeatureError) as caught:
        spark.sql(f"DESCRIBE HISTORY {delta}")
    assert caught.value.next_step == f"DeltaTable.forName(spark, '{delta}').history() gives the same rows."
    with pytest.raises(UnsupportedFeatureError) as caught:
        spark.sql(f"DESCRIBE DETAIL '{table_path}'")
    assert caught.value.next_step == f"DeltaTable.forPath(spark, '{table_path}').detail() gives the same row."


def test_parameters_sessions_and_scripts_make_no_difference(spark, delta):
    with pytest.raises(UnsupportedFeatureError):
        spark.sql("VACUUM IDENTIFIER(:t)", args={"t": delta})
    with pytest.raises(UnsupportedFeatureError):
        spark.newSession().sql(f"OPTIMIZE {delta}")
    if spark.version >= "4":
        for text in (f"BEGIN SELECT 1; VACUUM {delta}; END", f"a: BEGIN IF true THEN DESCRIBE HISTORY {delta}; END IF; END"):
            with pytest.raises(UnsupportedFeatureError):
                spark.sql(text)


OTHERS = [
    "VACUUM {p}",
    "OPTIMIZE {v}",
    "RESTORE TABLE {p} TO VERSION AS OF 1",
    "CREATE TABLE copy CLONE {p}",
    "ALTER TABLE {p} DROP FEATURE x",
    "DESCRIBE HISTORY {p} LIMIT 2",
    "VACUUM other_catalog.a.b",
    "SELECT vacuum optimize restore FROM",
    "SELECT 'VACUUM x' )",
    "-- VACUUM x",
    "CALL system.vacuum(",
]


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_about_no_delta_table_fails_as_spark_has_it(spark, name, text):
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING parquet")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW some_view AS SELECT 1")
    with pytest.raises(ParseException):
        spark.sql(text.format(p=name, v="some_view"))


@pytest.mark.parametrize("word", ["history", "detail"])
def test_a_table_with_the_name_of_a_description_is_described(spark, delta, word):
    with pytest.raises(UnsupportedFeatureError):
        spark.sql(f"DESCRIBE {word} {delta}")
    spark.sql(f"CREATE TEMPORARY VIEW {word} AS SELECT 1 AS {delta}, 2 AS x")
    try:
        assert spark.sql(f"DESCRIBE {word} {delta}").first().info_value == delta
        assert spark.sql(f"DESCRIBE {word} x").first().info_value == "x"
        assert [row.col_name for row in spark.sql(f"DESCRIBE {word}").collect()] == [delta, "x"]
    finally:
        spark.catalog.dropTempView(word)


def test_a_description_of_a_table_of_another_kind_is_sparks_error(spark, name):
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING parquet")
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"DESCRIBE HISTORY {name}")
    assert not isinstance(caught.value, UnsupportedFeatureError)
