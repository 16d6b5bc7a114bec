# SPDX-License-Identifier: Apache-2.0
"""The last questions of the demo, in SQL: what happened to a table, what changed, and what its upkeep would do and does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.utils import is_remote
from screen import console, indented, show, show_rows

import bayou

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ASKED = (
    "SELECT operation, count(*) AS commits FROM {history} GROUP BY operation",
    """SELECT _change_type, count(*) AS num_rows
FROM {changes} GROUP BY _change_type""",
    "DELETE FROM {january} WHERE dep_delay > (SELECT 10 * avg(dep_delay) FROM {january} WHERE dep_delay > 0)",
)
EXPLAINED = ("EXPLAIN OPTIMIZE {january}", "EXPLAIN VACUUM {january}")


def questions(spark: SparkSession, table: str) -> None:
    """Ask a table that has a change data feed and deletion vectors.

    Args:
        spark: the session.
        table: where the table lies.
    """
    if is_remote():
        console.print("  Tables with names need bayou in the server: on Spark Connect, SQL names the path\n", highlight=False)
        bayou.DeltaTable.forPath(spark, table).history().createOrReplaceTempView("history")
        named = {"january": f"delta.`{table}`", "history": "history", "changes": f"table_changes_by_path('{table}', 0)"}
    else:
        spark.sql(f"CREATE TABLE january USING delta LOCATION '{table}'")
        since = "current_timestamp() - INTERVAL 1 DAY"
        named = {"january": "january", "history": "(DESCRIBE HISTORY january)", "changes": f"table_changes('january', {since})"}

    def ask(text: str) -> DataFrame:
        asked = text.format_map(named)
        show(asked, "sql")
        return spark.sql(asked)

    for text in ASKED:
        show_rows(ask(text))
    for text in EXPLAINED:
        console.print(indented(ask(text).head()[0]), highlight=False)
    show_rows(ask("OPTIMIZE {january}").selectExpr("metrics.numFilesRemoved", "metrics.numFilesAdded"))
    count = ask("VACUUM {january} DRY RUN").count()
    console.print(f"  {count} files could go, of those that the table has not used for seven days\n", highlight=False)
