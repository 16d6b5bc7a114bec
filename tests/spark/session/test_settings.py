# SPDX-License-Identifier: Apache-2.0
"""Settings of the session by delta-spark's names, and table properties, each seen in what an operation does."""

from __future__ import annotations

import json
import re

import pytest

import bayou
from bayou.errors import InvalidOptionError, UnsupportedFeatureError

PREFIX = "spark.databricks.delta."
IDENTITY = bayou.IdentityGenerator(1, 1)


@pytest.fixture
def setting(spark):
    """Sets a setting of delta-spark's for the test."""
    names = []

    def set_(name, value):
        names.append(PREFIX + name)
        spark.conf.set(PREFIX + name, value)

    yield set_
    for name in names:
        spark.conf.unset(name)


def paths(path):
    return bayou.open(path).snapshot().files(["path"])["path"].to_pylist()


def properties(path):
    return bayou.open(path).snapshot().metadata.configuration


def test_unknown_properties_of_delta_are_kept_where_the_session_says_so(spark, table_path, setting):
    with pytest.raises(InvalidOptionError, match=r"delta\.mine"):
        bayou.write(spark.range(1), table_path, **{"delta.mine": "1"})
    setting("allowArbitraryProperties.enabled", "true")
    bayou.write(spark.range(1), table_path, **{"delta.mine": "1"})
    bayou.DeltaTable.forPath(spark, table_path).setProperties({"delta.another": "2"})
    spark.sql(f"alter table delta.`{table_path}` set tblproperties ('delta.third' = '3')")
    assert properties(table_path) == {"delta.mine": "1", "delta.another": "2", "delta.third": "3"}


def test_the_mark_of_an_identity_column_goes_back_only_where_the_session_says_so(spark, table_path, setting):
    table = (
        bayou.DeltaTable.create(spark)
        .location(table_path)
        .addColumn("k", "BIGINT", generatedByDefaultAs=IDENTITY)
        .addColumn("v", "BIGINT")
        .execute()
    )
    bayou.write(spark.range(5).selectExpr("id v").coalesce(1), table_path, mode="append")
    table.delete("k > 2")
    marks = []
    for allowed in ("false", "true"):
        setting("identityColumn.allowSyncIdentityToLowerHighWaterMark.enabled", allowed)
        table.syncIdentity("k")
        marks.append(bayou.open(table_path).snapshot().schema.field("k").metadata["delta.identity.highWaterMark"])
    assert marks == [5, 2]


@pytest.mark.parametrize(("gathers", "files"), [("true", 2), ("false", 8)])
def test_a_merge_gathers_the_rows_of_a_partition_unless_the_session_says_no(spark, table_path, setting, gathers, files):
    bayou.write(spark.sql("select 0L id, 0L p"), table_path, partition_by=["p"])
    setting("merge.repartitionBeforeWrite.enabled", gathers)
    rows = spark.range(1, 41, 1, 4).selectExpr("id", "id % 2 p").repartition(4, "id")
    source = rows.alias("s")
    bayou.DeltaTable.forPath(spark, table_path).alias("t").merge(source, "t.id = s.id").whenNotMatchedInsertAll().execute()
    assert len(paths(table_path)) == files + 1
    assert bayou.read(spark, table_path).count() == 41


def test_row_ids_are_given_to_no_existing_files_where_the_session_says_no(spark, table_path, setting):
    bayou.write(spark.range(3), table_path)
    setting("rowTracking.backfill.enabled", "false")
    with pytest.raises(UnsupportedFeatureError, match=r"rowTracking\.backfill\.enabled"):
        bayou.DeltaTable.forPath(spark, table_path).setProperties({"delta.enableRowTracking": "true"})
    assert bayou.open(table_path).version() == 0


@pytest.mark.parametrize(
    ("session", "table", "files"), [("true", "false", 1), ("false", "true", 4), (None, "true", 1), (None, None, 4)]
)
def test_rows_are_gathered_as_the_session_says_and_else_as_the_table_says(spark, table_path, setting, session, table, files):
    if session is not None:
        setting("optimizeWrite.enabled", session)
    wanted = {} if table is None else {"delta.autoOptimize.optimizeWrite": table}
    bayou.write(spark.range(0, 40, 1, 4), table_path, **wanted)
    assert len(paths(table_path)) == files


