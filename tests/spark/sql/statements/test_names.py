# SPDX-License-Identifier: Apache-2.0
"""Tables, views and columns whose names are words of statements: where Spark reads a name, it stays one."""

from __future__ import annotations

import pytest

WORDS = ("vacuum", "optimize", "history", "detail", "restore", "reorg", "generate", "clone", "feature")


@pytest.fixture
def named(spark):
    """Makes a table or a view of a name for one test."""
    made = []

    def make(kind, name, rest):
        spark.sql(f"CREATE {kind} {name} {rest}")
        made.append((kind.rpartition(" ")[2], name))

    yield make
    for kind, name in made:
        spark.sql(f"DROP {kind} IF EXISTS {name}")


@pytest.mark.smoke
def test_tables_and_columns_may_have_the_names_of_statements(spark, named):
    columns = ", ".join(f"{word} INT" for word in WORDS)
    named("TABLE", "vacuum", f"({columns}) USING delta")
    spark.sql(f"INSERT INTO vacuum VALUES ({', '.join(map(str, range(len(WORDS))))})")
    spark.sql("INSERT INTO vacuum (detail, history) VALUES (7, 8)")
    assert spark.sql("SELECT optimize, vacuum.history FROM vacuum WHERE detail = 7 OR vacuum = 0 ORDER BY 2").collect() == [
        (1, 2),
        (None, 8),
    ]
    assert spark.sql("WITH optimize AS (SELECT 1 AS history) SELECT history FROM optimize").first().history == 1
    spark.sql("UPDATE vacuum SET clone = 5 WHERE restore = 4")
    spark.sql("ALTER TABLE vacuum ADD COLUMN sync INT")
    assert spark.sql("VACUUM vacuum DRY RUN").count() == 0
    assert spark.sql("OPTIMIZE vacuum").columns == ["path", "metrics"]
    assert spark.sql("DESCRIBE HISTORY vacuum LIMIT 1").count() == 1
    assert spark.sql("DESCRIBE vacuum clone").first().info_value == "clone"
    assert spark.sql("DESCRIBE TABLE vacuum").first().col_name == "vacuum"


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("kind", "rest"),
    [("TABLE", "(t INT, u STRING) USING delta"), ("VIEW", "AS SELECT 1 AS t"), ("TEMPORARY VIEW", "AS SELECT 1 AS t")],
)
@pytest.mark.parametrize("word", ["history", "detail"])
def test_a_table_of_that_name_keeps_sparks_meaning(spark, named, kind, rest, word):
    named("TABLE", "t", "(id INT) USING delta")
    assert "version" in spark.sql("DESCRIBE HISTORY t").columns
    named(kind, word, rest)
    for text in (f"DESCRIBE {word} t", f"DESC {word.upper()} t", f"DESCRIBE TABLE {word} t"):
        assert spark.sql(text).columns == ["info_name", "info_value"]
        assert spark.sql(text).first().info_value == "t"
    assert spark.sql(f"SELECT t FROM {word}").columns == ["t"]
    spark.sql(f"DROP {kind.rpartition(' ')[2]} {word}")
    assert spark.sql(f"DESCRIBE {word} t").columns != ["info_name", "info_value"]


def test_aliases_and_functions_of_these_names_are_sparks(spark):
    assert spark.sql("SELECT 1 AS vacuum, 2 AS history, 3 optimize").columns == ["vacuum", "history", "optimize"]
    spark.sql("SET optimize = 1").collect()
    try:
        assert spark.conf.get("optimize") == "1"
    finally:
        spark.conf.unset("optimize")
