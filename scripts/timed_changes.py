# SPDX-License-Identifier: Apache-2.0
"""timed_changes.py ENGINE FOLDER ROWS: times DELETE and MERGE on one engine; prints a JSON line for each case.

The engine is `bayou` or `delta-spark`. It writes the table itself: 16 columns in 16 files, ordered by the key. Each run changes
a fresh copy of the table, whose log the session has read. The first run of a case is not counted.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

FILES = 16
RUNS = 3
SETTINGS = {
    "spark.driver.memory": "6g",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
WORDS = "split('furiously slyly carefully final ironic express pending regular bold deposits packages accounts', ' ')"
COLUMNS = (
    "id div 4 AS orderkey",
    "CAST(pmod(hash(id, 1), 200000) AS BIGINT) AS partkey",
    "CAST(pmod(hash(id, 2), 10000) AS BIGINT) AS suppkey",
    "CAST(id % 4 AS INT) AS linenumber",
    "CAST(pmod(hash(id, 3), 5000) / 100 AS DECIMAL(12, 2)) AS quantity",
    "pmod(hash(id, 4), 10000000) / 100D AS price",
    "pmod(hash(id, 5), 11) / 100D AS discount",
    "pmod(hash(id, 6), 9) / 100D AS tax",
    "element_at(array('R', 'A', 'N'), pmod(hash(id, 7), 3) + 1) AS returnflag",
    "element_at(array('O', 'F'), pmod(hash(id, 8), 2) + 1) AS linestatus",
    "date_add(DATE'1992-01-01', pmod(hash(id, 9), 2526)) AS shipdate",
    "date_add(DATE'1992-01-31', pmod(hash(id, 9), 2526)) AS commitdate",
    "timestamp_seconds(694224000 + pmod(hash(id, 9), 2526) * 86400) AS receiptdate",
    "element_at(array('DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'), pmod(hash(id, 10), 4) + 1) AS shipinstruct",
    "element_at(array('AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'), pmod(hash(id, 11), 6) + 1) AS shipmode",
    f"concat_ws(' ', transform(sequence(12, 15), n -> element_at({WORDS}, pmod(hash(id, n), 12) + 1))) AS comment",
)
KEYS = "t.orderkey = s.orderkey AND t.linenumber = s.linenumber"
VECTORS = {"delta.enableDeletionVectors": "true"}


def delete(table: Any, _: DataFrame) -> None:
    """Deletes 1% of the rows, in every file."""
    table.delete("partkey % 100 = 7")


def upsert(table: Any, source: DataFrame) -> None:
    """Merges 1% of the rows: nine in ten update keys all over the table, one in ten is new."""
    table.alias("t").merge(source.alias("s"), KEYS).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


CASES: dict[str, tuple[dict[str, str], Callable[[Any, DataFrame], None]]] = {
    "delete": ({"delta.enableDeletionVectors": "false"}, delete),
    "upsert": ({"delta.enableDeletionVectors": "false"}, upsert),
    "upsert with deletion vectors": (VECTORS, upsert),
}


def main() -> int:
    engine, folder, rows = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    spark, tables = _engine(engine)
    spark.sparkContext.setLogLevel("ERROR")
    source = spark.range(rows // 100).selectExpr(f"IF(id % 10 = 0, {rows} + id, id * 100 + pmod(hash(id), 100)) AS id")
    source.selectExpr(*COLUMNS).write.mode("overwrite").parquet(f"{folder}/source")
    for case, (properties, change) in CASES.items():
        original = folder / f"vectors-{properties['delta.enableDeletionVectors']}"
        if not original.exists():
            made = spark.range(0, rows, 1, FILES).selectExpr(*COLUMNS)
            made.write.format("delta").options(**properties).save(str(original))
        seconds = [_timed(spark, tables, original, change) for _ in range(RUNS)]
        print(json.dumps({"case": case, "seconds": min(seconds[1:])}), flush=True)
    spark.stop()
    return 0


def _engine(name: str) -> tuple[SparkSession, Any]:
    """The session, and the class `DeltaTable`."""
    builder = SparkSession.builder.master("local[2]")
    for setting, value in SETTINGS.items():
        builder = builder.config(setting, value)
    if name == "bayou":
        import bayou  # noqa: PLC0415  (one engine is installed in each environment)

        return bayou.enable(builder), bayou.DeltaTable
    builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    builder = builder.config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    builder = builder.config("spark.jars", ",".join(map(str, Path(os.environ["BAYOU_ORACLE_JARS"]).glob("*.jar"))))
    from delta.tables import DeltaTable  # noqa: PLC0415  (as above)

    return builder.getOrCreate(), DeltaTable


def _timed(spark: SparkSession, tables: Any, original: Path, change: Callable[[Any, DataFrame], None]) -> float:
    """The seconds that a change takes on a copy of a table."""
    copy = original.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(original, copy, copy_function=os.link)
    spark.read.format("delta").load(str(copy)).inputFiles()
    source = spark.read.parquet(str(original.with_name("source")))
    started = time.perf_counter()
    change(tables.forPath(spark, str(copy)), source)
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
