# SPDX-License-Identifier: Apache-2.0
"""Tables whose features are dropped by writing files again: their rows, row ids, history and files."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from tests.support.tables.altered import state

from bayou import DeltaTable
from bayou.protocol.actions import paths


def rows(table):
    return sorted(map(tuple, table.toDF().collect()), key=str)


def history(table, limit=None):
    return [row.operation for row in table.history(limit).collect()]


def folder(table):
    return Path(table._path.removeprefix("file:"))


def footers(table):
    """The columns of the table's files, as they are in the files."""
    return [pq.read_schema(folder(table) / paths.decode(path)) for path in state(table).files(["path"])["path"].to_pylist()]


def data_files(table):
    return {str(file) for file in folder(table).rglob("*.parquet") if "_delta_log" not in file.parts}


def ids_of(spark, table):
    """The row ids of the table's rows by their first column, out of its files."""
    found = state(table)
    name = found.properties["delta.rowTracking.materializedRowIdColumnName"]
    ids = {}
    for add in found.files(["path", "base_row_id"]).to_pylist():
        file = pq.ParquetFile(folder(table) / paths.decode(add["path"])).read()
        key = file.column_names[0]
        kept = file[name].to_pylist() if name in file.column_names else [None] * len(file)
        for place, (value, row_id) in enumerate(zip(file[key].to_pylist(), kept, strict=True)):
            ids[value] = add["base_row_id"] + place if row_id is None else row_id
    return ids


def made(spark, path, *columns, query, partition_by=(), **properties):
    builder = DeltaTable.create(spark).location(path).partitionedBy(*partition_by)
    for column in columns:
        builder.addColumn(*column.split(" ", 1))
    for key, value in properties.items():
        builder.property(f"delta.{key.replace('_', '.')}", value)
    table = builder.execute()
    spark.sql(query).repartition(1).write.format("delta").mode("append").save(path)
    return table
