# SPDX-License-Identifier: Apache-2.0
"""The part of the demo with maintenance: many small files become few, put in order, and the old ones go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from screen import console, show, step

import bayou
from bayou.storage.trees import list_tree

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRITES, FILES = 2, 40
RETENTION_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
FILES_PER_MARK = 2


def upkeep(spark: SparkSession, raw: str, table: str) -> None:
    """A table of many small files is compacted, Z-ordered and vacuumed; its files are shown after each step."""
    flights = spark.read.parquet(raw)
    with step(f"{WRITES} writes of {FILES} small files each"):
        for number in range(WRITES):
            part = flights.where(flights.day % WRITES == number).repartition(FILES)
            part.write.format("delta").mode("append").option("delta.targetFileSize", "2mb").save(table)
    shown = Table(box=None, padding=(0, 2), header_style="bold")
    for name in ("", "files", "MiB each", "on disk", f"a mark for {FILES_PER_MARK} files"):
        shown.add_column(name)
    opened = bayou.DeltaTable.forPath(spark, table)
    show(
        "table.optimize().executeCompaction()\n"
        "table.optimize().executeZOrderBy('carrier', 'dest')\n"
        "table.vacuum(0)  # by default, removed files stay for seven days"
    )
    shown.add_row("as written", *facts(table))
    opened.optimize().executeCompaction()
    shown.add_row("compacted", *facts(table))
    opened.optimize().executeZOrderBy("carrier", "dest")
    shown.add_row("Z-ordered", *facts(table))
    spark.conf.set(RETENTION_CHECK, "false")
    opened.vacuum(0)
    spark.conf.unset(RETENTION_CHECK)
    shown.add_row("vacuumed", *facts(table))
    console.print(shown)
    rows, expected = bayou.read(spark, table).count(), flights.count()
    console.print(f"  {rows:,} rows of {expected:,}: no row was lost\n", highlight=False)


def facts(table: str) -> tuple[str, ...]:
    """What a version of the table needs and what lies in its folder."""
    log = bayou.open(table)
    snapshot = log.snapshot()
    on_disk = sum(path.endswith(".parquet") for found in list_tree(log.store) for path in found.column("path").to_pylist())
    count = snapshot.num_files
    return str(count), f"{snapshot.size_bytes / count / 2**20:.2f}", f"{on_disk} files", "\u25a0" * -(-count // FILES_PER_MARK)
