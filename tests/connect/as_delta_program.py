# SPDX-License-Identifier: Apache-2.0
"""A program as people write them for delta-spark on Spark Connect. `test_as_delta.py` runs it with bayou in delta-spark's place.

It names no bayou. Its arguments are the URL of a server, a folder, and a file for the facts.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

from delta import configure_spark_with_delta_pip
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

url, folder, answers = sys.argv[1:]
warnings.simplefilter("error", UserWarning)  # PySpark warns about each setting that the server refuses
EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "spark.sql.catalog.spark_catalog"
builder = SparkSession.builder.remote(url).config("spark.sql.extensions", EXTENSION)
builder = builder.config(CATALOG, "org.apache.spark.sql.delta.catalog.DeltaCatalog").config("spark.sql.shuffle.partitions", "2")


def works(spark, name):
    path = f"{folder}/{name}"
    spark.range(3).write.format("delta").save(path)
    table = DeltaTable.forPath(spark, path)
    table.delete("id = 1")
    table.alias("t").merge(spark.range(5).alias("s"), "t.id = s.id").whenNotMatchedInsertAll().execute()
    spark.sql(f"UPDATE delta.`{path}` SET id = 9 WHERE id = 4")
    return sorted(row.id for row in spark.read.format("delta").load(path).collect())


spark = configure_spark_with_delta_pip(builder).getOrCreate()
facts = {"helper": works(spark, "helper")}
facts["plain builder"] = works(builder.getOrCreate(), "plain")
others = {"created": builder.create()}
if hasattr(spark, "newSession"):  # from PySpark 4.3 on
    others["newSession"] = spark.newSession()
facts |= {name: works(session, name) for name, session in others.items()}
facts["given"] = [spark.conf.get("spark.sql.extensions"), spark.conf.get("spark.sql.shuffle.partitions")]
facts["default"] = spark.conf.get("spark.databricks.delta.schema.autoMerge.enabled")
spark.conf.set(CATALOG, "org.apache.spark.sql.delta.catalog.DeltaCatalog")
facts["catalog"] = [spark.conf.get(CATALOG), spark.sql("SELECT current_catalog()").head()[0]]
for session in (*others.values(), spark):  # otherwise PySpark waits at the end of the process
    session.stop()
last = SparkSession.builder.remote(url).getOrCreate()
facts["after a stop"] = works(last, "again")
last.stop()
Path(answers).write_text(json.dumps(facts))
