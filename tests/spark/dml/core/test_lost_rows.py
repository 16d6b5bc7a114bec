# SPDX-License-Identifier: Apache-2.0
"""Rows that an operation finds and rows that it writes: where they are not as many, nothing is committed and no file is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import functions as F  # noqa: N812
from tests.spark.dml.core.ten_rows import TEN, make
from tests.support.observing import files
from tests.support.tables.feeds import FEED
from tests.support.tables.queried import FILES, VECTORS

import bayou
from bayou.errors import InvalidCommitError
from bayou.spark.native.merge import second_pass


@pytest.fixture
def fickle(tmp_path):
    """A function that says of itself that it always gives the same, and is true for none of ten rows it has seen before."""
    seen = tmp_path / "seen"
    seen.touch()

    def is_new(value):
        with seen.open("r+") as file:
            count = len(file.read())
            file.write("x")
        return count < 10 and value < 5

    return F.udf(is_new, "boolean")


def refused(path, change, told="saw different rows"):
    before = files(path)
    with pytest.raises(InvalidCommitError, match=told) as caught:
        change()
    assert caught.value.getErrorClass() == "DELTA_NUM_RECORDS_MISMATCH"
    assert caught.value.getSqlState() == "XXKDS"
    assert files(path) == before
    assert bayou.open(path).version() == 0
    return caught.value


def names_the_statistics(error, rows=12):
    """Whether an error says which file's statistics are wrong, and not that functions are to be looked for."""
    told = str(error)
    return f"has 10 rows, not {rows}" in told and error.file.endswith(".parquet") and "functions" not in told


def says_rows(path, rows):
    """Has the log say of a table's first files that each has so many rows."""
    commit = Path(path, "_delta_log", f"{0:020d}.json")
    actions = [json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines()]
    for each in actions:
        if "add" in each:
            each["add"]["stats"] = json.dumps({**json.loads(each["add"]["stats"]), "numRecords": rows})
    commit.write_text("".join(json.dumps(each) + "\n" for each in actions), encoding="utf-8")
    commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)
    commit.with_suffix(".crc").unlink(missing_ok=True)


def test_an_update_that_writes_fewer_rows_than_it_marks_is_refused(spark, table_path, fickle):
    table = make(spark, table_path, **VECTORS)
    refused(table_path, lambda: table.update(fickle("id"), {"v": "0"}))


def test_a_delete_that_keeps_other_rows_than_it_counted_is_refused(spark, table_path, fickle):
    table = make(spark, table_path, **FILES)
    refused(table_path, lambda: table.delete(fickle("id")))


