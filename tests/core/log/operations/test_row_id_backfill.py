# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest

from bayou.errors import InvalidCommitError, UnsupportedFeatureError
from bayou.log.delta_log import open_log
from bayou.log.operations.row_id_backfill import backfill_row_ids, check_countable, has_row_ids, lacks_row_ids, remove_row_ids
from bayou.protocol.actions.actions import AddFile, Protocol
from bayou.protocol.deletion_vectors.descriptor import encode_inline
from bayou.testing.table_builder import TableBuilder, add

TRACKING = ("rowTracking", "domainMetadata")
PROTOCOL = Protocol(3, 7, ("deletionVectors",), ("deletionVectors", *TRACKING))
SUSPENDED = {"delta.rowTrackingSuspended": "true"}


def stats(rows, **more):
    return json.dumps({"numRecords": rows, **more})


def table(path, *files, **configuration):
    builder = TableBuilder(str(path)).create(protocol=PROTOCOL, configuration=configuration)
    if files:
        builder.commit(*files)
    return open_log(str(path))


def ids(log):
    files = log.update().files(["path", "base_row_id", "default_row_commit_version"]).to_pylist()
    return {each["path"]: (each["base_row_id"], each["default_row_commit_version"]) for each in files}


def begin(log):
    return lambda snapshot, operation, parameters: log.transaction(operation, parameters, snapshot=snapshot)


def test_files_get_ids_in_batches_and_no_row_changes(tmp_path):
    log = table(tmp_path, *(add(f"{name}.parquet", stats=stats(10), size=5, tags={"k": "v"}) for name in "abcde"))
    before = {each["path"]: each for each in log.update().files().to_pylist()}
    assert backfill_row_ids(log, begin(log), files_per_commit=2) == 3
    found = ids(log)
    assert sorted(base for base, _ in found.values()) == [0, 10, 20, 30, 40]
    assert sorted(version for _, version in found.values()) == [2, 2, 3, 3, 4]
    assert not lacks_row_ids(log.update())
    entries = log.history(3)
    assert [each.operation for each in entries] == ["ROW TRACKING BACKFILL"] * 3
    assert [each.operation_parameters["batchId"] for each in entries] == ["2", "1", "0"]
    assert not any(each.is_blind_append for each in entries)
    changed = {"base_row_id", "default_row_commit_version", "data_change"}
    for each in log.update().files().to_pylist():
        assert each["data_change"] is False
        assert {k: v for k, v in each.items() if k not in changed} == {
            k: v for k, v in before[each["path"]].items() if k not in changed
        }
    assert backfill_row_ids(log, begin(log)) == 0


def test_files_that_have_ids_are_left_alone_and_ids_go_on_behind_the_mark(tmp_path):
    log = table(tmp_path, add("old.parquet", stats=stats(3)))
    with log.transaction("WRITE") as transaction:
        transaction.commit([AddFile("own.parquet", {}, 1, 1, stats=stats(7))])
    assert backfill_row_ids(log, begin(log)) == 1
    assert ids(log) == {"own.parquet": (0, 2), "old.parquet": (7, 3)}


def test_a_file_with_a_deletion_vector_keeps_it_though_its_bounds_were_tight(tmp_path):
    vector = encode_inline([1, 2]).to_json()
    tight = stats(5, tightBounds=True, nullCount={"id": 1})
    log = table(tmp_path, add("a.parquet", stats=tight, deletionVector=vector))
    backfill_row_ids(log, begin(log))
    (found,) = log.update().files().to_pylist()
    assert (found["base_row_id"], found["deletion_vector"]["cardinality"]) == (0, 2)
    assert json.loads(found["stats"]) == {"numRecords": 5, "tightBounds": False, "nullCount": {"id": 1}}


def test_a_file_without_rows_goes(tmp_path):
    log = table(tmp_path, add("none.parquet", stats=stats(0)), add("some.parquet", stats=stats(2)))
    assert backfill_row_ids(log, begin(log)) == 1
    assert ids(log) == {"some.parquet": (0, 2)}


def test_a_file_whose_rows_nobody_counted_is_named_before_anything_is_committed(tmp_path):
    log = table(tmp_path, add("a.parquet", stats=stats(2)), add("b.parquet", stats=None))
    with pytest.raises(InvalidCommitError, match=r"b\.parquet") as caught:
        check_countable(log.update())
    assert caught.value.error_class == "DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS"


def test_an_append_between_is_no_matter_and_gets_its_own_ids(tmp_path):
    log = table(tmp_path, add("a.parquet", stats=stats(2)))

    def late(snapshot, operation, parameters):
        transaction = begin(log)(snapshot, operation, parameters)
        with log.transaction("WRITE") as other:
            other.commit([AddFile("late.parquet", {}, 1, 1, stats=stats(4))])
        return transaction

    assert backfill_row_ids(log, late) == 1
    assert ids(log) == {"late.parquet": (0, 2), "a.parquet": (4, 3)}


def test_a_file_that_is_removed_between_does_not_come_back(tmp_path):
    log = table(tmp_path, add("a.parquet", stats=stats(2)), add("b.parquet", stats=stats(3)))
    came = []

    def late(snapshot, operation, parameters):
        transaction = begin(log)(snapshot, operation, parameters)
        if not came:
            came.append(operation)
            with log.transaction("DELETE") as other:
                files = other.files()
                other.remove_files(files.filter([path == "a.parquet" for path in files["path"].to_pylist()]))
                other.commit()
        return transaction

    assert backfill_row_ids(log, late) == 1
    assert ids(log) == {"b.parquet": (0, 3)}


def test_a_delete_that_began_before_goes_on_top_of_it(tmp_path):
    log = table(tmp_path, add("a.parquet", stats=stats(2)))
    with log.transaction("DELETE") as other:
        other.remove_files(other.files())
        assert backfill_row_ids(log, begin(log)) == 1
        assert other.commit().version == 3
    assert ids(log) == {}


def test_ids_are_taken_away_while_tracking_is_suspended(tmp_path):
    given = {"baseRowId": 0, "defaultRowCommitVersion": 1}
    files = (add(f"{name}.parquet", stats=stats(2), **given) for name in "abc")
    log = table(tmp_path, *files, add("version.parquet", stats=stats(2), defaultRowCommitVersion=1), **SUSPENDED)
    assert has_row_ids(log.update())
    assert remove_row_ids(log, begin(log), files_per_commit=3) == 2
    assert set(ids(log).values()) == {(None, None)}
    assert not has_row_ids(log.update())
    assert log.history(1)[0].operation == "ROW TRACKING UNBACKFILL"


def test_the_two_ways_do_not_undo_each_other(tmp_path):
    log = table(tmp_path / "on", add("a.parquet", stats=stats(2), baseRowId=0, defaultRowCommitVersion=1))
    with pytest.raises(UnsupportedFeatureError, match="enabled") as caught:
        remove_row_ids(log, begin(log))
    assert caught.value.error_class == "DELTA_ROW_TRACKING_BACKFILL_RUNNING_CONCURRENTLY_WITH_UNBACKFILL"
    log = table(tmp_path / "off", add("a.parquet", stats=stats(2)), **SUSPENDED)
    with pytest.raises(UnsupportedFeatureError, match="suspended"):
        backfill_row_ids(log, begin(log))
