# SPDX-License-Identifier: Apache-2.0
"""Questions that programs ask of delta-spark, and what they get; `test_as_delta_answers.py` runs it with bayou in its place.

It names no bayou. Its arguments are a folder, and a file for the answers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

folder = Path(sys.argv[1])
answers: dict[str, object] = {}
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")


def refused(call):
    """What an error says to a program, and the names of PySpark's exceptions that catch it."""
    try:
        call()
    except Exception as error:  # noqa: BLE001  (told to the test)
        kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__module__.startswith(("pyspark", "py4j"))]
        parameters = getattr(error, "getMessageParameters", dict)()
        return [getattr(error, "getErrorClass", lambda: None)(), getattr(error, "getSqlState", str)(), parameters, kinds]
    return None


def number_of_rows(text, *arguments, **named):
    return len(spark.sql(text, *arguments, **named).collect())


# A setting that nobody set, saved and restored.
MERGES = "spark.databricks.delta.schema.autoMerge.enabled"
before = spark.conf.get(MERGES)
spark.conf.set(MERGES, "true")
during = spark.conf.get(MERGES)
spark.conf.set(MERGES, before)
after = spark.conf.get(MERGES)
spark.conf.unset(MERGES)
answers["setting"] = [before, during, after, spark.conf.get(MERGES), spark.conf.get(MERGES, "true")]
answers["setting without a default"] = spark.conf.get("spark.databricks.delta.commitInfo.userMetadata")
answers["unknown setting"] = refused(lambda: spark.conf.get("spark.databricks.delta.nothing")) is not None

# Statements that fail for Spark's own reasons.
spark.sql("create table zt (a int) using delta")
answers["statements"] = [
    refused(lambda statement=statement: spark.sql(statement))[0].partition(".")[0]
    for statement in (
        "create table zt (a int) using delta comment 'a clone of x'",
        "create table t using delta as select clone from nope",
        "alter table zt add columns (a int comment 'x drop feature y')",
    )
]

# Descriptions.
path = str(folder / "table")
spark.range(3).write.format("delta").save(path)
spark.range(3).write.format("delta").mode("append").save(path)
answers["formatted"] = [
    number_of_rows("describe history {p}", p=path),
    number_of_rows("describe history {p} limit {n}", p=path, n=1),
    number_of_rows("-- what\ndescribe detail {p}", p=path),
    number_of_rows("describe history zt", [1]),
    number_of_rows("select * from {rows} where id = {n}", rows=spark.range(3), n=1),
]
spark.sql("create table plain (a int) using parquet")
spark.sql("create view seen as select * from zt")
spark.range(1).createOrReplaceTempView("passing")
(folder / "empty").mkdir()
answers["descriptions"] = {
    of: refused(lambda of=of: spark.sql(f"describe {of.format(folder)}"))
    for of in (
        "history nope",
        "detail nope",
        "history plain",
        "history seen",
        "detail seen",
        "detail passing",
        "history delta.`{}/nope`",
        "detail delta.`{}/nope`",
        "history '{}/nope'",
        "detail '{}/nope'",
        "history '{}/empty'",
    )
}
row = spark.sql(f"describe detail '{folder}/empty'").first()
answers["folder"] = [row["location"] == str(folder / "empty"), row["format"], row["properties"]]

# What errors say by delta-spark's names.
spark.range(1).write.parquet(str(folder / "files"))
answers["parameters"] = {
    what: refused(call)[:3]
    for what, call in {
        "forPath": lambda: DeltaTable.forPath(spark, str(folder / "nope")),
        "forName": lambda: DeltaTable.forName(spark, "nope"),
        "save": lambda: spark.range(1).write.format("delta").save(path),
        "load": lambda: spark.read.format("delta").load(str(folder / "nope")),
        "files": lambda: spark.read.format("delta").load(str(folder / "files")),
        "property": lambda: spark.sql("alter table zt set tblproperties ('delta.nope' = '1')"),
        "drop": lambda: spark.sql("alter table zt drop constraint c"),
        "history": lambda: spark.sql("describe history plain"),
        "buckets": lambda: spark.range(1).write.format("delta").bucketBy(2, "id").saveAsTable("bk"),
        "batch": lambda: spark.range(1).write.format("delta").option("txnAppId", "a").option("txnVersion", "x").save(path),
    }.items()
}

spark.stop()
Path(sys.argv[2]).write_text(json.dumps(answers), encoding="utf-8")
