# SPDX-License-Identifier: Apache-2.0
"""delta-spark in a process of its own: `oracle.py JARS` takes a line of JSON from stdin, and answers with one on stdout.

A list holds SQL statements: the answer is the rows of the last one as lists of texts, or the error. `{"begin": path, "where":
filter}` begins a transaction of delta-spark's that has read the files of that filter, and `{"commit": actions}` commits it.
`{"write": query, "path": path, "mode": mode, "options": options, "partition_by": columns}` saves a query's rows.
`{"stream": path, "into": path, "checkpoint": path, "options": options}` runs a streaming query, as `run_stream` does.
`{"recompute": path}` has the statistics of a table's files made anew.
`{"each": lists, "of": path}` runs lists of statements, each with an answer of its own and the version that the table has then.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

MARK = "ORACLE "
STOPPED = "stopped by the test"
LONG_RUN = {
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.driver.extraJavaOptions": "-XX:ReservedCodeCacheSize=1g -XX:+UseSerialGC -Dspark.testing=true",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""What makes thousands of statements about a few rows faster: most of their time goes into compiling their expressions, which only
a Spark that takes itself for tested leaves out."""


def session(jars: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session as delta-spark's documentation asks for it, with the JARs of a folder, and with further settings."""
    found = ",".join(str(jar) for jar in sorted(Path(jars).glob("*.jar")))
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", found)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
    )
    for name, value in (settings or {}).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main() -> None:
    spark = session(sys.argv[1], LONG_RUN if os.environ.get("BAYOU_ORACLE_LONG_RUN") else None)
    transactions = Transactions(spark)
    for line in sys.stdin:
        given = json.loads(line)
        found = transactions.answer(given) if isinstance(given, dict) else answer(spark, given)
        sys.stdout.write(MARK + json.dumps(found) + "\n")
        sys.stdout.flush()


class Transactions:
    """One transaction of delta-spark's at a time, by its own Scala classes."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._delta = spark._jvm.org.apache.spark.sql.delta
        self._current = None

    def answer(self, given: dict[str, object]) -> dict[str, object]:
        try:
            if "stream" in given:
                return run_stream(self._spark, given)
            if "each" in given:
                return {"rows": [{**answer(self._spark, each), "version": version_of(given["of"])} for each in given["each"]]}
            if "write" in given:
                write(self._spark, given)
                return {"rows": []}
            if "begin" in given or "recompute" in given:
                self._begin(given["begin"], given["where"]) if "begin" in given else self._recompute(given["recompute"])
                return {"rows": []}
            return {"rows": [[self._commit(given["commit"])]]}
        except Exception as error:  # noqa: BLE001  (told to the test)
            return {"error": f"{type(error).__name__}: {str(error)[:1000]}"}

    def _begin(self, path: str, where: str | None) -> None:
        session, none = self._spark._jsparkSession, self._spark._jvm.scala.Option.empty()
        log = self._delta.DeltaLog.forTable(session, path)
        log.update(False, none, none)
        self._current = log.startTransaction(none, none)
        if where is not None:
            self._current.filterFiles(self._seq([session.sessionState().sqlParser().parseExpression(where)]), False)

    def _recompute(self, path: str) -> None:
        """Has the statistics of all files of a table made anew."""
        session, none = self._spark._jsparkSession, self._spark._jvm.scala.Option.empty()
        statistics = getattr(getattr(self._delta.stats, "StatisticsCollection$"), "MODULE$")
        predicates, every = (getattr(statistics, f"recompute$default${place}")() for place in (4, 5))
        statistics.recompute(session, self._delta.DeltaLog.forTable(session, path), none, predicates, every)

    def _commit(self, actions: list[str]) -> str:
        made = [self._delta.actions.Action.fromJson(action) for action in actions]
        operation = getattr(getattr(self._delta, "DeltaOperations$ManualUpdate$"), "MODULE$")
        return str(self._current.commit(self._seq(made), operation))

    def _seq(self, items: list[object]) -> object:
        return self._spark._jvm.PythonUtils.toSeq(items)


def write(spark: SparkSession, given: dict[str, object]) -> None:
    """Saves the rows of a query by the DataFrame's writer."""
    rows = spark.sql(given["write"]).alias("given")
    if "verb" in given:
        write_by_name(rows, given["verb"], f"delta.`{given['path']}`", given["options"])
        return
    writer = rows.write.format("delta").mode(given["mode"]).options(**given["options"])
    if given["partition_by"]:
        writer = writer.partitionBy(*given["partition_by"])
    writer.save(given["path"])


