# SPDX-License-Identifier: Apache-2.0
"""Create, append, overwrite: what is in the table afterwards, whichever way it is written."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.operations.writes import actions, data_files
from tests.support.tables.built import ids, numbers

import bayou
from bayou.errors import InvalidOptionError, TableExistsError
from bayou.protocol.actions.actions import Protocol
from bayou.testing.table_builder import TableBuilder


@pytest.mark.smoke
def test_create_append_and_overwrite(spark, table_path, write):
    write(spark.range(3), table_path, "error")
    write(spark.range(3, 5), table_path, "append")
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2, 3, 4]
    write(spark.range(7, 9), table_path, "overwrite")
    assert ids(bayou.read(spark, table_path)) == [7, 8]
    assert ids(bayou.read(spark, table_path, version=1)) == [0, 1, 2, 3, 4]
    removed = actions(table_path, 2, "remove")
    assert {action["path"] for action in removed} == {a["path"] for v in (0, 1) for a in actions(table_path, v, "add")}
    assert all(action["dataChange"] and action["extendedFileMetadata"] and action["size"] > 0 for action in removed)


def test_the_mode_error_refuses_a_table_that_is_there_and_writes_nothing(spark, table_path, write):
    write(spark.range(3), table_path, "error")
    before = data_files(table_path)
    for mode in ("error", "errorifexists"):
        with pytest.raises(TableExistsError) as caught:
            write(spark.range(3), table_path, mode)
        assert isinstance(caught.value, AnalysisException)
        assert caught.value.getErrorClass() == "DELTA_PATH_EXISTS"
    assert data_files(table_path) == before
    assert bayou.open(table_path).version() == 0


def test_the_mode_ignore_writes_only_where_no_table_is(spark, table_path, write):
    write(spark.range(3), table_path, "ignore")
    write(spark.range(9), table_path, "ignore")
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2]
    assert bayou.open(table_path).version() == 0


@pytest.mark.smoke
def test_append_and_overwrite_make_a_table_where_none_is(spark, tmp_path, write):
    for mode in ("append", "overwrite"):
        write(spark.range(2), str(tmp_path / mode), mode)
        assert ids(bayou.read(spark, str(tmp_path / mode))) == [0, 1]


def test_the_result_says_what_was_done(spark, table_path):
    made = bayou.write(spark.range(10).repartition(2), table_path)
    assert (made.version, made.committed, made.num_files, made.num_rows, made.num_removed_files) == (0, True, 2, 10, 0)
    assert made.num_bytes == sum(Path(table_path, file).stat().st_size for file in data_files(table_path))
    over = bayou.write(spark.range(1), table_path, mode="overwrite")
    assert (over.version, over.num_files, over.num_removed_files) == (1, 1, 2)
    assert not bayou.write(spark.range(1), table_path, mode="ignore").committed


@pytest.mark.smoke
def test_an_empty_append_makes_no_commit(spark, table_path, write):
    write(spark.range(3), table_path, "error")
    before = data_files(table_path)
    write(spark.range(0), table_path, "append")
    write(spark.range(3).where("id > 5"), table_path, "append")
    assert bayou.open(table_path).version() == 0
    assert data_files(table_path) == before


def test_an_empty_dataframe_makes_an_empty_table(spark, table_path, write):
    write(spark.range(0), table_path, "error")
    frame = bayou.read(spark, table_path)
    assert frame.collect() == []
    assert frame.columns == ["id"]
    assert data_files(table_path) == []
    write(spark.range(2), table_path, "append")
    write(spark.range(0), table_path, "overwrite")
    assert bayou.read(spark, table_path).count() == 0
    assert len(actions(table_path, 2, "remove")) >= 1


def test_options_that_ask_for_nothing_new_pass(spark, table_path, write):
    write(spark.range(3), table_path, "error")
    write(spark.range(1), table_path, "append", mergeSchema="false", partitionOverwriteMode="static", optimizeWrite="false")
    assert bayou.open(table_path).version() == 1


def test_an_unknown_mode_is_an_illegal_argument(spark, table_path):
    with pytest.raises(InvalidOptionError, match="upsert"):
        bayou.write(spark.range(1), table_path, mode="upsert")


def test_an_overwrite_that_reads_its_own_table(spark, table_path):
    bayou.write(spark.range(10), table_path)
    bayou.write(bayou.read(spark, table_path).where("id >= 5"), table_path, mode="overwrite")
    assert ids(bayou.read(spark, table_path)) == [5, 6, 7, 8, 9]
    bayou.write(bayou.read(spark, table_path), table_path, mode="append")
    assert bayou.read(spark, table_path).count() == 10


def test_an_overwrite_removes_files_with_their_vectors(spark, table_path):
    from tests.support.tables.built import without_rows

    protocol = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
    builder = TableBuilder(table_path).create(protocol=protocol)
    added = numbers(table_path, "a b.parquet".replace(" ", "%20"), [1, 2], **without_rows([0]))
    builder.commit(added)
    bayou.write(spark.range(1), table_path, mode="overwrite")
    (removed,) = actions(table_path, 2, "remove")
    assert (removed["path"], removed["deletionVector"]) == (added["add"]["path"], added["add"]["deletionVector"])


@pytest.mark.smoke
def test_insert_statements_write_through_the_log(spark, table_path, tmp_path):
    bayou.write(spark.sql("select 1L as id, 'a' as name"), table_path)
    name = "into_" + "".join(c if c.isalnum() else "_" for c in tmp_path.name)
    spark.sql(f"create table {name} using delta location '{table_path}'")
    try:
        spark.sql(f"insert into {name} values (2, 'b')")
        spark.sql(f"insert into {name} select id + 2, name from {name}")
        spark.range(9, 10).select("id", F.lit("z").alias("name")).write.insertInto(name)
        assert sorted(bayou.read(spark, table_path).collect()) == [(1, "a"), (2, "b"), (3, "a"), (4, "b"), (9, "z")]
        spark.sql(f"insert overwrite {name} values (5, 'e')")
        assert spark.table(name).collect() == [(5, "e")]
        assert bayou.open(table_path).version() == 4
    finally:
        spark.sql(f"drop table {name}")


def test_statements_that_would_pass_the_log_by_are_refused(spark, table_path, tmp_path):
    bayou.write(spark.sql("select 1L as id, 2 as p"), table_path, partition_by=["p"])
    name = "refused_" + "".join(c if c.isalnum() else "_" for c in tmp_path.name)
    spark.sql(f"create table {name} using delta location '{table_path}'")
    statements = [
        f"truncate table {name} partition (p = 2)",
        f"alter table {name} drop partition (p = 2)",
        f"msck repair table {name}",
        f"load data inpath '{tmp_path}' into table {name}",
    ]
    before = data_files(table_path)
    try:
        for statement in statements:
            with pytest.raises(Exception) as caught:
                spark.sql(statement).collect()
            assert "\n\tat " not in str(caught.value), statement
        assert bayou.read(spark, table_path).where("id = 1").collect() == [(1, 2)]
        live = set(bayou.open(table_path).snapshot().files(columns=["path"])["path"].to_pylist())
        assert set(before) <= live
        assert live == set(data_files(table_path))
        assert spark.table(name).columns == ["id", "p"]
    finally:
        spark.sql(f"drop table {name}")


@pytest.mark.parametrize("versions", [1, 3])
def test_a_table_whose_folder_was_deleted_is_made_anew_by_the_same_session(spark, table_path, versions):
    for number in range(versions):
        spark.range(number, number + 1).write.format("delta").mode("append").save(table_path)
    assert spark.read.format("delta").load(table_path).count() == versions
    shutil.rmtree(table_path)
    for number in range(2):
        spark.range(10 + number, 11 + number).write.format("delta").mode("append").save(table_path)
        assert bayou.open(table_path).version() == number
    assert ids(bayou.read(spark, table_path)) == [10, 11]


def test_an_overwrite_under_a_name_that_spark_drops_first(spark):
    name = f"overwritten_{uuid.uuid4().hex[:8]}"
    bayou.enable(spark)
    try:
        spark.range(3).write.format("delta").saveAsTable(name)
        spark.range(3).write.format("delta").mode("append").saveAsTable(name)
        spark.range(5, 7).write.format("delta").mode("overwrite").saveAsTable(name)
        assert ids(spark.table(name)) == [5, 6]
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
