# SPDX-License-Identifier: Apache-2.0
"""Ibis on a session with bayou: Delta tables by path and by name, appended, merged, and read as they were.

pip install 'ibis-framework[pyspark]' bayou; python examples/clients/ibis_tables.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import ibis
from pyspark.sql import SparkSession

import bayou


def main() -> int:
    """Run the queries and compare their rows."""
    with tempfile.TemporaryDirectory(prefix="bayou-ibis-") as folder:
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        spark = bayou.enable(builder.config("spark.sql.warehouse.dir", str(Path(folder) / "warehouse")))
        connection = ibis.pyspark.connect(spark)
        path = str(Path(folder) / "orders")

        first = ibis.memtable({"id": [1, 2], "total": [10, 20]})
        connection.to_delta(first, path)
        connection.to_delta(ibis.memtable({"id": [3], "total": [30]}), path, mode="append")
        orders = connection.read_delta(path)
        found = {
            "total": orders.total.sum().execute(),
            "filter": orders.filter(orders.id > 1).order_by("id").total.execute().tolist(),
            "version 0": connection.read_delta(path, versionAsOf=0).count().execute(),
        }

        connection.create_table("shop", orders, format="delta", partition_by="id")
        connection.create_table("empty", schema={"id": "int64", "total": "int64"}, format="delta")
        connection.insert("shop", ibis.memtable({"id": [4], "total": [40]}))
        connection.raw_sql("UPDATE shop SET total = total + 1 WHERE id = 1")
        connection.upsert("shop", ibis.memtable({"id": [2, 5], "total": [25, 50]}), on="id")
        found["named"] = sorted(connection.table("shop").execute().itertuples(index=False, name=None))
        found["empty"] = connection.table("empty").count().execute()
        connection.insert("shop", ibis.memtable({"id": [7], "total": [70]}), overwrite=True)
        found["overwritten"] = connection.table("shop").to_pyarrow().to_pylist()
        history = spark.sql("SELECT operation FROM (DESCRIBE HISTORY shop) ORDER BY version").collect()
        found["history"] = [each.operation for each in history]
        spark.stop()
    expected = {
        "total": 60,
        "filter": [20, 30],
        "version 0": 2,
        "named": [(1, 11), (2, 25), (3, 30), (4, 40), (5, 50)],
        "empty": 0,
        "overwritten": [{"id": 7, "total": 70}],
        "history": ["CREATE TABLE AS SELECT", "WRITE", "UPDATE", "MERGE", "TRUNCATE", "WRITE"],
    }
    wrong = [f"{name}: {found[name]}, not {value}" for name, value in expected.items() if found[name] != value]
    print("; ".join(wrong) or "ibis: all tables are as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
