# SPDX-License-Identifier: Apache-2.0
"""Runs this dbt project on a session that was only enabled, and checks its tables: dbt's own method `session` needs nothing else.

pip install dbt-core==1.10.* dbt-spark==1.9.* pyspark; python examples/dbt_project/check.py
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

import bayou

PROJECT = Path(__file__).resolve().parent
RUNS = (
    ("seed",),
    ("run",),
    ("snapshot",),
    ("test",),
    ("run", "--vars", "{more: 5}"),
    ("snapshot",),
    ("docs", "generate"),
)
QUERIES = {
    "SELECT id, total FROM shop.orders": [(1, 10), (2, 25), (3, 35)],
    "SELECT total, CAST(day AS STRING) FROM shop.by_day": [(30, "2026-01-01"), (35, "2026-01-02")],
    "SELECT id FROM shop.appended": [(1,), (1,), (2,), (2,), (3,), (3,)],
    "SELECT customer, total FROM shop.totals": [("ann", 45), ("bob", 25)],
    "SELECT id, total, dbt_valid_to IS NULL FROM shop.orders_over_time": [
        *((1, 10, True), (2, 20, False), (2, 25, True), (3, 30, False), (3, 35, True)),
    ],
    "SELECT operation FROM (DESCRIBE HISTORY shop.orders)": [("CREATE OR REPLACE TABLE AS SELECT",), ("MERGE",), ("OPTIMIZE",)],
}
"""What the tables hold in the end. The second run merges two orders, and replaces one day."""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="bayou-dbt-") as folder:
        project = shutil.copytree(PROJECT, Path(folder) / "project")
        os.chdir(project)
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        spark = builder.config("spark.sql.warehouse.dir", str(Path(folder) / "warehouse")).getOrCreate()
        bayou.enable(spark)
        for words in RUNS:
            done = dbtRunner().invoke([*words, "--project-dir", ".", "--profiles-dir", "."])
            if not done.success:
                print(f"dbt {' '.join(words)} failed: {done.exception}", file=sys.stderr)
                return 1
        wrong = [query for query, rows in QUERIES.items() if sorted(map(tuple, spark.sql(query).collect())) != rows]
        spark.stop()
    print("\n".join(f"other rows: {query}" for query in wrong) or "dbt: all tables are as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
