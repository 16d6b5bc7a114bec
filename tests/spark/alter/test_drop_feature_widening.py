# SPDX-License-Identifier: Apache-2.0
"""Type widening is dropped: files of narrower types are written again with the table's types."""

from __future__ import annotations

import pytest
from tests.spark.alter.rewritten_tables import data_files, footers, history, made, rows
from tests.support.tables.altered import state


@pytest.mark.smoke
def test_type_widening_is_dropped_with_the_files_of_narrower_types(spark, table_path):
    query = "select cast(id as int) a, named_struct('x', cast(id as short)) s, array(cast(id as float)) f from range(4)"
    columns = ("a int", "s struct<x: smallint>", "f array<float>")
    table = made(spark, table_path, *columns, query=query, enableTypeWidening="true")
    for path, kind in (("a", "bigint"), ("s.x", "int"), ("f.element", "double")):
        table.changeColumn(path, dataType=kind)
    spark.sql("select 5000000000L a, named_struct('x', 100000) s, array(0.5D) f").write.format("delta").mode("append").save(
        table_path
    )
    before, wide = rows(table), set(state(table).files(["path"])["path"].to_pylist())
    table.dropFeatureSupport("typeWidening")
    found = state(table)
    assert rows(table) == before
    assert "typeWidening" not in found.protocol.writer_features
    assert "typeChanges" not in found.metadata.schema_string
    assert len({str(schema.remove_metadata()).replace(" not null", "") for schema in footers(table)}) == 1
    assert len(wide & set(found.files(["path"])["path"].to_pylist())) == 1
    assert history(table, 7) == ["DROP FEATURE", *["Empty Commit"] * 3, "DROP FEATURE", "REORG", "UNSET TBLPROPERTIES"]
    row = table.history(6).collect()[-1]
    assert (row.operationMetrics["numRemovedFiles"], row.operationMetrics["numDeletionVectorsRemoved"]) == ("1", "0")


def test_widened_types_without_narrower_files_need_no_file_written(spark, table_path):
    table = made(spark, table_path, "a int", "p int", query="select 1 a, 1 p", partition_by=("p",), enableTypeWidening="true")
    table.changeColumn("p", dataType="bigint")
    before = data_files(table)
    table.dropFeatureSupport("typeWidening")
    assert data_files(table) == before
    assert "REORG" not in history(table)
    assert rows(table) == [(1, 1)]


def test_decimals_dates_and_mapped_columns_are_written_as_the_table_has_them(spark, table_path):
    columns = ("d decimal(5, 2)", "t date", "i int")
    query = "select cast(1.25 as decimal(5, 2)) d, date'2020-01-02' t, 7 i"
    table = made(
        spark,
        table_path,
        *columns,
        query=query,
        enableTypeWidening="true",
        columnMapping_mode="name",
        feature_timestampNtz="supported",
    )
    for path, kind in (("d", "decimal(10, 3)"), ("t", "timestamp_ntz"), ("i", "decimal(12, 1)")):
        table.changeColumn(path, dataType=kind)
    table.renameColumn("d", "money")
    before = rows(table)
    table.dropFeatureSupport("typeWidening")
    assert rows(table) == before
    (schema,) = footers(table)
    assert sorted(map(str, schema.types)) == ["decimal128(10, 3)", "decimal128(12, 1)", "timestamp[us]"]