@pytest.mark.parametrize("operation", ["delete", "update", "update all", "merge"])
def test_a_file_that_has_not_the_rows_that_the_log_says_is_not_written_again(spark, table_path, operation):
    table = make(spark, table_path, **FILES)
    says_rows(table_path, 12)
    source = spark.sql("select 3L id, 0L v union all select 30L, 0L").alias("s")
    changes = {
        "delete": lambda: table.delete("id = 3"),
        "update": lambda: table.update("id = 3", {"v": "0"}),
        "update all": lambda: table.update(set={"v": "0"}),
        "merge": lambda: table.merge(source, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(),
    }
    assert names_the_statistics(refused(table_path, changes[operation]))


@pytest.mark.parametrize("operation", ["delete", "merge", "overwrite"])
def test_a_file_that_has_more_rows_than_the_log_says_does_not_go_with_so_many(spark, table_path, way, operation):
    table = make(spark, table_path, **way)
    says_rows(table_path, 3)
    source = spark.sql("select id from range(3)").alias("s")
    changes = {
        "delete": lambda: table.delete("id < 3"),
        "merge": lambda: table.merge(source, "t.id = s.id").whenMatchedDelete().execute(),
        "overwrite": lambda: bayou.write(spark.sql("select 1L id, 0L v"), table_path, mode="overwrite", replaceWhere="id < 3"),
    }
    told = "saw different rows" if operation == "merge" and way == FILES else "all rows of a file would be deleted"
    assert names_the_statistics(refused(table_path, changes[operation], told), rows=3)


@pytest.mark.parametrize("feed", [{}, FEED], ids=["no feed", "feed"])
@pytest.mark.parametrize("adds", [0, 2])
def test_an_overwrite_of_a_part_that_keeps_other_rows_than_it_counted_is_refused(spark, table_path, fickle, feed, adds):
    make(spark, table_path, **FILES, **feed)
    spark.udf.register("is_replaced", fickle)
    new = spark.sql(f"select id, 0L v from range({adds})").alias("s")
    on = {"mode": "overwrite", "targetAlias": "t", "replaceOn": "is_replaced(t.id) and s.id is not null"}
    if adds:
        refused(table_path, lambda: bayou.write(new, table_path, **on))
    else:
        assert bayou.write(new, table_path, **on).num_removed_files == 0  # nothing matches no row


@pytest.mark.parametrize("feed", [{}, FEED], ids=["no feed", "feed"])
def test_an_overwrite_of_a_part_does_not_lose_rows_that_it_has_counted(spark, table_path, feed):
    make(spark, table_path, **FILES, **feed)
    says_rows(table_path, 12)
    replacing = {"mode": "overwrite", "replaceWhere": "id = 3"}
    assert names_the_statistics(refused(table_path, lambda: bayou.write(spark.sql("select 3L id, 0L v"), table_path, **replacing)))


@pytest.fixture
def other_rows(spark, monkeypatch):
    """A source that is another one for the second pass: three rows that match and were not five; ten new rows both times."""
    system, write, setting = spark._jvm.java.lang.System, second_pass.Writer.write, "spark.databricks.delta.merge.materializeSource"
    system.setProperty("bayou.rows", "5")

    def fewer(writer):
        system.setProperty("bayou.rows", "3")
        return write(writer)

    monkeypatch.setattr(second_pass.Writer, "write", fewer)
    spark.conf.set(setting, "none")
    limit = "cast(reflect('java.lang.System', 'getProperty', 'bayou.rows') as int)"
    yield spark.sql(f"select id, id * 10 v from range(20) where id < {limit} or id >= 10").alias("s")
    spark.conf.unset(setting)
    system.clearProperty("bayou.rows")


@pytest.mark.parametrize("feed", [{}, FEED], ids=["no feed", "feed"])
def test_a_merge_that_inserts_notices_updates_that_it_did_not_write(spark, table_path, way, joins, feed, other_rows):
    table = make(spark, table_path, **way, **feed)
    merge = table.merge(other_rows, "t.id = s.id").whenMatchedUpdateAll("s.v > 0")
    refused(table_path, lambda: merge.whenNotMatchedInsertAll().execute())


def test_a_merge_that_inserts_notices_deletes_that_its_feed_does_not_tell_of(spark, table_path, joins, other_rows):
    table = make(spark, table_path, **FILES, **FEED)
    merge = table.merge(other_rows, "t.id = s.id").whenMatchedDelete()
    refused(table_path, lambda: merge.whenNotMatchedInsertAll().execute())


def test_a_merge_that_makes_identities_notices_updates_that_it_did_not_write(spark, table_path, way, other_rows):
    builder = bayou.DeltaTable.create(spark).location(table_path).addColumn("id", "long").addColumn("v", "long")
    for name, value in way.items():
        builder = builder.property(name, value)
    builder.addColumn("number", "long", generatedAlwaysAs=bayou.IdentityGenerator()).execute()
    bayou.write(spark.sql(TEN), table_path, mode="append")
    table = bayou.DeltaTable.forPath(spark, table_path).alias("t")
    merge = table.merge(other_rows, "t.id = s.id").whenMatchedUpdate(set={"v": "s.v"})
    before = files(table_path)
    with pytest.raises(InvalidCommitError, match="saw different rows"):
        merge.whenNotMatchedInsert(values={"id": "s.id", "v": "s.v"}).execute()
    assert files(table_path) == before


CONDITIONS = {
    "t.id = s.id": False,
    "t.id = s.id and upper(t.id) = s.id": False,
    "a function of Python's": True,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_rows_are_counted_as_they_are_written_only_where_they_could_be_others(spark, table_path, way, monkeypatch, condition):
    table, counted, write = make(spark, table_path, **way), [], second_pass.Writer.write
    source = spark.sql("select id, 0L v from range(5, 15) where id + rand() >= 0").alias("s")

    def noted(writer):
        counted.append(writer.strategy.counts_rows)
        return write(writer)

    monkeypatch.setattr(second_pass.Writer, "write", noted)
    is_true = F.udf(lambda value: value is not None, "boolean")
    on = F.expr("t.id = s.id") & is_true("t.id") if condition.startswith("a function") else condition
    merged = table.merge(source, on).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert (merged.num_updated_rows, merged.num_inserted_rows) == (5, 5)
    assert counted == [CONDITIONS[condition]]
