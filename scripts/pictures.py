# SPDX-License-Identifier: Apache-2.0
"""pictures.py: draw the pictures of the README, the plan of a MERGE and `bayou history`, into docs/pictures."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console
from rich.text import Text

import bayou

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
WIDTH = 88


def main() -> int:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = bayou.enable(builder.config("spark.ui.showConsoleProgress", "false").config("spark.bayou.progress", "off"))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/orders"
        orders = spark.range(200_000).selectExpr("id", "date_add(DATE'2026-11-01', CAST(id % 20 AS INT)) AS day", "id % 7 AS state")
        bayou.write(orders, path, mode="overwrite", partition_by=["day"], **{"delta.enableDeletionVectors": "true"})
        table = bayou.DeltaTable.forPath(spark, path)
        table.delete("state = 3")
        changes = spark.range(199_000, 201_000).selectExpr("id", "DATE'2026-11-20' AS day", "0L AS state")
        merge = table.alias("t").merge(changes.alias("c"), "t.id = c.id AND t.day = c.day")
        merge = merge.whenMatchedUpdateAll().whenNotMatchedInsertAll()
        draw("plan", "print(merge.plan())", str(merge.plan()).replace(path, "/data/orders"))
        merge.execute()
        table.optimize().executeCompaction()
        variables = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH)}
        command = [sys.executable, "-m", "bayou", "history", path]
        shown = subprocess.run(command, env=variables, check=True, capture_output=True, text=True).stdout
        draw("history", "bayou history /data/orders", shown.replace(path, "/data/orders"))
    spark.stop()
    return 0


def draw(name: str, title: str, text: str) -> None:
    """Write a picture of a terminal."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text.rstrip()), soft_wrap=False)
    (PICTURES / f"{name}.svg").write_text(console.export_svg(title=title, unique_id=name) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
