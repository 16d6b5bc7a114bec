# SPDX-License-Identifier: Apache-2.0
"""`table_changes` as one text on both sessions: the rows and the errors are delta-spark's.

delta-spark itself reads one range for both if a query names the changes of a table and the table, or two ranges.
"""

from __future__ import annotations

import re
import uuid

import pytest
from tests.support.cases import in_one_test

pytestmark = pytest.mark.oracle

COLUMNS = "id, p, _change_type, _commit_version, cast(_commit_timestamp as string)"
QUERIES = [
    f"SELECT {COLUMNS} FROM table_changes('{{n}}', 0)",
    f"SELECT {COLUMNS} FROM table_changes('default.{{n}}', 1, 3)",
    f"SELECT {COLUMNS} FROM table_changes('spark_catalog.default.{{n}}', 2L, 2)",
    f"SELECT {COLUMNS} FROM table_changes('delta.`{{p}}`', 1)",
    f"SELECT {COLUMNS} FROM table_changes_by_path('{{p}}', 1, 99)",
    f"SELECT {COLUMNS} FROM table_changes_by_path('{{p}}', '2001-01-01')",
    f"SELECT {COLUMNS} FROM table_changes('{{n}}', '{{second}}', '{{third}}')",
    f"SELECT {COLUMNS} FROM table_changes('{{n}}', TIMESTAMP '{{second}}')",
    f"SELECT {COLUMNS} FROM table_changes('{{n}}', current_timestamp() - INTERVAL 1 DAY)",
    "SELECT count(*) FROM table_changes('{n}', 1) GROUP BY _change_type",
    "WITH c AS (SELECT * FROM table_changes('{n}', 2)) SELECT id FROM c WHERE _change_type = 'delete'",
    "SELECT * FROM delta.`{p}@v1`",
]
WRONG = [
    "SELECT * FROM table_changes('{n}', NULL)",
    "SELECT * FROM table_changes('{n}', 1, NULL)",
    "SELECT * FROM table_changes('{n}', 1.5)",
    "SELECT * FROM table_changes(7, 1)",
    "SELECT * FROM table_changes('{n}', 99)",
    "SELECT * FROM table_changes('{n}', 3, 1)",
    "SELECT * FROM table_changes('{n}', '2999-01-01')",
    "SELECT * FROM table_changes('{n}', 'nonsense')",
    "SELECT * FROM table_changes('no_{n}', 1)",
    "SELECT * FROM table_changes('parquet_{n}', 1)",
    "SELECT * FROM table_changes_by_path('{p}.nothing', 1)",
    "SELECT * FROM delta.`{p}@v99`",
    "SELECT * FROM delta.`{p}@v1` VERSION AS OF 1",
    "SELECT * FROM `no_{n}@v1`",
]


@pytest.fixture
def facts(spark, delta_spark, table_path):
    """What texts name: one table under one name in both catalogs."""
    name = f"functions_{uuid.uuid4().hex[:8]}"
    created = f"CREATE TABLE {name} (id BIGINT, p INT) USING delta PARTITIONED BY (p) LOCATION '{table_path}'"
    other = f"CREATE TABLE parquet_{name} (id BIGINT) USING parquet"
    delta_spark.sql(
        f"{created} TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
        f"INSERT INTO {name} SELECT id, CAST(id % 2 AS INT) FROM range(6)",
        f"UPDATE {name} SET p = 7 WHERE id = 3",
        f"DELETE FROM {name} WHERE p = 0",
        other,
    )
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{table_path}'")
    spark.sql(other)
    times = spark.sql(f"SELECT CAST(timestamp AS STRING) t FROM table_history('{name}')")
    found = list(reversed(times.collect()))
    yield {"n": name, "p": table_path, "second": found[2].t, "third": found[3].t}
    for table in (name, f"parquet_{name}"):
        spark.sql(f"DROP TABLE {table}")
    delta_spark.sql(f"DROP TABLE {name}", f"DROP TABLE parquet_{name}")


def class_of(text):
    found = re.search(r"\[([A-Z_0-9]+)[.\]]", text)
    return found[1] if found else text


@in_one_test("text", QUERIES)
def test_a_query_gives_the_rows_that_it_gives_on_delta_spark(spark, delta_spark, facts, text):
    ours = [[None if value is None else str(value) for value in row] for row in spark.sql(text.format(**facts)).collect()]
    assert sorted(ours, key=str) == sorted(delta_spark.sql(text.format(**facts)), key=str)
    assert ours


@in_one_test("text", WRONG)
def test_a_wrong_query_has_the_error_class_that_it_has_on_delta_spark(spark, delta_spark, facts, text):
    said = delta_spark.refused(text.format(**facts))
    with pytest.raises(Exception) as caught:
        spark.sql(text.format(**facts)).collect()
    assert class_of(str(caught.value)) == class_of(said)
