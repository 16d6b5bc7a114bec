# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings of `DeltaTable` and its builders run."""

from __future__ import annotations

import doctest
import inspect

import pytest

import bayou
from bayou.spark.dml.merge.builder import DeltaMergeBuilder
from bayou.spark.table.optimize import DeltaOptimizeBuilder
from bayou.table import DeltaTable, DeltaTableBuilder

OF_A_TIME = {"restoreToTimestamp", "cloneAtTimestamp"}
"""Their examples name a time at which the tables here did not exist."""


def examples_of(cls):
    """The examples of a class's public methods, each with its method's name."""
    for name, method in inspect.getmembers(cls, lambda each: inspect.isfunction(each) or inspect.ismethod(each)):
        if not name.startswith("_") and name not in OF_A_TIME:
            yield name, [each.source for each in doctest.DocTestParser().get_examples(inspect.getdoc(method) or "")]


@pytest.fixture
def names(spark, tmp_path):
    """The names that the examples use."""
    spark.sql("CREATE DATABASE examples")
    spark.sql("USE examples")
    spark.sql("CREATE TABLE customers (id BIGINT) USING delta")
    orders = spark.sql("SELECT 1 AS id, 'open' AS status, '2026-11-01' AS day")
    orders.selectExpr("id", "CAST(day AS DATE) AS day").write.partitionBy("day").parquet(str(tmp_path / "events"))
    keyed = DeltaTable.create(spark).location(str(tmp_path / "keyed"))
    keyed.addColumn("key", "BIGINT", generatedByDefaultAs=bayou.IdentityGenerator()).execute()
    yield {"bayou": bayou, "spark": spark, "orders": orders, "keyed": DeltaTable.forPath(spark, str(tmp_path / "keyed"))}
    spark.sql("USE default")
    spark.sql("DROP DATABASE examples CASCADE")


@pytest.mark.parametrize("cls", [DeltaTable, DeltaOptimizeBuilder], ids=lambda each: each.__name__)
def test_examples_of_a_table_run(spark, names, tmp_path, cls, capsys):
    for number, (name, examples) in enumerate(examples_of(cls)):
        folder = str(tmp_path / f"orders{number}")
        names |= {"table": table_for(spark, names["orders"], folder, name), "customers": clustered(spark)}
        for example in examples:
            code = (
                example.replace('"/tmp/orders"', repr(folder)).replace('"/tmp/', f'"{tmp_path}/').replace("`/tmp/", f"`{tmp_path}/")
            )
            exec(compile(code, f"{cls.__name__}.{name}", "exec"), names)
    capsys.readouterr()


def table_for(spark, orders, folder, method):
    """A table with two versions at a path and under the name `orders`, as a method's example needs it."""
    builder = DeltaTable.createOrReplace(spark).location(folder).addColumns(orders.schema)
    spark.sql("DROP TABLE IF EXISTS orders")
    builder = builder.tableName("orders").partitionedBy("day").property("delta.enableChangeDataFeed", "true")
    column = {"renameColumn": "note", "dropColumns": "remark", "changeColumn": "price", "replaceColumns": "price"}.get(method)
    if column:
        builder = builder.addColumn(column, "DECIMAL(10, 2)").property("delta.columnMapping.mode", "name")
    if method == "setDefault":
        builder = builder.property("delta.feature.allowColumnDefaults", "supported")
    if method == "dropFeatureSupport":
        builder = builder.property("delta.feature.v2Checkpoint", "supported")
    table = builder.execute()
    for _ in range(2):
        orders.write.format("delta").mode("append").option("mergeSchema", "true").save(folder)
    return table


def clustered(spark):
    spark.sql("CREATE OR REPLACE TABLE customers (id BIGINT) USING delta CLUSTER BY (id)")
    return DeltaTable.forName(spark, "customers")


@pytest.mark.parametrize("cls", [DeltaMergeBuilder, DeltaTableBuilder], ids=lambda each: each.__name__)
def test_examples_of_a_builder_run(spark, names, tmp_path, cls, capsys):
    table = table_for(spark, names["orders"], str(tmp_path / "orders"), "")
    source = names["orders"].selectExpr("*", "1 AS seq")
    for name, examples in examples_of(cls):
        names["merge"] = table.alias("t").merge(source.alias("s"), "t.id = s.id")
        names["builder"] = DeltaTable.createOrReplace(spark)
        for example in examples:
            exec(compile(example.replace("s.seq > t.seq", "s.seq > 0"), f"{cls.__name__}.{name}", "exec"), names)
    capsys.readouterr()
