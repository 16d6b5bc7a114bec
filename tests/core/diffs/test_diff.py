# SPDX-License-Identifier: Apache-2.0
"""The difference between two versions, and between two tables: facts, files, partitions and operations."""

from __future__ import annotations

import datetime as dt
import json
import os

import pytest
from tests.core.checks.building import OLD, add, domain, field, mapped, metadata, protocol, remove
from tests.core.checks.cases_of_files import VECTOR

import bayou
from bayou.errors import TableNotFoundError, TimestampOutOfRangeError, VersionNotFoundError

BY_P = (field("id"), field("p", "string"))
FEATURES = protocol("deletionVectors", "domainMetadata")
HEADS = (FEATURES, metadata(*BY_P, by=["p"], config={"a": "1", "b": "2"}))
TIME = 1_700_000_000_000


def written(folder, *commits):
    """A table on the disk; the commit of version n is n days after the first one."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    for version, (operation, *actions) in enumerate(commits):
        info = {"commitInfo": {"timestamp": TIME + version * 86_400_000, "operation": operation, "operationMetrics": {"n": "1"}}}
        path = log / f"{version:020d}.json"
        seconds = (TIME + version * 86_400_000) / 1000
        path.write_text("\n".join(json.dumps(each) for each in (info, *actions)), encoding="utf-8")
        os.utime(path, (seconds, seconds))
    return str(folder)


def part(path, value, records, **more):
    return add(path, {"numRecords": records}, partitionValues={"p": value}, **more)


@pytest.fixture
def orders(tmp_path):
    return written(
        tmp_path / "orders",
        ("CREATE TABLE", *HEADS, part("a", "x", 10), part("b", "y", 5)),
        ("WRITE", part("c", "x", 7, size=20), domain("mine", "{}")),
        ("DELETE", remove("b", partitionValues={"p": "y"}), remove("a"), part("a", "x", 10, deletionVector=VECTOR.to_json())),
        ("SET TBLPROPERTIES", metadata(*BY_P, field("q", "double"), by=["p"], config={"a": "2", "c": "3"})),
    )


def changes(found):
    return [(each.part, each.name, each.kind, each.before, each.after) for each in found.changes]


def test_facts_that_differ_are_listed_by_part(orders):
    assert changes(bayou.diff(orders, 0, 3)) == [
        ("schema", "q", "added", None, "double"),
        ("properties", "a", "changed", "1", "2"),
        ("properties", "b", "removed", "2", None),
        ("properties", "c", "added", None, "3"),
        ("domains", "mine", "added", None, "{}"),
    ]


def test_the_other_direction_is_the_reverse(orders):
    there, back = bayou.diff(orders, 0, 3), bayou.diff(orders, 3, 0)
    assert [(each.name, each.before, each.after) for each in back.changes] == [
        (each.name, each.after, each.before) for each in there.changes
    ]
    swapped = {"added": "removed", "removed": "added", "changed": "changed"}
    assert [swapped[each] for each in back.files["change"].to_pylist()] == there.files["change"].to_pylist()
    assert back.operations == there.operations


def test_a_file_with_another_deletion_vector_is_changed(orders):
    files = bayou.diff(orders, 0, 2).files.select(["change", "path", "partition", "rowsBefore", "rowsAfter"])
    assert [tuple(each.values()) for each in files.to_pylist()] == [
        ("changed", "a", "p=x", 10, 10 - VECTOR.cardinality),
        ("added", "c", "p=x", None, 7),
        ("removed", "b", "p=y", 5, None),
    ]


def test_partitions_sum_files_rows_and_bytes(orders):
    assert bayou.diff(orders, 0, 2).partitions.to_pylist() == [
        {"partition": "p=x", "added": 1, "removed": 0, "changed": 1, "bytes": 20, "rows": 7 - VECTOR.cardinality},
        {"partition": "p=y", "added": 0, "removed": 1, "changed": 0, "bytes": -10, "rows": -5},
    ]


def test_rows_without_statistics_are_unknown(tmp_path):
    table = written(tmp_path / "t", ("CREATE TABLE", OLD, metadata()), ("WRITE", add("a"), add("b", {"numRecords": 1})))
    assert bayou.diff(table, 0, 1).partitions["rows"].to_pylist() == [None]


def test_the_operations_between_the_versions_are_those_of_the_history(orders):
    found = bayou.diff(orders, 1, 3).operations
    assert [(each.version, each.operation) for each in found] == [(3, "SET TBLPROPERTIES"), (2, "DELETE")]


def test_one_version_has_no_difference_to_itself(orders):
    found = bayou.diff(orders, 2, 2)
    assert found.is_empty
    assert found.operations == ()
    assert found.partitions.num_rows == 0


def test_without_a_second_side_it_is_the_latest_version(orders):
    found = bayou.diff(orders, "1")
    assert (found.before.version, found.after.version) == (1, 3)


@pytest.mark.parametrize("time", ["2023-11-15 23:00:00", dt.datetime(2023, 11, 15, 23, tzinfo=dt.timezone.utc)])
def test_a_side_may_be_a_timestamp(orders, time):
    found = bayou.diff(orders, time, 3)
    assert (found.before.version, found.after.version) == (1, 3)


def test_a_time_before_the_first_commit_is_an_error(orders):
    with pytest.raises(TimestampOutOfRangeError):
        bayou.diff(orders, "1980-01-01")


def test_two_tables_are_compared_by_their_paths(orders, tmp_path):
    copy = written(
        tmp_path / "copy",
        (
            "CLONE",
            FEATURES,
            metadata(*BY_P, by=["p"], config={"a": "1", "b": "2"}),
            part("a", "x", 10),
            part(f"{orders}/b", "y", 5),
        ),
    )
    found = bayou.diff(orders, 0, copy)
    assert found.is_empty
    assert found.operations == ()
    assert found.after.table.endswith("/copy")
    assert bayou.diff(copy, f"{orders}@v0").is_empty


def test_partitions_have_logical_names(tmp_path):
    mapping = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    heads = [protocol("columnMapping"), metadata(mapped("id", 1), mapped("p", 2, "string"), by=["p"], config=mapping)]
    table = written(tmp_path / "t", ("CREATE TABLE", *heads), ("WRITE", add(partitionValues={"col-2": None})))
    assert bayou.diff(table, 0, 1).partitions["partition"].to_pylist() == ["p=__HIVE_DEFAULT_PARTITION__"]


def test_a_missing_side_is_an_error(orders, tmp_path):
    with pytest.raises(TableNotFoundError):
        bayou.diff(orders, str(tmp_path / "none"))
    with pytest.raises(VersionNotFoundError):
        bayou.diff(orders, 9)


def test_the_difference_is_one_json_document(orders):
    document = json.loads(json.dumps(bayou.diff(orders, 0, 3).to_json()))
    assert document.keys() == {"before", "after", "changes", "partitions", "files", "operations"}
    assert document["after"]["version"] == 3
    assert document["operations"][0]["operation"] == "SET TBLPROPERTIES"
