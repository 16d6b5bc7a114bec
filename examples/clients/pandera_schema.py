# SPDX-License-Identifier: Apache-2.0
"""A Pandera schema checks rows before a Delta table is created from them, before a merge, and in an older version.

pip install 'pandera[pyspark]' bayou; python examples/clients/pandera_schema.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pandera.pyspark as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812

import bayou

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = 4
SCHEMA = "id INT, status STRING, total INT"
ORDERS = pa.DataFrameSchema(
    {
        "id": pa.Column(T.IntegerType(), pa.Check.gt(0)),
        "status": pa.Column(T.StringType(), pa.Check.isin(["open", "sent"])),
        "total": pa.Column(T.IntegerType(), nullable=True),
    }
)


def broken(frame: DataFrame) -> list[str]:
    """Return the columns that break the schema."""
    errors = ORDERS.validate(frame).pandera.errors
    found = [each for kinds in errors.values() for each in kinds.get("DATAFRAME_CHECK", [])]
    return sorted({each["column"] for each in found})


def main() -> int:
    """Check the rows and compare what was found."""
    with tempfile.TemporaryDirectory(prefix="bayou-pandera-") as folder:
        path = str(Path(folder) / "orders")
        spark = bayou.enable(SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false"))
        orders = spark.createDataFrame([(1, "open", 10), (2, "open", None)], SCHEMA)
        more = spark.createDataFrame([(3, "sent", 30)], SCHEMA)
        changes = spark.createDataFrame([(3, "lost", 35), (4, "sent", 40)], SCHEMA)
        found = {"orders": broken(orders)}
        ORDERS.validate(orders).write.format("delta").save(path)
        ORDERS.validate(more).write.format("delta").mode("append").save(path)
        found["changes"] = broken(changes)
        merge = bayou.DeltaTable.forPath(spark, path).alias("t").merge(changes.alias("c"), "t.id = c.id")
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        found["merged"] = broken(spark.read.format("delta").load(path))
        found["version 1"] = broken(spark.read.format("delta").option("versionAsOf", 1).load(path))
        count = spark.read.format("delta").load(path).count()
        spark.stop()
    right = found == {"orders": [], "changes": ["status"], "merged": ["status"], "version 1": []} and count == ROWS
    print("pandera: all results are as they should be" if right else f"other results: {found}, {count} rows")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
