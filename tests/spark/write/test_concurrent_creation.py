# SPDX-License-Identifier: Apache-2.0
"""Statements and writes that create one table at the same time: each does what it says of a table that is there."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import bayou
from bayou.errors import TableExistsError
from bayou.spark.write import writer

THREADS = 6


def at_once(action):
    """What the action did on each of several threads that begin together: None, or the error."""
    found, barrier = [], threading.Barrier(THREADS)

    def run():
        barrier.wait()
        try:
            action()
        except Exception as error:  # noqa: BLE001  (all are looked at)
            found.append(error)
        else:
            found.append(None)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def rows(spark):
    return spark.range(5).write.format("delta")


IF_ABSENT = {
    "statement": lambda spark, _path, name: spark.sql(f"create table if not exists {name} (id bigint) using delta"),
    "statement by path": lambda spark, path, _name: spark.sql(f"create table if not exists delta.`{path}` (id bigint) using delta"),
    "as select": lambda spark, _path, name: spark.sql(f"create table if not exists {name} using delta as select id from range(5)"),
    "builder": lambda spark, _path, name: (
        bayou.DeltaTable.createIfNotExists(spark).tableName(name).addColumn("id", "bigint").execute()
    ),
    "builder by path": lambda spark, path, _name: (
        bayou.DeltaTable.createIfNotExists(spark).location(path).addColumn("id", "bigint").execute()
    ),
    "ignore": lambda spark, path, _name: rows(spark).mode("ignore").save(path),
    "ignore by name": lambda spark, _path, name: rows(spark).mode("ignore").saveAsTable(name),
}


@pytest.mark.parametrize("way", IF_ABSENT)
def test_where_a_table_that_is_there_is_no_error_all_succeed(spark, table_path, name, way):
    assert at_once(lambda: IF_ABSENT[way](spark, table_path, name)) == [None] * THREADS
    by_path = way in ("statement by path", "builder by path", "ignore")
    table = bayou.DeltaTable.forPath(spark, table_path) if by_path else bayou.DeltaTable.forName(spark, name)
    assert table.history().count() == 1
    assert table.toDF().count() in (0, 5)


def test_statements_that_describe_other_tables_do_nothing_either(spark, name):
    columns = iter(["id bigint", "id string", "a int", "b int", "c int", "d int"])
    lock = threading.Lock()

    def create():
        with lock:
            text = next(columns)
        spark.sql(f"create table if not exists {name} ({text}) using delta")

    assert at_once(create) == [None] * THREADS
    assert bayou.DeltaTable.forName(spark, name).history().count() == 1


def test_first_appends_all_add_their_rows(spark, table_path):
    assert at_once(lambda: rows(spark).mode("append").save(table_path)) == [None] * THREADS
    assert bayou.read(spark, table_path).count() == 5 * THREADS


def test_a_first_append_fills_the_columns_of_a_table_that_was_created_meanwhile(spark, table_path, monkeypatch):
    write_new_files, created = writer.write_new_files, []

    def late(*arguments, **options):
        if not created:
            numbers, features = bayou.IdentityGenerator(start=10), "delta.feature.allowColumnDefaults"
            builder = bayou.DeltaTable.create(spark).location(table_path).property(features, "supported").addColumn("id", "bigint")
            builder.addColumn("number", "bigint", generatedAlwaysAs=numbers).addColumn("source", "string").execute()
            spark.sql(f"alter table delta.`{table_path}` alter column source set default 'unknown'")
            created.append(True)
        return write_new_files(*arguments, **options)

    monkeypatch.setattr(writer, "write_new_files", late)
    rows(spark).mode("append").save(table_path)
    found = bayou.read(spark, table_path).orderBy("id").collect()
    assert [(row.id, row.source) for row in found] == [(number, "unknown") for number in range(5)]
    assert len({row.number for row in found if row.number >= 10}) == 5
    files = [*Path(table_path).rglob("*.parquet")]
    assert len(files) == bayou.open(table_path).snapshot().num_files  # those of the first attempt were deleted


EXCLUSIVE = {
    "statement": lambda spark, _path, name: spark.sql(f"create table {name} (id bigint) using delta"),
    "as select": lambda spark, _path, name: spark.sql(f"create table {name} using delta as select id from range(5)"),
    "builder": lambda spark, _path, name: bayou.DeltaTable.create(spark).tableName(name).addColumn("id", "bigint").execute(),
    "error": lambda spark, path, _name: rows(spark).mode("error").save(path),
}


@pytest.mark.parametrize("way", EXCLUSIVE)
def test_where_it_is_one_one_succeeds(spark, table_path, name, way):
    found = at_once(lambda: EXCLUSIVE[way](spark, table_path, name))
    assert found.count(None) == 1
    errors = [each for each in found if each is not None]
    assert all(isinstance(each, TableExistsError) or "TABLE_OR_VIEW_ALREADY_EXISTS" in str(each) for each in errors), errors
