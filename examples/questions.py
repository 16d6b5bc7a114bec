# SPDX-License-Identifier: Apache-2.0
"""The last questions of the demo, in SQL: what happened to a table, what changed, and what its upkeep would do and does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from screen import console, indented, show, show_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED = (
    "SELECT operation, count(*) AS commits FROM (DESCRIBE HISTORY january) GROUP BY operation",
    """SELECT _change_type, count(*) AS num_rows
FROM table_changes('january', current_timestamp() - INTERVAL 1 DAY) GROUP BY _change_type""",
    "DELETE FROM january WHERE dep_delay > (SELECT 10 * avg(dep_delay) FROM january WHERE dep_delay > 0)",
)
EXPLAINED = ("EXPLAIN OPTIMIZE january", "EXPLAIN VACUUM january")


def questions(spark: SparkSession, table: str) -> None:
    """Ask a table that has a change data feed and deletion vectors.

    Args:
        spark: the session.
        table: where the table lies.
    """
    spark.sql(f"CREATE TABLE january USING delta LOCATION '{table}'")
    for text in ASKED:
        show(text, "sql")
        show_rows(spark.sql(text))
    for text in EXPLAINED:
        show(text, "sql")
        console.print(indented(spark.sql(text).head()[0]), highlight=False)
    show("OPTIMIZE january", "sql")
    show_rows(spark.sql("OPTIMIZE january").selectExpr("metrics.numFilesRemoved", "metrics.numFilesAdded"))
    show("VACUUM january DRY RUN", "sql")
    count = spark.sql("VACUUM january DRY RUN").count()
    console.print(f"  {count} files could go, of those that the table has not used for seven days\n", highlight=False)
