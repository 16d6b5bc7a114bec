# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import CorruptLogError, InvalidCommitError
from bayou.log.actions.columns import ADD_SCHEMA, actions_table
from bayou.log.rows.row_tracking import (
    DOMAIN,
    NO_ROW_ID,
    assigned_columns,
    assigned_files,
    domain_of,
    first_without_ids,
    high_water_mark,
    tracks_rows,
    with_materialised_columns,
    with_row_ids,
)
from bayou.log.staging.staged import StagedActions
from bayou.protocol.actions.actions import AddFile, DomainMetadata, Metadata, Protocol, RemoveFile
from bayou.protocol.actions.file_names import commit_path
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder

TRACKING = Protocol(1, 7, None, ("rowTracking", "domainMetadata"))


def add(path, rows, *, base=None, row_version=None, stats=None):
    text = json.dumps({"numRecords": rows}, separators=(",", ":")) if stats is None else stats
    return AddFile(path, {}, 1, 1, stats=text, base_row_id=base, default_row_commit_version=row_version)


def ids(adds):
    return [(each.base_row_id, each.default_row_commit_version) for each in adds]


def staged(*actions):
    return StagedActions.of(actions, "t")


def test_new_files_get_the_ids_above_the_highest_one():
    found = with_row_ids(staged(add("a", 3), add("b", 1), add("c", 5)), 9, 4, "t")
    assert ids(found.adds) == [(10, 4), (13, 4), (14, 4)]
    assert found.domains == (DomainMetadata(DOMAIN, '{"rowIdHighWaterMark":18,"domainName":"delta.rowTracking"}'),)


def test_the_first_row_of_a_table_has_the_id_nought():
    found = with_row_ids(staged(add("a", 2)), NO_ROW_ID, 0, "t")
    assert ids(found.adds) == [(0, 0)]
    assert high_water_mark({each.domain: each for each in found.domains}) == 1


def test_files_that_have_ids_keep_them():
    found = with_row_ids(staged(add("a", 3, base=0, row_version=1), add("b", 2), add("c", 4, base=3)), 6, 8, "t")
    assert ids(found.adds) == [(0, 1), (7, 8), (3, 8)]
    assert found.domains == (domain_of(8),)


def test_a_commit_that_gives_no_id_sets_no_domain():
    actions = staged(add("a", 3, base=0, row_version=1))
    assert with_row_ids(actions, 2, 8, "t").domains == ()
    assert with_row_ids(staged(), 2, 8, "t") == staged()


def test_other_domains_stay():
    own = DomainMetadata("mine", "{}")
    assert with_row_ids(staged(own, add("a", 1)), NO_ROW_ID, 1, "t").domains == (own, domain_of(0))


def test_a_retry_gives_ids_above_those_of_the_winner():
    actions = staged(add("a", 3))
    first = with_row_ids(actions, 9, 4, "t")
    winner = {DOMAIN: domain_of(20)}
    second = with_row_ids(actions, high_water_mark(winner, 9), 5, "t")
    assert (ids(first.adds), ids(second.adds)) == ([(10, 4)], [(21, 5)])
    assert high_water_mark({}, 9) == 9


def test_the_domain_cannot_be_staged():
    with pytest.raises(InvalidCommitError, match=re.escape(DOMAIN)):
        with_row_ids(staged(domain_of(100)), 9, 4, "t")


def test_ids_that_were_never_given_are_refused():
    for refuse in (
        lambda: with_row_ids(staged(add("a", 3, base=10)), 9, 4, "t"),
        lambda: assigned_columns(columns([add("b", 1), add("a", 3, base=10)]), 9, 4, "t"),
    ):
        with pytest.raises(InvalidCommitError, match=r" a .*\b10\b") as caught:
            refuse()
        assert (caught.value.table, caught.value.version) == ("t", 4)


def test_a_file_without_rows_may_begin_after_the_highest_id():
    assert assigned_files([add("a", 0, base=10)], 9, 4, "t")[1] == 9
    assert assigned_columns(columns([add("a", 0, base=10)]), 9, 4, "t")[1] == 9
    with pytest.raises(InvalidCommitError):
        assigned_files([add("a", 0, base=11)], 9, 4, "t")


@pytest.mark.parametrize("stats", ["", "{}", '{"numRecords":"x"}', '{"numRecords":1.5}', "no json", "[]", '{"numRecords":-1}'])
def test_rows_that_nobody_counted_get_no_ids(stats):
    for refuse in (
        lambda: with_row_ids(staged(add("a", 0, stats=stats)), 9, 4, "t"),
        lambda: assigned_columns(columns([add("a", 0, stats=stats)]), 9, 4, "t"),
    ):
        with pytest.raises(InvalidCommitError) as caught:
            refuse()
        assert (caught.value.error_class, caught.value.sql_state) == ("DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS", "22000")


def test_rows_of_files_with_ids_need_no_count():
    found, mark = assigned_columns(columns([add("a", 0, base=1, stats=""), add("b", 2)]), 5, 4, "t")
    assert found["base_row_id"].to_pylist() == [1, 6]
    assert mark == 7


