# SPDX-License-Identifier: Apache-2.0
"""Sources whose files are written again between the passes of an operation: one state of them is taken, or none."""

from __future__ import annotations

import shutil

import pytest
from tests.spark.dml.core.ten_rows import make
from tests.support.observing import actions, files, parquet_files
from tests.support.operations.statements import settings
from tests.support.tables.feeds import FEED
from tests.support.tables.queried import FILES, VECTORS

import bayou
from bayou.errors import InvalidCommitError
from bayou.spark.data_files.new_files import write_new_files
from bayou.spark.dml.core import vectors
from bayou.spark.dml.merge import commit
from bayou.spark.jvm.relations import listed_files
from bayou.spark.jvm.relations.listed_files import ListedFiles
from bayou.spark.native.merge import second_pass


def read_by(reader, path):
    return reader.parquet(str(path)).select("id", "v")


@pytest.mark.parametrize(("names", "watched"), [("Spark's", 0), ("others", 2), ("others, below a folder that tells nothing", 2)])
def test_files_of_a_source_are_looked_at_again_where_their_names_may_come_back(
    spark, tmp_path, table_path, monkeypatch, names, watched
):
    counted, write, seen, now = [], second_pass.Writer.write, [], ListedFiles.now
    monkeypatch.setattr(second_pass.Writer, "write", lambda writer: (counted.append(writer.strategy.counts_rows), write(writer))[1])
    monkeypatch.setattr(ListedFiles, "now", lambda files: seen.append(now(files)) or seen[-1])
    two_files(spark, files_of := tmp_path / "source")
    folder, reader = files_of / "of=old", spark.read
    if names != "Spark's":
        for each in files_of.glob("*/*.parquet"):
            each.rename(each.with_name("la test; isDirectory=%20ü.parquet"))
    if "below" in names:
        folder, reader = files_of / "old" / "older", spark.read.option("RECURSIVEfileLookup", True)
        shutil.copytree(files_of / "of=old", folder)
        shutil.rmtree(files_of / "of=old")
    assert upsert(make(spark, table_path, **FILES), read_by(reader, files_of)).num_updated_rows == 5
    assert [len(each) for each in seen] == [watched, watched]
    assert all(
        f"modification_time={latest_change(folder)};" in text for each in seen for path, text in each.items() if "old" in path
    )
    assert counted == [False]


def latest_change(folder):
    return max(each.stat().st_mtime_ns for each in folder.glob("*.parquet")) // 1_000_000


def test_rows_of_very_many_files_are_counted_and_not_kept(spark, tmp_path, table_path, monkeypatch):
    counted, write = [], second_pass.Writer.write
    monkeypatch.setattr(second_pass.Writer, "write", lambda writer: (counted.append(writer.strategy.counts_rows), write(writer))[1])
    monkeypatch.setattr(listed_files, "_MANY_FILES", 1)
    two_files(spark, tmp_path / "source")
    merged = upsert(make(spark, table_path, **FILES), read_by(spark.read, tmp_path / "source"))
    assert merged.metrics["materializeSourceTimeMs"] == 0
    assert counted == [True]


@pytest.fixture
def overtaken(monkeypatch):
    """Something that happens between the two passes of a MERGE, once it is given a function."""
    write, between = second_pass.Writer.write, []

    def late(writer):
        for each in between:
            each()
        return write(writer)

    monkeypatch.setattr(second_pass.Writer, "write", late)
    return between.append


def two_files(spark, path):
    """The keys of half of the table in one file, and new ones in another."""
    for name, query in (("old", "range(0, 5, 1, 1)"), ("new", "range(10, 20, 1, 1)")):
        spark.sql(f"select id, -1L v from {query}").write.parquet(f"{path}/of={name}")