def test_the_note_of_the_session_is_in_the_history_of_writes_and_changes(spark, table_path, setting):
    setting("commitInfo.userMetadata", "nightly")
    bayou.write(spark.range(3), table_path)
    table = bayou.DeltaTable.forPath(spark, table_path)
    table.delete("id = 1")
    table.setProperties({"x": "y"})
    bayou.write(spark.range(1), table_path, mode="append", userMetadata="by hand")
    notes = [entry.user_metadata for entry in bayou.open(table_path).history()]
    assert notes == ["by hand", "nightly", "nightly", "nightly"]


@pytest.mark.parametrize(("more", "length"), [({}, 2), ({"delta.randomPrefixLength": "5"}, 5)])
@pytest.mark.parametrize("partitions", [[], ["p"]])
def test_files_lie_in_a_folder_of_a_random_name_where_the_table_says_so(spark, table_path, more, length, partitions):
    wanted = {"delta.randomizeFilePrefixes": "true", "delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "false"}
    rows = spark.range(0, 10, 1, 2).selectExpr("id", "if(id % 2 = 0, 'a/b', null) p")
    bayou.write(rows, table_path, partition_by=partitions, **wanted, **more)
    bayou.write(rows, table_path, mode="append")
    inner = r"p=[^/]+/" if partitions else ""
    shape = re.compile(rf"[a-zA-Z0-9]{{{length}}}/{inner}part-[^/]+")
    assert all(shape.fullmatch(each) for each in paths(table_path))
    assert len({each.split("/")[0] for each in paths(table_path)}) in (1, 2)  # two of few letters may be the same
    table = bayou.DeltaTable.forPath(spark, table_path)
    table.update("id = 4", {"id": "40"})
    assert all(shape.fullmatch(each) for each in paths(table_path))
    assert sorted(map(tuple, bayou.read(spark, table_path).collect())) == sorted(
        [(40 if n == 4 else n, "a/b" if n % 2 == 0 else None) for n in range(10)] * 2
    )
    changes = bayou.read(spark, table_path, changes=(2, 2)).select("id", "p", "_change_type").collect()
    assert sorted(map(tuple, changes)) == [(4, "a/b", "update_preimage")] * 2 + [(40, "a/b", "update_postimage")] * 2


def test_a_write_that_moves_rows_is_none_of_the_changes_of_a_table(spark, table_path):
    bayou.write(spark.range(0, 8, 1, 4), table_path, **{"delta.enableChangeDataFeed": "true"})
    bayou.write(bayou.read(spark, table_path).coalesce(1), table_path, mode="overwrite", dataChange="false")
    assert len(paths(table_path)) == 1
    bayou.write(spark.range(8, 9), table_path, mode="append")
    changes = bayou.read(spark, table_path, changes=(1, 2)).select("id", "_change_type", "_commit_version").collect()
    assert [tuple(each) for each in changes] == [(8, "insert", 2)]


def test_texts_in_statistics_are_as_long_as_the_table_says_else_the_session(spark, tmp_path):
    name = "spark.databricks.io.skipping.stringPrefixLength"
    rows = spark.sql("select 1L id, repeat('x', 50) v")

    def lengths(path, **properties):
        bayou.write(rows, path, **properties)
        bayou.DeltaTable.forPath(spark, path).update("id = 1", {"id": "2"})
        files = bayou.open(path).snapshot().files(["stats"])["stats"].to_pylist()
        return {len(json.loads(each)["minValues"]["v"]) for each in files}

    spark.conf.set(name, "7")
    try:
        assert lengths(str(tmp_path / "session")) == {7}
        assert lengths(str(tmp_path / "table"), **{"delta.dataSkippingStringPrefixLength": "9"}) == {9}
        spark.conf.set(name, "-1")
        with pytest.raises(InvalidOptionError, match="stringPrefixLength is '-1'"):
            bayou.write(rows, str(tmp_path / "refused"))
    finally:
        spark.conf.unset(name)
    assert lengths(str(tmp_path / "neither")) == {32}
    assert not (tmp_path / "refused").exists()