def write_by_name(rows: DataFrame, verb: str, name: str, options: dict[str, str]) -> None:
    """Writes rows by one of the DataFrame's verbs for tables with names, or by a statement: INSERT, INSERT BY NAME."""
    if verb.startswith("INSERT"):
        rows.createOrReplaceTempView("given")
        rows.sparkSession.sql(f"{verb.replace('INSERT', f'INSERT INTO {name}')} SELECT * FROM given")
    elif verb == "insertInto":
        rows.write.options(**options).insertInto(name)
    elif verb == "saveAsTable":
        rows.write.format("delta").mode("append").options(**options).saveAsTable(name)
    else:
        getattr(rows.writeTo(name).options(**options), verb)()


def run_stream(spark: SparkSession, given: dict[str, Any]) -> dict[str, Any]:
    """Streams a table into another one until nothing is left, each row with the number of its batch, or until something stops it.

    Args:
        spark: the session, of either engine.
        given: `stream`, the table; `options`, the reader's; `into`, the table that the rows go to; `checkpoint`; `stop_at`, a
            batch in which the query is to fail before it writes, or None; `columns`, the columns to take, or None for all; `sink`,
            whether the engine's own sink writes, without the numbers of batches; `during`, statements that this engine runs
            while the query waits for more rows.
    """

    def append(batch: DataFrame, number: int) -> None:
        if number == given.get("stop_at"):
            raise RuntimeError(STOPPED)
        options = {"txnAppId": "stream", "txnVersion": str(number), "mergeSchema": "true"}
        batch.withColumn("batch", lit(number)).write.format("delta").mode("append").options(**options).save(given["into"])

    try:
        rows = spark.readStream.format("delta").options(**given["options"]).load(given["stream"])
        rows = rows.select(*given["columns"]) if given.get("columns") else rows
        writer = rows.writeStream.option("checkpointLocation", given["checkpoint"])
        writer = writer.trigger(**({"processingTime": "0 seconds"} if given.get("during") else {"availableNow": True}))
        query = writer.format("delta").start(given["into"]) if given.get("sink") else writer.foreachBatch(append).start()
        for statement in given.get("during") or ():
            query.processAllAvailable()
            spark.sql(statement).collect()
            query.processAllAvailable()
        if given.get("during"):
            query.stop()
        query.awaitTermination()
    except Exception as error:  # noqa: BLE001  (told to the test)
        text = str(error)
        return {"error": STOPPED if STOPPED in text else text[:3000]}
    return {"rows": []}


def version_of(path: str) -> int:
    """The version of a table, by the names of its commits."""
    return max((int(each.stem) for each in Path(path, "_delta_log").glob("*.json") if each.stem.isdigit()), default=-1)


def answer(spark: SparkSession, statements: list[str]) -> dict[str, object]:
    try:
        for statement in statements[:-1]:
            spark.sql(statement).collect()
        frame = spark.sql(statements[-1])
        rows = frame.collect()
    except Exception as error:  # noqa: BLE001  (told to the test)
        text = str(error)
        causes = [line for line in text.splitlines() if line.startswith("Caused by: ")]
        return {"error": "\n".join([f"{type(error).__name__}: {text[:3000]}", *causes])}
    columns = [[field.name, field.dataType.simpleString(), field.nullable] for field in frame.schema]
    return {"rows": [[None if value is None else str(value) for value in row] for row in rows], "columns": columns}


if __name__ == "__main__":
    main()
