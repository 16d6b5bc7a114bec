# SPDX-License-Identifier: Apache-2.0
"""A contract of Soda for a Delta table: the table keeps it after a merge, and breaks it after an append.

pip install soda-sparkdf bayou; python examples/clients/soda_contract.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from soda_core.common.yaml import ContractYamlSource
from soda_core.contracts.contract_verification import ContractVerificationSession
from soda_sparkdf.common.data_sources.sparkdf_data_source import SparkDataFrameDataSourceImpl

import bayou

CONTRACT = """
dataset: shop/shop/orders
checks:
  - schema:
  - row_count: {threshold: {must_be: 3}}
columns:
  - name: id
    data_type: int
    checks: [{missing: }, {duplicate: }]
  - name: status
    data_type: string
    checks: [{invalid: {valid_values: [open, sent]}}]
"""
SCHEMA = "id INT, status STRING"


def failed_checks(spark: SparkSession) -> list[str]:
    """Verify the contract, and return the checks that did not pass."""
    source = SparkDataFrameDataSourceImpl.from_existing_session(session=spark, name="shop")
    result = ContractVerificationSession.execute([ContractYamlSource.from_str(CONTRACT)], data_source_impls=[source])
    checks = [each for contract in result.contract_verification_results for each in contract.check_results]
    return sorted(each.check.type for each in checks if not each.is_passed) if checks else [result.get_errors_str()]


def main() -> int:
    """Verify the versions of the table and compare what was found."""
    with tempfile.TemporaryDirectory(prefix="bayou-soda-") as folder:
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        spark = bayou.enable(builder.config("spark.sql.warehouse.dir", str(Path(folder) / "warehouse")))
        spark.sql("CREATE DATABASE shop")
        spark.createDataFrame([(1, "open"), (2, "open")], SCHEMA).write.format("delta").saveAsTable("shop.orders")
        changes = spark.createDataFrame([(2, "sent"), (3, "open")], SCHEMA)
        merge = bayou.DeltaTable.forName(spark, "shop.orders").alias("t").merge(changes.alias("c"), "t.id = c.id")
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        found = {"after a merge": failed_checks(spark)}
        spark.createDataFrame([(3, "lost")], SCHEMA).write.format("delta").mode("append").saveAsTable("shop.orders")
        found["after an append"] = failed_checks(spark)
        spark.sql("RESTORE TABLE shop.orders TO VERSION AS OF 1")
        found["after a restore"] = failed_checks(spark)
        spark.stop()
    expected = {"after a merge": [], "after an append": ["duplicate", "invalid", "row_count"], "after a restore": []}
    right = found == expected
    print("soda: all results are as they should be" if right else f"other results: {found}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