def columns(adds):
    return actions_table([each.to_json() for each in adds], ADD_SCHEMA)


ADDS = st.lists(
    st.builds(
        add,
        st.just("p"),
        st.integers(0, 1000),
        base=st.none() | st.integers(0, 9),
        row_version=st.none() | st.integers(0, 3),
        stats=st.sampled_from([None, '{"tightBounds":true, "numRecords": 7}', '{"numRecords":12,"minValues":{"numRecords":3}}']),
    ),
    max_size=6,
)


@given(ADDS, st.integers(9, 50), st.integers(0, 5))
def test_columns_and_objects_get_the_same_ids(adds, mark, version):
    objects, mark_of_objects = assigned_files(adds, mark, version, "t")
    table, mark_of_columns = assigned_columns(columns(adds), mark, version, "t")
    assert mark_of_columns == mark_of_objects
    assert table.schema == ADD_SCHEMA
    found = zip(table["base_row_id"].to_pylist(), table["default_row_commit_version"].to_pylist(), strict=True)
    assert list(found) == ids(objects)


@given(ADDS, st.integers(9, 50))
def test_no_two_new_rows_share_an_id(adds, mark):
    counts = [json.loads(each.stats)["numRecords"] for each in adds]
    found, highest = assigned_files(adds, mark, 1, "t")
    fresh = [
        range(each.base_row_id, each.base_row_id + count)
        for each, count, before in zip(found, counts, adds, strict=True)
        if before.base_row_id is None
    ]
    given_ids = [row for rows in fresh for row in rows]
    assert given_ids == list(range(mark + 1, highest + 1))
    assert assigned_files(found, highest, 7, "t") == (found, highest)


def test_a_table_tracks_rows_where_it_has_the_feature_and_is_not_suspended():
    assert tracks_rows(TRACKING, Metadata("x", "{}"))
    assert tracks_rows(TRACKING, None)
    assert not tracks_rows(TRACKING, Metadata("x", "{}", configuration={"delta.rowTrackingSuspended": "true"}))
    assert not tracks_rows(Protocol(1, 2), Metadata("x", "{}", configuration={"delta.enableRowTracking": "true"}))
    assert not tracks_rows(None, None)


@pytest.mark.parametrize("configuration", ["", "{}", "[]", '{"rowIdHighWaterMark":"5"}', '{"rowIdHighWaterMark":true}'])
def test_a_domain_without_its_number_is_corrupt(configuration):
    with pytest.raises(CorruptLogError):
        high_water_mark({DOMAIN: DomainMetadata(DOMAIN, configuration)})


def test_a_removed_domain_starts_again():
    assert high_water_mark({DOMAIN: DomainMetadata(DOMAIN, "", removed=True)}, 9) == NO_ROW_ID
    assert high_water_mark({}) == NO_ROW_ID


ROW_ID = "delta.rowTracking.materializedRowIdColumnName"
ROW_VERSION = "delta.rowTracking.materializedRowCommitVersionColumnName"


def test_a_table_that_keeps_ids_gets_names_for_its_hidden_columns():
    found = with_materialised_columns({"delta.enableRowTracking": "true"}, ["id"])
    assert re.fullmatch(r"_row-id-col-[0-9a-f-]{36}", found[ROW_ID])
    assert re.fullmatch(r"_row-commit-version-col-[0-9a-f-]{36}", found[ROW_VERSION])
    assert with_materialised_columns(found) == found
    taken = with_materialised_columns(found, [found[ROW_ID].upper()])  # a column of the user's has the name
    assert found[ROW_ID] != taken[ROW_ID]
    assert found[ROW_VERSION] == taken[ROW_VERSION]
    other = with_materialised_columns(found, keep=False)
    assert found[ROW_ID] != other[ROW_ID]
    assert found[ROW_VERSION] != other[ROW_VERSION]


def test_other_tables_get_none():
    assert with_materialised_columns({"note": "x"}) == {"note": "x"}


def tag_of(builder, *actions, **said):
    """What the commit of some actions says of ids."""
    version = builder.log().transaction("WRITE").commit(actions, **said).version
    line = json.loads(builder.store.read(commit_path(version)).splitlines()[0])
    return line["commitInfo"]["tags"]["delta.rowTracking.preserved"]


def test_a_commit_that_moves_rows_into_files_without_ids_says_that_they_were_not_kept():
    tracking = {
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowIdColumnName": "i",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "v",
    }
    builder = TableBuilder(store=MemoryStore()).create({"id": "long"}, configuration=tracking, protocol=TRACKING)
    assert tag_of(builder, add("a", 3)) == "true"
    assert tag_of(builder, RemoveFile("a", data_change=False), replace(add("b", 3), data_change=False)) == "false"
    assert tag_of(builder, RemoveFile("b"), add("c", 3)) == "true"
    assert tag_of(builder, replace(add("c", 3, base=6), data_change=False)) == "true"
    moved = replace(add("d", 3), data_change=False)
    assert tag_of(builder, RemoveFile("c", data_change=False), moved, keeps_row_ids=True) == "true"
    assert first_without_ids(builder.log(), range(1, 6)) == 2
    assert first_without_ids(builder.log(), range(3, 6)) is None
