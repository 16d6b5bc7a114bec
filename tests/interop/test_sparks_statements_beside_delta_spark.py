# SPDX-License-Identifier: Apache-2.0
"""Spark's own statements on a Delta table, by its name and by its path: columns and errors as delta-spark gives them."""

from __future__ import annotations

import pytest
from tests.interop.sampled import sampled
from tests.interop.test_statements_beside_delta_spark import class_of

pytestmark = pytest.mark.oracle

STATEMENTS = [
    "ANALYZE TABLE {t} COMPUTE STATISTICS",
    "ANALYZE TABLE {t} COMPUTE STATISTICS NOSCAN",
    "ANALYZE TABLE {t} COMPUTE STATISTICS FOR ALL COLUMNS",
    "ANALYZE TABLE {t} PARTITION (p = 1) COMPUTE STATISTICS",
    "REFRESH TABLE {t}",
    "SHOW CREATE TABLE {t}",
    "SHOW COLUMNS IN {t}",
    "SHOW PARTITIONS {t}",
    "SHOW PARTITIONS {t} PARTITION (p = 1)",
    "SHOW PARTITIONS {t} PARTITION (v = 1)",
    "SHOW TBLPROPERTIES {t}",
    "SHOW TBLPROPERTIES {t} ('delta.minReaderVersion')",
    "DESCRIBE TABLE {t}",
    "DESCRIBE EXTENDED {t}",
    "DESCRIBE {t} v",
    "DESCRIBE {t} nothing",
    "MSCK REPAIR TABLE {t}",
    "ALTER TABLE {t} RECOVER PARTITIONS",
    "ALTER TABLE {t} ADD PARTITION (p = 7)",
    "ALTER TABLE {t} DROP PARTITION (p = 1)",
    "ALTER TABLE {t} PARTITION (p = 1) RENAME TO PARTITION (p = 8)",
    "ALTER TABLE {t} SET SERDE 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe'",
    "ALTER TABLE {t} SET SERDEPROPERTIES ('a' = 'b')",
    "ALTER TABLE {t} UNSET TBLPROPERTIES ('nothing')",
    "LOAD DATA INPATH '/nowhere' INTO TABLE {t}",
    "TRUNCATE TABLE {t}",
    "TRUNCATE TABLE {t} PARTITION (p = 1)",
    "SELECT count(*) FROM {t} VERSION AS OF 0",
    "SELECT * FROM {t} TABLESAMPLE (1 ROWS)",
]
NAMED = [
    "SHOW TABLE EXTENDED LIKE '{n}'",
    "SHOW TABLE EXTENDED LIKE '{n}' PARTITION (p = 1)",
    "ALTER TABLE {n} RENAME TO {n}_2",
    "DROP TABLE {n}",
    "CACHE TABLE {n}",
]
ROWS, REFUSED = "", "DELTA_OPERATION_NOT_ALLOWED"
OTHER = {
    "ANALYZE TABLE {t} COMPUTE STATISTICS": {"name": ROWS, "path": REFUSED},
    "ANALYZE TABLE {t} COMPUTE STATISTICS NOSCAN": {"name": ROWS, "path": REFUSED},
    "ANALYZE TABLE {t} COMPUTE STATISTICS FOR ALL COLUMNS": {"name": ROWS, "path": REFUSED},
    "ANALYZE TABLE {t} PARTITION (p = 1) COMPUTE STATISTICS": {"name": REFUSED, "path": REFUSED},
    "SHOW CREATE TABLE {t}": {"name": ROWS, "path": ROWS},
    "SHOW TABLE EXTENDED LIKE '{n}' PARTITION (p = 1)": {"name": "SHOW TABLE EXTENDED is not allowed"},
}
"""Statements that delta-spark refuses by another class, and what bayou does: the class or the words of its error, or rows."""


@pytest.fixture
def engines_of(spark, delta_spark, tmp_path):
    """Makes one table for each engine, by a name of the catalog and at a path; gives what stands for the table in each."""
    roots = [tmp_path / "ours", tmp_path / "theirs"]
    made = "CREATE TABLE {n} (id BIGINT, v STRING, p INT) USING delta PARTITIONED BY (p) LOCATION '{p}'"
    rows = "INSERT INTO {n} VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', NULL)"
    for text in ("DROP TABLE IF EXISTS {n}", made, rows):
        spark.sql(text.format(n="sparks_statements", p=roots[0]))
        delta_spark.sql(text.format(n="sparks_statements", p=roots[1]))
    yield roots
    for each in (spark.sql, delta_spark.sql):
        for name in ("sparks_statements", "sparks_statements_2"):
            each(f"DROP TABLE IF EXISTS {name}")


def outcomes(spark, delta_spark, texts):
    try:
        frame = spark.sql(texts[0])
        frame.collect()
        found = [[field.name, field.dataType.simpleString()] for field in frame.schema]
    except Exception as error:  # noqa: BLE001  (whatever it is, delta-spark is asked for the same)
        found = str(error)
    theirs = delta_spark.outcome(texts[1])
    return found, theirs["error"] if "error" in theirs else [column[:2] for column in theirs["columns"]]


def check(statement, by, found, wanted):
    if statement in OTHER:
        says = OTHER[statement][by]
        assert isinstance(wanted, str), wanted
        assert (says in found) if says else isinstance(found, list), found
        return
    if isinstance(found, list) and isinstance(wanted, list):
        assert found == wanted
        return
    assert isinstance(found, str), (found, str(wanted)[:300])
    assert isinstance(wanted, str), (found[:300], wanted)
    assert class_of(found) == class_of(wanted), (found[:300], wanted[:300])


@pytest.mark.parametrize("by", ["name", "path"])
@pytest.mark.parametrize("statement", sampled(STATEMENTS, 3))
def test_a_statement_of_sparks_on_a_table(spark, delta_spark, engines_of, statement, by):
    texts = [statement.format(t="sparks_statements" if by == "name" else f"delta.`{root}`") for root in engines_of]
    check(statement, by, *outcomes(spark, delta_spark, texts))


@pytest.mark.parametrize("statement", NAMED)
def test_a_statement_of_sparks_about_a_name(spark, delta_spark, engines_of, statement):
    check(statement, "name", *outcomes(spark, delta_spark, [statement.format(n="sparks_statements")] * 2))
