# SPDX-License-Identifier: Apache-2.0
"""Expectations of Great Expectations on a Delta table: its newest version, its first one, and a batch before it is merged.

pip install 'great-expectations[spark]' bayou; python examples/clients/great_expectations_suite.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import great_expectations as gx
from pyspark.sql import SparkSession

import bayou

ORDERS = [(1, "open", 10), (2, "open", 20), (3, "sent", 30)]
CHANGES = [(3, "open", 35), (4, "lost", 40)]
SCHEMA = "id INT, status STRING, total INT"


def main() -> int:
    """Validate the table and compare what was found."""
    with tempfile.TemporaryDirectory(prefix="bayou-gx-") as folder:
        path = str(Path(folder) / "orders")
        spark = bayou.enable(SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false"))
        spark.createDataFrame(ORDERS[:2], SCHEMA).write.format("delta").save(path)
        spark.createDataFrame(ORDERS[2:], SCHEMA).write.format("delta").mode("append").save(path)
        changes = spark.createDataFrame(CHANGES, SCHEMA)

        context = gx.get_context(mode="ephemeral")
        suite = gx.ExpectationSuite("orders")
        suite.add_expectation(gx.expectations.ExpectColumnValuesToBeUnique(column="id"))
        suite.add_expectation(gx.expectations.ExpectColumnValuesToBeInSet(column="status", value_set=["open", "sent"]))
        suite.add_expectation(gx.expectations.ExpectColumnSumToBeBetween(column="total", min_value=1, max_value=65))

        batches = context.data_sources.add_spark("batches").add_dataframe_asset("changes")
        before = batches.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": changes}).validate(suite)

        merge = bayou.DeltaTable.forPath(spark, path).alias("t").merge(changes.alias("c"), "t.id = c.id AND c.status != 'lost'")
        merge.whenMatchedUpdateAll().execute()
        files = context.data_sources.add_spark_filesystem("tables", base_directory=Path(folder))
        results = {"batch": before}
        for name, version in {"newest": None, "first": "0"}.items():
            options = {} if version is None else {"version_as_of": version}
            asset = files.add_directory_delta_asset(name, data_directory="orders", **options)
            results[name] = asset.add_batch_definition_whole_directory("all").get_batch().validate(suite)
        found = {name: [each.success for each in result.results] for name, result in results.items()}
        sums = {name: result.results[2].result["observed_value"] for name, result in results.items()}
        spark.stop()
    expected = {"batch": [True, False, False], "newest": [True, True, True], "first": [True, True, True]}
    right = found == expected and sums == {"batch": 75, "newest": 65, "first": 30}
    print("great_expectations: all results are as they should be" if right else f"other results: {found}, {sums}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
