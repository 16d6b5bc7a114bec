# SPDX-License-Identifier: Apache-2.0
"""A Kedro pipeline whose data sets are Delta tables: it appends, merges, reads, and reads an older version.

pip install kedro 'kedro-datasets[spark-deltatabledataset]' bayou pyspark; python examples/clients/kedro_pipeline.py
A Kedro project calls `install_as_delta` in its settings.py, because `spark.DeltaTableDataset` imports delta-spark.
"""

from __future__ import annotations

import sys
import tempfile
from typing import TYPE_CHECKING, Any

import yaml
from kedro.io import DataCatalog
from kedro.pipeline import node, pipeline
from kedro.runner import SequentialRunner
from pyspark.sql import SparkSession

import bayou

if TYPE_CHECKING:
    from delta.tables import DeltaTable
    from pyspark.sql import DataFrame

CATALOG = """
"orders@spark":
  type: spark.SparkDataset
  filepath: FOLDER/orders
  file_format: delta
  save_args: {mode: append, partitionBy: [day]}
"orders@delta":
  type: spark.DeltaTableDataset
  filepath: FOLDER/orders
totals:
  type: spark.SparkDatasetV2
  filepath: FOLDER/totals
  file_format: delta
  save_args: {mode: overwrite}
first_orders:
  type: spark.SparkDatasetV2
  filepath: FOLDER/orders
  file_format: delta
  load_args: {versionAsOf: 0}
"""


def new_orders(day: str, first: int) -> DataFrame:
    """Return two orders of a day."""
    spark = SparkSession.builder.getOrCreate()
    return spark.createDataFrame([(first, day, 10), (first + 1, day, 20)], "id INT, day STRING, total INT")


def corrected(orders: DeltaTable) -> bool:
    """Merge corrections into the table, and return that it is done: the next node takes it, so that it runs afterwards."""
    spark = SparkSession.builder.getOrCreate()
    changes = spark.createDataFrame([(2, "monday", 25), (9, "tuesday", 90)], "id INT, day STRING, total INT")
    merge = orders.alias("t").merge(changes.alias("c"), "t.id = c.id")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    return True


def totals(orders: DataFrame, _corrected: object) -> DataFrame:
    """Return the total of each day."""
    return orders.groupBy("day").sum("total").withColumnRenamed("sum(total)", "total")


def rows(catalog: Any, name: str) -> list[tuple[Any, ...]]:
    """Return the rows of a data set, in order."""
    return sorted(map(tuple, catalog.load(name).collect()))


def main() -> int:
    """Run the pipelines and compare their tables."""
    with tempfile.TemporaryDirectory(prefix="bayou-kedro-") as folder:
        bayou.install_as_delta()
        spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        catalog = DataCatalog.from_config(yaml.safe_load(CATALOG.replace("FOLDER", folder)))
        before = catalog.exists("orders@delta"), catalog.exists("orders@spark"), catalog.exists("totals")
        catalog["monday"], catalog["tuesday"], catalog["one"], catalog["three"] = "monday", "tuesday", 1, 3
        for day, first in (("monday", "one"), ("tuesday", "three")):
            SequentialRunner().run(pipeline([node(new_orders, [day, first], "orders@spark")]), catalog)
        changed = [node(corrected, "orders@delta", "corrected"), node(totals, ["orders@spark", "corrected"], "totals")]
        SequentialRunner().run(pipeline(changed), catalog)
        after = catalog.exists("orders@delta"), catalog.exists("orders@spark"), catalog.exists("totals")
        found = {
            "exists before and after": (before, after),
            "orders": rows(catalog, "orders@spark"),
            "totals": rows(catalog, "totals"),
            "first_orders": rows(catalog, "first_orders"),
            "history": [each.operation for each in catalog.load("orders@delta").history().collect()],
        }
        spark.stop()
    expected = {
        "exists before and after": ((False,) * 3, (True,) * 3),
        "orders": [(1, "monday", 10), (2, "monday", 25), (3, "tuesday", 10), (4, "tuesday", 20), (9, "tuesday", 90)],
        "totals": [("monday", 35), ("tuesday", 120)],
        "first_orders": [(1, "monday", 10), (2, "monday", 20)],
        "history": ["MERGE", "WRITE", "WRITE"],
    }
    wrong = [f"{name}: {found[name]}, not {value}" for name, value in expected.items() if found[name] != value]
    print("; ".join(wrong) or "kedro: all tables are as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
