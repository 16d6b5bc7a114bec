# SPDX-License-Identifier: Apache-2.0
"""MERGE at its corners: values of chance, sessions with other settings, clauses that set nothing, names that are bayou's own."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from tests.spark.dml.merge.merges import counts, make, source
from tests.support.observing import feed, files
from tests.support.tables.queried import FILES, VECTORS, rows

import bayou
from bayou.errors import ConcurrentModificationError, MultipleMatchesError, UnsupportedFeatureError
from bayou.spark.native.merge.target_rows import Merge

FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture
def setting(spark):
    """Sets something on the session for the test."""
    names = []

    def give(name, value):
        names.append(name)
        spark.conf.set(name, value)

    yield give
    for each in names:
        spark.conf.unset(each)


@pytest.mark.usefixtures("joins")
@pytest.mark.parametrize("fed", [{}, FEED], ids=["no feed", "feed"])
def test_values_of_chance_are_the_same_in_the_table_and_in_its_feed(spark, table_path, way, fed):
    table = make(spark, table_path, "select id, '' u, 0d r from range(0, 10, 1, 2)", **way, **fed)
    merge = table.merge(source(spark, "select id from range(5, 15)"), "t.id = s.id")
    merge = merge.whenMatchedUpdate(set={"u": "uuid()", "r": "rand() + 1"})
    merge = merge.whenNotMatchedInsert(values={"id": "s.id", "u": "uuid()", "r": "rand() + 2"})
    merge = merge.whenNotMatchedBySourceUpdate("t.id < 2", {"u": "uuid()", "r": "rand() + 3"})
    assert counts(merge.execute()) == (7, 0, 5)
    found = rows(table, "id", "u", "r")
    assert sorted(key for key, *_ in found) == list(range(15))
    changed = [row for row in found if row[1]]
    assert len({u for _, u, _ in changed}) == len({r for *_, r in changed}) == len(changed) == 12
    assert {key: int(r) for key, _, r in found} == {
        **dict.fromkeys((0, 1), 3),
        **dict.fromkeys((2, 3, 4), 0),
        **dict.fromkeys(range(5, 10), 1),
        **dict.fromkeys(range(10, 15), 2),
    }
    if fed:
        told = feed(spark, table_path, "id", "u", "r")
        assert sorted(row[:3] for row in told if row[3] in ("insert", "update_postimage")) == sorted(changed)


@pytest.mark.usefixtures("joins")
@pytest.mark.parametrize("fed", [{}, FEED], ids=["no feed", "feed"])
def test_every_clause_does_the_same_without_adaptive_execution(spark, table_path, way, fed, setting):
    setting("spark.sql.adaptive.enabled", "false")
    table = make(spark, table_path, "select id, id v from range(0, 20, 1, 2)", **way, **fed)
    given = source(spark, "select id, id * 100 v from range(10, 25)")
    merge = table.merge(given, "t.id = s.id").whenMatchedDelete("s.id < 12").whenMatchedUpdate("s.id < 15", {"v": "s.v"})
    merge = merge.whenNotMatchedInsert("s.id < 23", {"id": "s.id", "v": "s.v"})
    merge = merge.whenNotMatchedBySourceDelete("t.id < 2").whenNotMatchedBySourceUpdate("t.id < 4", {"v": "-1"})
    assert counts(merge.execute()) == (5, 4, 3)
    expected = {i: i for i in range(4, 20)} | {2: -1, 3: -1} | {i: i * 100 for i in (12, 13, 14, 20, 21, 22)}
    assert dict(rows(table)) == {key: value for key, value in expected.items() if key not in (10, 11)}
    assert counts(table.merge(given, "t.id = s.id").whenNotMatchedInsertAll().execute()) == (0, 0, 4)
    assert counts(table.merge(given, "t.id = s.id").whenMatchedDelete().execute()) == (0, 15, 0)
    assert counts(table.merge(given, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()) == (0, 0, 15)
    with pytest.raises(MultipleMatchesError):
        table.merge(given, "t.id div 5 = s.id div 5").whenMatchedUpdate(set={"v": "0"}).execute()


@pytest.mark.parametrize("what", ["an update", "a compaction", "an update of what matched"])
def test_an_insert_that_looked_through_a_file_which_another_writes_again_is_done_on_what_came_of_it(spark, table_path, what):
    table = make(spark, table_path, "select id, id v from range(0, 10, 1, 1)", **FILES)
    bayou.write(spark.sql("select 100L id, 100L v"), table_path, mode="append")
    given = source(spark, "select 3L id, 0L v union all select 50L, 50L")
    plan = table.merge(given, "t.id = s.id").whenNotMatchedInsertAll().plan()
    if what == "an update":
        table.update("id = 8", {"v": "-1"})
    elif what == "a compaction":
        bayou.write(table.toDF().coalesce(1), table_path, mode="overwrite", dataChange=False)
    else:
        table.update("id = 3", {"id": "33"})
    before = files(table_path)
    if what == "a compaction":  # no row changed: the MERGE runs again by itself
        assert plan.execute().num_retries == 1
    else:
        with pytest.raises(ConcurrentModificationError):
            plan.execute()
        assert files(table_path) == before
    table.merge(given, "t.id = s.id").whenNotMatchedInsertAll().execute()
    found = [key for key, _ in rows(table)]
    assert len(found) == len(set(found))
    assert {3, 50} <= set(found)
    assert len(found) == (13 if what == "an update of what matched" else 12)


@pytest.mark.parametrize("inserts", [True, False])
def test_a_merge_that_comes_second_reads_no_files_but_those_that_the_first_one_added(spark, table_path, monkeypatch, inserts):
    table = make(spark, table_path, "select id, id v from range(0, 100, 1, 10)", **VECTORS)
    merge = table.merge(source(spark, "select id, 0L v from range(40, 60) where id <> 45"), "t.id = s.id").whenMatchedUpdateAll()
    plan = (merge.whenNotMatchedInsertAll() if inserts else merge).plan()
    for key in (45, 99):
        table.update(f"id = {key}", {"v": "-1"})
    read, of_files, added = [], Merge.rows, {each["path"] for each in bayou.open(table_path).update().files(["path"]).to_pylist()}

    def noted(merge, positions, *given, **named):
        paths = merge.change.snapshot.files(["path"])["path"].take(positions).to_pylist()
        read.append((merge.change.snapshot.version, paths))
        return of_files(merge, positions, *given, **named)

    monkeypatch.setattr(Merge, "rows", noted)
    result = plan.execute()
    assert (result.version, result.num_updated_rows) == (3, 19)
    late = [set(paths) for version, paths in read if version > 0]
    assert all(len(paths) == 1 and paths <= added for paths in late)
    assert len(late) <= 2


def latest(table, given, condition="t.id = s.id"):
    merge = table.merge(given, condition, keep="latest", by="at").whenMatchedUpdateAll()
    return merge.whenNotMatchedInsertAll().execute()


def test_of_rows_that_are_equally_late_a_key_that_matches_is_refused_and_a_new_one_has_them_all(spark, table_path, way):
    table = make(spark, table_path, "select 1L id, 0 v, 0 at", **way)
    tied = source(spark, "select * from values (1L, 1, 5), (1L, 2, 5), (1L, 3, 4) s(id, v, at)")
    with pytest.raises(MultipleMatchesError) as error:
        latest(table, tied)
    assert (error.value.keys, error.value.num_keys) == (('{"id":1}',), 1)
    new = source(spark, "select * from values (2L, 1, 5), (2L, 2, 5), (2L, 3, 4) s(id, v, at)")
    assert counts(latest(table, new)) == (0, 0, 2)
    assert rows(table) == [(1, 0, 0), (2, 1, 5), (2, 2, 5)]


def test_the_latest_row_of_null_counts_where_null_equals_null(spark, table_path, way):
    table = make(spark, table_path, "select * from values (cast(null as bigint), 0, 0), (1L, 0, 0) t(id, v, at)", **way)
    given = source(spark, "select * from values (null, 1, 1), (null, 2, 2), (1L, 3, 3), (1L, 4, null), (7L, 5, 1) s(id, v, at)")
    assert counts(latest(table, given, "t.id <=> s.id")) == (2, 0, 1)
    assert rows(table) == [(1, 3, 3), (7, 5, 1), (None, 2, 2)]


def test_the_latest_row_is_that_of_both_columns_of_a_key(spark, table_path, way):
    table = make(spark, table_path, "select * from values (1, 'a', 0, 0), (1, 'b', 0, 0) t(k, l, v, at)", **way)
    values = "(1, 'a', 1, 1), (1, 'a', 2, 2), (1, 'b', 3, 1), (2, 'a', 4, 1), (2, 'a', 5, 9), (null, 'a', 6, 1), (null, 'a', 7, 2)"
    given = source(spark, f"select * from values {values} s(k, l, v, at)")
    assert counts(latest(table, given, "t.k = s.k and t.l <=> s.l")) == (2, 0, 3)
    assert rows(table, "k", "l", "v") == [(1, "a", 2), (1, "b", 3), (2, "a", 5), (None, "a", 6), (None, "a", 7)]


def test_an_insert_that_sets_nothing_inserts_rows_of_null_and_defaults(spark, table_path, way):
    builder = bayou.DeltaTable.create(spark).location(table_path).addColumn("id", "long").addColumn("v", "int")
    for name, value in {**way, "delta.feature.allowColumnDefaults": "supported"}.items():
        builder = builder.property(name, value)
    builder.execute()
    table = bayou.DeltaTable.forPath(spark, table_path).alias("t")
    merge = table.merge(source(spark, "select 1L id union all select 2L"), "t.id = s.id")
    assert counts(merge.whenNotMatchedInsert(values={}).execute()) == (0, 0, 2)
    assert rows(table) == [(None, None), (None, None)]


@pytest.mark.parametrize("fed", [{}, FEED], ids=["no feed", "feed"])
def test_an_update_that_sets_nothing_takes_rows_from_the_clauses_behind_it(spark, table_path, way, fed):
    table = make(spark, table_path, "select id, id v from range(0, 5, 1, 1)", **way, **fed)
    merge = table.merge(source(spark, "select id, 0L v from range(3)"), "t.id = s.id")
    merge = merge.whenMatchedUpdate("t.id < 2", set={}).whenMatchedUpdate(set={"v": "-1"})
    assert counts(merge.execute()) == (3, 0, 0)
    assert rows(table) == [(0, 0), (1, 1), (2, -1), (3, 3), (4, 4)]


def test_a_session_that_forbids_cross_joins_refuses_conditions_that_are_one(spark, table_path, way, setting):
    table = make(spark, table_path, "select id, id v from range(0, 3, 1, 1)", **way)
    one = source(spark, "select 7L id, 7L v")
    setting("spark.sql.crossJoin.enabled", "false")
    before = files(table_path)
    for condition in ("true", "t.id > 1"):
        with pytest.raises(AnalysisException, match=r"[Cc]ross"):
            table.merge(one, condition).whenMatchedUpdate(set={"v": "0"}).whenNotMatchedInsertAll().execute()
    assert files(table_path) == before
    assert counts(table.merge(one, "false").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()) == (0, 0, 1)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", ["__bayou_file", "__bayou_action", "__bayou_in_source", "__BAYOU_metadata", "__bayou_key0"])
def test_columns_of_the_source_that_are_called_like_bayous_own_are_refused_where_they_are_used(spark, table_path, way, name):
    table = make(spark, table_path, "select id, id v from range(3)", **way)
    given = source(spark, f"select id, -1L v, id {name} from range(2, 5)")
    before = files(table_path)
    for merge in (
        table.merge(given, f"t.id = s.{name}").whenMatchedUpdateAll(),
        table.merge(given, "t.id = s.id").whenMatchedUpdate(f"s.{name} > 0", {"v": "s.v"}).whenNotMatchedInsertAll(),
        table.merge(given, "t.id = s.id").whenMatchedUpdate(set={"v": f"s.{name}"}),
    ):
        with pytest.raises(UnsupportedFeatureError, match=f"'{name}'"):
            merge.execute()
    assert (files(table_path), bayou.open(table_path).version()) == (before, 0)
    merge = table.merge(given, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll()
    assert counts(merge.execute()) == (1, 0, 2)
    with pytest.raises(UnsupportedFeatureError, match=f"'{name}'"):
        table.merge(given, "t.id = s.id", keep="latest", by="id").whenMatchedUpdateAll().execute()
