# SPDX-License-Identifier: Apache-2.0
"""delta-spark in a process of its own: `oracle.py JARS` runs lists of SQL statements from stdin, a line of JSON each.

It answers with a line of JSON on stdout: the rows of the last statement as lists of texts, or the error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

MARK = "ORACLE "


def main() -> None:
    jars = ",".join(str(jar) for jar in sorted(Path(sys.argv[1]).glob("*.jar")))
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for line in sys.stdin:
        sys.stdout.write(MARK + json.dumps(answer(spark, json.loads(line))) + "\n")
        sys.stdout.flush()


def answer(spark: SparkSession, statements: list[str]) -> dict[str, object]:
    try:
        for statement in statements[:-1]:
            spark.sql(statement).collect()
        rows = spark.sql(statements[-1]).collect()
    except Exception as error:  # noqa: BLE001  (told to the test)
        return {"error": f"{type(error).__name__}: {str(error)[:1000]}"}
    return {"rows": [[None if value is None else str(value) for value in row] for row in rows]}


if __name__ == "__main__":
    main()
