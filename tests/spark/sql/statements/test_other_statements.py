# SPDX-License-Identifier: Apache-2.0
"""SQL that is not Delta's is parsed as without bayou, and mutated statements of Delta's have Spark's error or bayou's."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from tests.support.drawing import drawing
from tests.support.observing import jobs

from bayou.spark.jvm.core.bridge import Jvm

SPARKS = [
    "SELECT 1",
    "SELECT vacuum, optimize FROM history WHERE detail = 'VACUUM t'",
    "WITH restore AS (SELECT 1) SELECT * FROM restore",
    "SELECT * FROM (SELECT history FROM detail) AS clone",
    "CREATE TABLE vacuum (history INT) USING parquet PARTITIONED BY (history)",
    "CREATE TABLE t (id INT) USING parquet AS SELECT 1",
    "INSERT INTO optimize VALUES (1)",
    "INSERT OVERWRITE TABLE t PARTITION (p = 1) SELECT 1",
    "DELETE FROM generate WHERE id = 1",
    "UPDATE convert SET a = 1",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "ALTER TABLE t ADD COLUMNS (clone INT)",
    "DESCRIBE TABLE EXTENDED history",
    "DESCRIBE history",
    "SHOW PARTITIONS optimize",
    "ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS",
    "EXPLAIN EXTENDED SELECT * FROM vacuum",
    "CACHE TABLE detail",
    "SET optimize = vacuum",
    "SELECT * FROM t TABLESAMPLE (10 PERCENT) -- OPTIMIZE t",
    # not SQL
    "SELEKT 1",
    "VACUUMS t",
    "SELECT FROM WHERE",
    "SELECT 'OPTIMIZE t",
    "/* VACUUM t",
    "CREATE TABLE clone (",
    "INSERT INTO",
    "",
]
DELTAS = [
    "VACUUM t RETAIN 168 HOURS DRY RUN",
    "OPTIMIZE t WHERE p = 1 ZORDER BY (a, b)",
    "REORG TABLE t WHERE p = 1 APPLY (PURGE)",
    "RESTORE TABLE t TO VERSION AS OF 3",
    "RESTORE t TO TIMESTAMP AS OF '2026-01-01'",
    "DESCRIBE HISTORY t LIMIT 5",
    "DESCRIBE DETAIL delta.`/nowhere`",
    "GENERATE symlink_format_manifest FOR TABLE t",
    "CONVERT TO DELTA parquet.`/nowhere` NO STATISTICS PARTITIONED BY (p INT)",
    "CREATE OR REPLACE TABLE t SHALLOW CLONE s VERSION AS OF 1 TBLPROPERTIES ('a' = 'b') LOCATION '/nowhere'",
    "ALTER TABLE t DROP FEATURE deletionVectors TRUNCATE HISTORY",
    "ALTER TABLE t ALTER COLUMN id SYNC IDENTITY",
    "ANALYZE TABLE t COMPUTE DELTA STATISTICS",
]
WORD = re.compile(r"'[^']*'|`[^`]*`|\w+|[^\w\s]")
WORDS = sorted(
    {word for text in DELTAS for word in WORD.findall(text)} | {"(", ")", "'", "`", ";", ".", "--", "/*", "1e999", "NULL"}
)


def parsed(parser, text):
    """What a parser makes of a text: the plan without ids and the names of closures, or the error."""
    try:
        return re.sub(r"#\d+L?|\d+\]|\S*Lambda\S*", "#", parser.parsePlan(text).toString())
    except (PySparkException, Py4JJavaError) as error:
        return f"{type(error).__name__}: {error}"


def both_parsers(spark):
    session = spark._jsparkSession
    ours = session.sessionState().sqlParser()
    return ours, Jvm.of(spark).static("bayou.Parser").behind(ours)


@pytest.mark.parametrize("text", SPARKS)
def test_what_is_not_deltas_is_parsed_as_without_bayou(spark, text):
    ours, sparks = both_parsers(spark)
    assert parsed(ours, text) == parsed(sparks, text)


@pytest.mark.soak
def test_the_statements_of_sparks_own_tests_are_parsed_as_without_bayou(spark):
    jar = os.environ.get("BAYOU_SPARK_SQL_TESTS")
    if not jar:
        pytest.skip("Spark's SQL tests are not provided (BAYOU_SPARK_SQL_TESTS): `make soak` fetches them")
    ours, sparks = both_parsers(spark)
    texts = list(statements_in(Path(jar)))
    assert not [text for text in texts if parsed(ours, text) != parsed(sparks, text)]
    assert len(texts) > 5_000


def statements_in(jar):
    """The statements in the files of Spark's SQL tests, cut at each semicolon at the end of a line."""
    with zipfile.ZipFile(jar) as files:
        for name in sorted(files.namelist()):
            if name.startswith("sql-tests/inputs/") and name.endswith(".sql"):
                text = files.read(name).decode()
                yield from (each.strip() for each in re.split(r";\s*\n", text) if each.strip())


@st.composite
def mutated(draw):
    """A statement of Delta's with some words left out, doubled, exchanged or put in."""
    words = WORD.findall(draw(st.sampled_from(DELTAS)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(words) - 1))
        how = draw(st.sampled_from(["drop", "double", "exchange", "insert"]))
        if how == "drop" and len(words) > 1:
            del words[place]
        elif how == "double":
            words.insert(place, words[place])
        elif how == "insert":
            words.insert(place, draw(st.sampled_from(WORDS)))
        else:
            words[place] = draw(st.sampled_from(WORDS))
    return " ".join(words)


@given(text=mutated())
@settings(drawing(1), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_mutated_statement_has_an_error_of_sparks_or_of_bayous(spark, text):
    ours, _ = both_parsers(spark)
    refused = ""
    with jobs(spark) as started:
        try:
            ours.parsePlan(text)
        except PySparkException as error:
            refused = str(error)
    assert started.value == 0
    assert "Traceback" not in refused, text
    assert "INTERNAL_ERROR" not in refused, text
