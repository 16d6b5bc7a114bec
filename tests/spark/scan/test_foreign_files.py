# SPDX-License-Identifier: Apache-2.0
"""Files outside of a table's folder that its log names: they are read where they are, and no operation deletes or changes them."""

from __future__ import annotations

import uuid
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.tables.built import file_of, ids, numbers
from tests.support.tables.queried import VECTORS

import bayou
from bayou.protocol.actions.actions import Protocol
from bayou.testing.table_builder import TableBuilder, add

PATHS = {
    "absolute": str,
    "a URI": lambda file: f"file://{file}",
    "a URI without a host": lambda file: f"file:{file}",
    "beside the table": lambda file: f"../{file.parent.name}/{file.name}",
    "beside the table, the long way": lambda file: f"deeper/%2E%2E/../{file.parent.name}/./{file.name}",
}
VECTOR_PROTOCOL = Protocol(3, 7, ("deletionVectors",), ("deletionVectors", "appendOnly", "invariants"))
CHANGES = {
    "DELETE of all rows": (lambda spark, path: bayou.DeltaTable.forPath(spark, path).delete(), []),
    "DELETE of some": (lambda spark, path: bayou.DeltaTable.forPath(spark, path).delete("id = 2"), [1, 3, 4]),
    "UPDATE": (lambda spark, path: spark.sql(f"update delta.`{path}` set id = 9 where id = 2"), [1, 3, 4, 9]),
    "MERGE": (
        lambda spark, path: (
            bayou.DeltaTable.forPath(spark, path)
            .alias("t")
            .merge(spark.range(2, 4).alias("s"), "t.id = s.id")
            .whenMatchedDelete()
            .execute()
        ),
        [1, 4],
    ),
    "overwrite": (lambda spark, path: spark.range(1).write.format("delta").mode("overwrite").save(path), [0]),
    "replaceWhere": (
        lambda spark, path: spark.range(2, 3).write.format("delta").mode("overwrite").option("replaceWhere", "id = 2").save(path),
        [1, 2, 3, 4],
    ),
    "REPLACE TABLE": (lambda spark, path: spark.sql(f"create or replace table delta.`{path}` (id long) using delta"), []),
    "TRUNCATE": (lambda spark, path: spark.sql(f"truncate table delta.`{path}`"), []),
}


@pytest.fixture(params=PATHS)
def foreign(request, tmp_path):
    """Another table's file, and the path by which a log names it."""
    folder = tmp_path / "other"
    TableBuilder(str(folder)).create().commit(numbers(str(folder), "x.parquet", [1, 2, 3]))
    file = folder / "x.parquet"
    return file, PATHS[request.param](file)


def of_foreign(path, file, name, properties=None):
    """A table with a file of its own and one of another's."""
    protocol = VECTOR_PROTOCOL if properties else Protocol(1, 2)
    statistics = {"numRecords": 3, "minValues": {"id": 1}, "maxValues": {"id": 3}, "nullCount": {"id": 0}}
    action = add(name, size=file.stat().st_size, stats=statistics)
    return TableBuilder(path).create(protocol=protocol, configuration=properties).commit(numbers(path, "own.parquet", [4]), action)


def state(folder):
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.rglob("*.parquet")}


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("what", CHANGES)
def test_no_change_of_a_table_touches_a_file_outside_of_its_folder(spark, table_path, foreign, what):
    file, name = foreign
    of_foreign(table_path, file, name)
    before = state(file.parent)
    assert ids(spark.read.format("delta").load(table_path)) == ids(bayou.read(spark, table_path)) == [1, 2, 3, 4]
    change, left = CHANGES[what]
    change(spark, table_path)
    assert ids(spark.read.format("delta").load(table_path)) == left
    assert state(file.parent) == before
    assert ids(spark.read.format("delta").load(str(file.parent))) == [1, 2, 3]


def test_rows_of_a_foreign_file_are_deleted_by_vectors_and_the_feature_dropped_without_touching_it(spark, table_path, foreign):
    file, name = foreign
    of_foreign(table_path, file, name, VECTORS)
    before = state(file.parent)
    table = bayou.DeltaTable.forPath(spark, table_path)
    table.delete("id = 2")
    assert ids(table.toDF()) == [1, 3, 4]
    assert '"deletionVector":{' in Path(table_path, "_delta_log", f"{2:020}.json").read_text()
    table.dropFeatureSupport("deletionVectors")
    assert ids(table.toDF()) == [1, 3, 4]
    assert state(file.parent) == before


def test_neither_a_cleanup_of_the_log_nor_a_checkpoint_touches_a_foreign_file(spark, table_path, foreign):
    file, name = foreign
    of_foreign(table_path, file, name)
    before = state(file.parent)
    bayou.DeltaTable.forPath(spark, table_path).delete()
    log = bayou.open(table_path)
    log.checkpoint()
    log.clean_up()
    assert state(file.parent) == before


@pytest.mark.parametrize("kind", ["managed", "external"])
def test_dropping_a_table_takes_no_file_outside_of_its_own_folder(spark, tmp_path, foreign, kind):
    file, name = foreign
    table = f"t_{uuid.uuid4().hex[:8]}"
    place = f"location '{tmp_path / 'table'}'" if kind == "external" else ""
    spark.sql(f"create table {table} (id long) using delta {place}")
    folder = Path(bayou.DeltaTable.forName(spark, table).detail().first().location.removeprefix("file:"))
    builder = TableBuilder(str(folder))
    builder.version = 0
    path = name if not name.startswith((".", "deeper")) else f"../{'../' * 12}{str(file)[1:]}"
    builder.commit(file_of(str(folder), "own.parquet", {"id": pa.array([4], pa.int64())}), add(path, size=file.stat().st_size))
    before = state(file.parent)
    assert ids(spark.table(table)) == [1, 2, 3, 4]
    spark.sql(f"drop table {table}")
    assert state(file.parent) == before
    assert folder.exists() == (kind == "external")
