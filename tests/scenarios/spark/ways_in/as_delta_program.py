# SPDX-License-Identifier: Apache-2.0
"""A program as people write them for delta-spark; `test_as_delta.py` runs it with bayou in delta-spark's place.

It names no bayou. Its arguments are a folder, and a file for the facts.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path

import delta
from delta import configure_spark_with_delta_pip
from delta.exceptions import ConcurrentAppendException, DeltaConcurrentModificationException
from delta.tables import DeltaTable
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

folder = Path(sys.argv[1])
facts: dict[str, object] = {}

LOCAL = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.warehouse.dir": str(folder / "warehouse"),
}


def for_delta(builder):
    return builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension").config(
        "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    )


def works(spark, name):
    """Whether `delta` reads and writes on a session, through the catalog too."""
    path = str(folder / name)
    spark.range(3).write.format("delta").save(path)
    spark.range(2).write.format("delta").mode("append").save(path)
    return spark.read.format("delta").load(path).count() == 5 == spark.sql(f"select * from delta.`{path}`").count()


def error_of(call):
    try:
        call()
    except Exception as error:  # noqa: BLE001  (told to the test)
        return [type(error).__name__, getattr(error, "error_class", None), getattr(error, "features", None)]
    return None


# The helper, before other options of the builder.
builder = for_delta(SparkSession.builder.appName("helper").config(map=LOCAL))
spark = configure_spark_with_delta_pip(builder).config("spark.x", "1").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
facts["helper"] = works(spark, "helper")
facts["new session"] = works(spark.newSession(), "new_session")
SETTINGS = ("spark.x", "spark.sql.extensions", "spark.sql.catalog.spark_catalog", "spark.jars.packages")
facts["conf"] = [spark.conf.get(name) for name in SETTINGS]
facts["context's conf"] = [spark.sparkContext.getConf().get(name) for name in SETTINGS]
facts["Spark's own"] = [spark.sparkContext._jsc.getConf().get(name, "") for name in SETTINGS]
spark.conf.set("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
facts["set later"] = works(spark, "set_later")
spark.conf.set("spark.sql.catalog.other", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
facts["set and unset"] = [spark.conf.get("spark.sql.catalog.other", "none")]
spark.conf.unset("spark.sql.catalog.other")
facts["set and unset"] += [spark.conf.get("spark.sql.catalog.other", "none")]
spark.conf.set("spark.x", "2")
facts["another setting"] = [spark.conf.get("spark.x"), spark.conf.get("spark.z", "none")]
facts["system properties"] = [
    spark._jvm.java.lang.System.getProperty(name) for name in ("spark.y", "spark.jars.packages", "spark.sql.extensions")
]

table = DeltaTable.forPath(sparkSession=spark, path=str(folder / "helper"))
facts["history"] = [row["operation"] for row in table.history().select("operation").collect()]
facts["is table"] = [DeltaTable.isDeltaTable(spark, str(folder / name)) for name in ("helper", "nothing")]
facts["sql"] = spark.sql(f"VACUUM delta.`{folder}/helper`").columns
facts["sql of history"] = [
    [row["version"] for row in spark.sql(f"DESCRIBE HISTORY {name}").collect()]
    for name in (f"delta.`{folder}/helper`", f"'{folder}/helper' LIMIT 1")
]
facts["sql of detail"] = spark.sql(f"-- what\ndesc detail delta.`{folder}/helper`;").first()["numFiles"] > 0
spark.sql("create table plain (id long, p int) using parquet partitioned by (p)")
facts["sql of parquet"] = [
    spark.sql(f"describe detail {name}").select("format", "name", "partitionColumns").first()[:3]
    for name in ("plain", "spark_catalog.default.plain")
]
facts["table_changes"] = error_of(lambda: spark.sql("select * from table_changes('plain', 0)"))
facts["table_history"] = spark.sql(f"select max(version) from table_history('{folder}/helper')").first()[0]
facts["optimize"] = [table.optimize().executeCompaction().columns, spark.sql(f"OPTIMIZE delta.`{folder}/helper`").columns]
facts["sql of nothing"] = error_of(lambda: spark.sql("describe detail nothing"))
facts["sql of rows"] = [
    [row.asDict() for row in spark.sql(statement.format(f"delta.`{folder}/helper`")).collect()]
    for statement in (
        "DELETE FROM {} WHERE id = 1",
        "UPDATE {} SET id = 7 WHERE id = 2",
        """MERGE INTO {} t USING (SELECT explode(array(7L, 8L)) id) s ON t.id = s.id
        WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *""",
        "SELECT count(*) rows FROM {}",
    )
]
facts["other sql"] = error_of(lambda: spark.sql("VACUUMS x"))
facts["versions"] = [importlib.metadata.version("delta-spark"), delta.__version__]
facts["exceptions"] = issubclass(ConcurrentAppendException, DeltaConcurrentModificationException)

built = DeltaTable.create(spark).location(str(folder / "built")).addColumn("id", "BIGINT").execute()
facts["built"] = [type(built) is DeltaTable, built.toDF().count()]
spark.stop()
facts["stopped"] = [error_of(each) for each in (built.delete, built.toDF, lambda: DeltaTable.forPath(spark, str(folder / "built")))]

# Again after a stop, without the helper: Delta's classes and packages are named in the builder.
spark = for_delta(SparkSession.builder.appName("plain").config(map=LOCAL)).config(
    "spark.jars.packages", "io.delta:delta-spark_2.13:4.0.0,io.delta:delta-storage:4.0.0"
)
spark = spark.getOrCreate()
facts["plain builder"] = works(spark, "plain")
facts["same session"] = SparkSession.builder.getOrCreate() is spark
spark.stop()

# A configuration, and a session that no builder makes.
conf = SparkConf().setAll([*LOCAL.items(), ("spark.app.name", "conf")])
conf.set("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
conf.set("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
spark = SparkSession(SparkContext(conf=conf))
facts["context"] = works(spark, "context")
spark.stop()
spark = SparkSession.builder.config(conf=conf).getOrCreate()
facts["configuration"] = works(spark, "configuration")
spark.stop()

Path(sys.argv[2]).write_text(json.dumps(facts), encoding="utf-8")
