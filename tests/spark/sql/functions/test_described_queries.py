# SPDX-License-Identifier: Apache-2.0
"""DESCRIBE HISTORY and DESCRIBE DETAIL as subqueries."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, ParseException
from tests.support.cases import in_one_test


@pytest.fixture
def delta(spark, name, table_path):
    """The name of a table with three versions."""
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING delta LOCATION '{table_path}'")
    for start in range(2):
        spark.sql(f"INSERT INTO {name} VALUES ({start})")
    return name


def versions(frame):
    return sorted(row.version for row in frame.collect())


@pytest.mark.smoke
@in_one_test(
    ("text", "found"),
    [
        ("SELECT version FROM (DESCRIBE HISTORY {t})", [0, 1, 2]),
        ("SELECT h.version FROM (DESC HISTORY default.{t} LIMIT 2) AS h WHERE h.version < 2", [1]),
        ("WITH h AS (DESCRIBE HISTORY delta.`{p}`) SELECT version FROM h", [0, 1, 2]),
        ("SELECT version FROM (describe history '{p}' limit 1)", [2]),
        ("SELECT numFiles AS version FROM (DESCRIBE DETAIL {t})", [2]),
        ("SELECT id AS version FROM {t} WHERE id IN (SELECT version FROM (DESCRIBE HISTORY {t}))", [0, 1]),
        ("SELECT (SELECT max(version) FROM (DESC HISTORY {t})) AS version, '(DESC HISTORY x)' AS s", [2]),
        ("SELECT version FROM (DESCRIBE HISTORY {t}) UNION SELECT numFiles + 5 FROM (DESC DETAIL '{p}')", [0, 1, 2, 7]),
        ("SELECT version FROM (DESCRIBE HISTORY IDENTIFIER('{t}'))", [0, 1, 2]),
    ],
)
def test_a_description_is_a_subquery(spark, delta, table_path, text, found):
    assert versions(spark.sql(text.format(t=delta, p=table_path))) == found


def test_descriptions_are_read_by_other_statements(spark, delta, table_path):
    spark.sql(f"CREATE TABLE c_{delta} USING delta AS SELECT version, operation FROM (DESCRIBE HISTORY {delta})")
    try:
        spark.sql(f"INSERT INTO c_{delta} SELECT version + 10, operation FROM (DESCRIBE HISTORY {delta} LIMIT 1)")
        counts = spark.sql(
            f"MERGE INTO c_{delta} c USING (DESCRIBE HISTORY {delta}) h ON c.version = h.version WHEN MATCHED THEN DELETE"
        )
        assert counts.first().num_affected_rows == 3
        assert versions(spark.table(f"c_{delta}")) == [12]
        spark.sql(f"CREATE TEMPORARY VIEW v_{delta} AS SELECT version FROM (DESCRIBE HISTORY {delta})")
        spark.sql(f"INSERT INTO {delta} VALUES (7)")
        assert versions(spark.table(f"v_{delta}")) == [0, 1, 2, 3]
        spark.sql(f"DROP VIEW v_{delta}")
        assert "LocalTableScan" in spark.sql(f"EXPLAIN SELECT * FROM (DESCRIBE HISTORY delta.`{table_path}`)").first()[0]
    finally:
        spark.sql(f"DROP TABLE c_{delta}")


def test_parameters_and_scripts_work_beside_descriptions(spark, delta, scripts):
    text = f"SELECT version FROM (DESCRIBE HISTORY {delta}) WHERE version = :v"
    assert versions(spark.sql(text, args={"v": 1})) == [1]
    if spark.version >= "4":
        assert versions(spark.sql(f"BEGIN SELECT version FROM (DESCRIBE HISTORY {delta}); END")) == [0, 1, 2]


def test_a_table_with_that_name_changes_nothing_of_a_subquery(spark, delta):
    spark.sql("CREATE TEMPORARY VIEW history AS SELECT 1 AS x")
    try:
        assert versions(spark.sql(f"SELECT version FROM (DESCRIBE HISTORY {delta} LIMIT 1)")) == [2]
        assert spark.sql("SELECT x FROM (SELECT * FROM history)").count() == 1
    finally:
        spark.sql("DROP VIEW history")


@in_one_test(
    ("text", "place"),
    [
        ("SELECT version FROM (DESCRIBE HISTORY {t} WHERE version = 1)", "WHERE"),
        ("SELECT version\nFROM (DESCRIBE HISTORY {t}) h ORDER version", "ORDER"),
        ("SELEC version FROM (DESCRIBE HISTORY {t})", "SELEC"),
    ],
)
def test_a_wrong_text_is_wrong_where_it_was_written(spark, delta, text, place):
    with pytest.raises(ParseException, match=f"near '{place}'") as caught:
        spark.sql(text.format(t=delta))
    before = text.format(t=delta)[: text.format(t=delta).index(place)]
    assert f"line {before.count(chr(10)) + 1}, pos {len(before.rpartition(chr(10))[2])}" in str(caught.value)


def test_a_description_of_nothing_is_refused(spark):
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("SELECT * FROM (DESCRIBE HISTORY no_such_table)")
