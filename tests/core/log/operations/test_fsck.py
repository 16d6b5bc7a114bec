# SPDX-License-Identifier: Apache-2.0
"""FSCK REPAIR TABLE on the log: which files leave it, and what concurrent commits do."""

from __future__ import annotations

import pytest
from tests.core.checks.building import OLD, add, log, metadata, table
from tests.core.checks.cases_of_files import VECTOR, VECTORS

from bayou.errors import AppendOnlyError
from bayou.log.delta_log import DeltaLog
from bayou.log.operations.fsck import LOST_SCHEMA, fsck
from bayou.log.operations.maintained import plain_transactions


def opened(builder):
    return DeltaLog(builder.uri, builder.store)


def test_a_table_whose_files_exist_gets_no_commit():
    delta_log = opened(table(add()).write("a.parquet", "0123456789"))
    result = fsck(delta_log)
    assert (result.version, result.files.num_rows, result.files.schema) == (None, 0, LOST_SCHEMA)
    assert delta_log.version() == 0


def test_a_dry_run_lists_the_files_and_commits_nothing():
    delta_log = opened(table(add(stats={"numRecords": 3}), add("b.parquet")))
    result = fsck(delta_log, dry_run=True)
    assert (result.version, result.metrics, result.lost_rows) == (None, {"numRemovedFiles": 2}, None)
    assert delta_log.version() == 0


def test_a_missing_deletion_vector_takes_its_file_with_it_and_counts_live_rows_only():
    builder = log([*VECTORS, add(stats={"numRecords": 10}, deletionVector=VECTOR.to_json())]).write("a.parquet", "0123456789")
    result = fsck(opened(builder))
    (row,) = result.files.to_pylist()
    assert (row["dataFileMissing"], row["deletionVectorFileMissing"]) == (False, True)
    assert row["numRecords"] == 10 - VECTOR.cardinality
    assert opened(builder).update().num_files == 0


def test_files_that_the_caller_names_leave_the_log_only_with_that_deletion_vector():
    builder = log([*VECTORS, add(stats={"numRecords": 10})]).write("a.parquet", "0123456789")
    assert fsck(opened(builder), unreadable={("a.parquet", "another vector"): "why"}).version is None
    result = fsck(opened(builder), unreadable={("a.parquet", ""): "why"})
    assert (result.version, result.files["reason"].to_pylist()) == (1, ["why"])


def test_the_removed_action_has_the_facts_of_the_file():
    builder = table(add())
    fsck(opened(builder))
    actions = opened(builder).changes(1)[0].actions
    (removed,) = [each["remove"] for each in actions if "remove" in each]
    assert (removed["path"], removed["dataChange"], removed["size"]) == ("a.parquet", True, 10)


def test_an_append_only_table_is_refused():
    with pytest.raises(AppendOnlyError):
        fsck(opened(log([OLD, metadata(config={"delta.appendOnly": "true"}), add()])))


def test_a_concurrent_repair_of_the_same_file_is_not_an_error():
    builder = table(add())
    begun = []

    def begin(*arguments, **options):
        if not begun:
            begun.append(fsck(opened(builder)).version)
        return plain_transactions(opened(builder))(*arguments, **options)

    result = fsck(opened(builder), begin=begin)
    assert begun == [1]
    assert (result.version, result.files.num_rows) == (None, 0)