def upsert(table, source):
    return table.merge(source.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


@pytest.mark.usefixtures("joins")
@pytest.mark.parametrize("what", ["the session", "the option"])
def test_a_source_whose_files_may_be_missing_is_the_same_in_both_passes(spark, tmp_path, way, overtaken, what):
    table, files_of = make(spark, str(tmp_path / "table"), **way), tmp_path / "source"
    two_files(spark, files_of)
    if what == "the session":
        spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        options = {} if what == "the session" else {"IGNOREmissingfiles": "true"}
        overtaken(lambda: shutil.rmtree(files_of / "of=old"))
        upsert(table, spark.read.options(**options).parquet(str(files_of)).select("id", "v"))
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")
    expected = {**{i: i for i in range(5, 10)}, **dict.fromkeys((*range(5), *range(10, 20)), -1)}
    assert {row.id: row.v for row in table.toDF().collect()} == expected


def latest(folder):
    """Gives the file of a folder a name that comes back."""
    [file] = folder.glob("*.parquet")
    return file.rename(file.with_name("latest.parquet"))


@pytest.fixture
def changed(spark, tmp_path, overtaken):
    """A source of a file with the keys 0 to 4 and one with new ones; while a MERGE runs, the first one has others from then on."""

    def of(again):
        two_files(spark, files_of := tmp_path / "source")
        spark.sql(f"select id, -2L v from {again}").write.parquet(str(tmp_path / "again"))
        old, new = latest(files_of / "of=old"), latest(tmp_path / "again")
        overtaken(lambda: new.replace(old) if new.exists() else None)
        return read_by(spark.read, files_of)

    return of


@pytest.mark.usefixtures("joins")
@pytest.mark.parametrize("feed", [{}, FEED], ids=["no feed", "feed"])
@pytest.mark.parametrize("again", ["range(0, 3, 1, 1)", "range(5, 10, 1, 1)"], ids=["fewer rows", "as many rows"])
def test_a_merge_whose_source_is_written_again_between_its_passes_takes_one_state_of_it(
    spark, table_path, way, feed, changed, again
):
    table = make(spark, table_path, **way, **feed)
    merged = upsert(table, changed(again))
    updated = {row.id: -2 for row in spark.sql(f"select id from {again}").collect()}
    expected = {**{i: i for i in range(10)}, **updated, **dict.fromkeys(range(10, 20), -1)}
    assert {row.id: row.v for row in table.toDF().collect()} == expected
    assert (merged.version, merged.num_updated_rows, merged.num_inserted_rows) == (1, len(updated), 10)
    named = {each["path"] for kind in ("add", "cdc") for version in (0, 1) for each in actions(table_path, kind, version)}
    assert parquet_files(table_path) == named, "what was written first is deleted"


@pytest.mark.parametrize("inserts", [False, True], ids=["updates", "inserts"])
def test_one_state_is_taken_by_a_merge_that_only_updates_or_only_inserts(spark, table_path, way, changed, inserts):
    # The keys that the source had first pass over the second file, and with it over what the source has now.
    bayou.write(spark.sql("select id, id v from range(0, 10, 1, 2)"), table_path, **way)
    table = bayou.DeltaTable.forPath(spark, table_path).alias("t")
    merge = table.merge(changed("range(5, 10, 1, 1)").alias("s"), "t.id = s.id")
    (merge.whenNotMatchedInsertAll() if inserts else merge.whenMatchedUpdateAll()).execute()
    new = dict.fromkeys(range(10, 20), -1) if inserts else dict.fromkeys(range(5, 10), -2)
    assert sorted((row.id, row.v) for row in table.toDF().collect()) == sorted({**{i: i for i in range(10)}, **new}.items())


def test_a_source_that_may_not_be_kept_is_refused_where_it_is_changed(spark, table_path, way, changed):
    table, source, before = make(spark, table_path, **way), changed("range(5, 10, 1, 1)"), files(table_path)
    told = pytest.raises(InvalidCommitError, match=r"another program changed its source meanwhile: file:.*latest\.parquet")
    with settings(spark, {"spark.databricks.delta.merge.materializeSource": "none"}), told as caught:
        upsert(table, source)
    assert caught.value.getErrorClass() == "DELTA_NUM_RECORDS_MISMATCH"
    assert files(table_path) == before


def test_a_source_that_is_gone_before_it_was_looked_at_again_is_an_error(spark, tmp_path, table_path, way, monkeypatch):
    two_files(spark, files_of := tmp_path / "source")
    file = latest(files_of / "of=old")
    table, source, write = make(spark, table_path, **way), read_by(spark.read, files_of), second_pass.Writer.write
    before = files(table_path)
    monkeypatch.setattr(second_pass.Writer, "write", lambda writer: (write(writer), file.unlink())[0])
    with pytest.raises(Exception, match="latest"):
        upsert(table, source)
    assert files(table_path) == before


def test_a_source_whose_list_of_files_is_made_anew_is_one_state_too(spark, table_path, way, overtaken):
    """Spark has one list of a table's files for all DataFrames of the session, and makes it anew below them."""
    spark.sql("create table listed_anew using parquet as select id, -1L v from range(0, 5, 1, 1)")
    try:
        table = make(spark, table_path, **way)
        more = ["insert into listed_anew select id, -2L v from range(5, 12, 1, 1)"]
        overtaken(lambda: spark.sql(more.pop()) if more else None)
        merged = upsert(table, spark.table("listed_anew"))
        assert (merged.num_updated_rows, merged.num_inserted_rows) == (10, 2)
        assert table.toDF().count() == 12
    finally:
        spark.sql("drop table listed_anew")


@pytest.mark.parametrize("inserts", [False, True], ids=["an upsert", "inserts"])
def test_a_source_that_is_written_again_while_others_rows_are_looked_at_is_read_once_more(
    spark, tmp_path, table_path, monkeypatch, inserts
):
    table, write, swapped, others = make(spark, table_path, **VECTORS), second_pass.Writer.write, [], []
    two_files(spark, files_of := tmp_path / "source")
    spark.sql("select id, -2L v from range(0, 3, 1, 1)").write.parquet(str(tmp_path / "again"))
    old, new = latest(files_of / "of=old"), latest(tmp_path / "again")
    module, name = (commit, "row_numbers") if inserts else (vectors, "has_new")
    look = getattr(module, name)

    def overtaken_write(writer):
        if not others:
            others.append(
                table.delete("id = 9")
                if inserts
                else bayou.write(spark.sql("select id, 0L v from range(7, 26, 18, 1)"), table_path, mode="append")
            )
        return write(writer)

    def overtaken_look(*given):
        found = look(*given)
        if not swapped:
            swapped.append(new.replace(old))
        return found

    monkeypatch.setattr(second_pass.Writer, "write", overtaken_write)
    monkeypatch.setattr(module, name, overtaken_look)
    merge = table.merge(read_by(spark.read, files_of).alias("s"), "t.id = s.id").whenNotMatchedInsertAll()
    merged = (merge if inserts else merge.whenMatchedUpdateAll()).execute()
    assert swapped
    assert (merged.version, merged.num_updated_rows, merged.num_inserted_rows) == (2, 0 if inserts else 3, 10)
    ids = sorted({*range(20)} - {9}) if inserts else sorted([*range(20), 7, 25])
    assert sorted(row.id for row in table.toDF().collect()) == ids


@pytest.mark.parametrize(
    "by", [{"replaceUsing": "id"}, {"replaceOn": "t.id = s.id", "targetAlias": "t"}], ids=["replaceUsing", "replaceOn"]
)
def test_an_overwrite_by_match_whose_rows_are_written_again_meanwhile_is_refused(spark, tmp_path, table_path, way, monkeypatch, by):
    make(spark, table_path, **way)
    for name, query in (("new", "select id, -1L v from range(0, 5, 1, 1)"), ("again", "select id, -2L v from range(5, 10, 1, 1)")):
        spark.sql(query).write.parquet(str(tmp_path / name))
    file, other, before = latest(tmp_path / "new"), latest(tmp_path / "again"), files(table_path)

    def late(*given, **named):
        other.replace(file)
        return write_new_files(*given, **named)

    with monkeypatch.context() as patched:
        patched.setattr("bayou.spark.write.writer.write_new_files", late)
        with pytest.raises(InvalidCommitError, match=r"what the new rows are read from: file:.*latest\.parquet") as caught:
            bayou.write(spark.read.parquet(str(file)).alias("s"), table_path, mode="overwrite", **by)
    assert caught.value.getErrorClass() == "DELTA_NUM_RECORDS_MISMATCH"
    assert files(table_path) == before
    bayou.write(spark.read.parquet(str(file)).alias("s"), table_path, mode="overwrite", **by)
    expected = {i: -2 if i >= 5 else i for i in range(10)}
    assert {row.id: row.v for row in spark.read.format("delta").load(table_path).collect()} == expected
