# SPDX-License-Identifier: Apache-2.0
"""COMPUTE STATS from footers: what they tell is committed, and what they do not is left alone."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayou
from bayou.errors import ConcurrentModificationError, DataFileNotFoundError, InvalidOptionError, UnreadableDataFileError
from bayou.log.operations import compute_statistics as operation
from bayou.protocol.actions.actions import Protocol
from bayou.testing.table_builder import TableBuilder, add, remove

VECTORS = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
# Rows 3, 4, 7, 11, 18 and 29.
VECTOR = {
    "storageType": "i",
    "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    "sizeInBytes": 40,
    "cardinality": 6,
}
STATS = {"numRecords": 3, "minValues": {"id": 1}, "maxValues": {"id": 3}, "nullCount": {"id": 0, "text": 1}}
STATS["minValues"]["text"], STATS["maxValues"]["text"] = "a", "b"


def file(root, name, **columns):
    found = {"id": [1, 2, 3], "text": ["a", None, "b"], **columns}
    (root / name).parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({key: value for key, value in found.items() if value is not None}), root / name)


def table(root, *files, schema=None, partition_by=(), **options):
    fields = {"id": "long", "text": "string", **(schema or {})}
    builder = TableBuilder(root).create(fields, partition_by=partition_by, **options)
    return builder.commit(*files)


def stats(root):
    files = bayou.open(root).snapshot().files(["path", "stats"])
    texts = zip(files["path"].to_pylist(), files["stats"].to_pylist(), strict=True)
    return {path: None if text is None else json.loads(text) for path, text in texts}


def test_files_get_the_statistics_of_their_footers_and_nothing_else_changes(tmp_path):
    for name in ("none", "wrong", "right", "odd"):
        file(tmp_path, name)
    right = {**STATS, "tightBounds": True}
    table(
        tmp_path,
        add("none", tags={"a": "b"}, baseRowId=7, defaultRowCommitVersion=1),
        add("wrong", stats={"numRecords": 3, "minValues": {"id": 2}}),
        add("right", stats=right),
        add("odd", stats="{not JSON"),
    )
    log = bayou.open(tmp_path)
    before = log.snapshot().files()
    found = log.compute_statistics()
    assert (found.version, found.num_files, found.num_updated_files, found.incomplete) == (2, 4, 3, [])
    assert stats(tmp_path) == {"none": STATS, "wrong": STATS, "right": right, "odd": STATS}
    columns = [name for name in before.column_names if name not in {"stats", "data_change"}]
    assert log.snapshot().files().select(columns).sort_by("path") == before.select(columns).sort_by("path")
    (change,) = log.changes(2)
    assert {each["add"]["dataChange"] for each in change.actions if "add" in each} == {False}
    entry = log.history(1)[0]
    assert (entry.operation, dict(entry.operation_parameters)) == ("COMPUTE STATS", {"predicate": '["true"]'})
    log.verify_checksum()  # if there is one, it is right


def test_right_statistics_are_no_commit(tmp_path):
    file(tmp_path, "f")
    table(tmp_path, add("f", stats=STATS))
    log = bayou.open(tmp_path)
    assert log.compute_statistics() == operation.ComputedStatistics(None, 1, 0, incomplete=[])
    assert log.version() == 1


def test_missing_only_leaves_complete_statistics_alone(tmp_path):
    for name in ("none", "part", "wrong"):
        file(tmp_path, name)
    wrong = {**STATS, "numRecords": 17}
    table(tmp_path, add("none"), add("part", stats={"numRecords": 3, "nullCount": {"id": 0}}), add("wrong", stats=wrong))
    found = bayou.open(tmp_path).compute_statistics(missing_only=True)
    assert (found.num_files, found.num_updated_files) == (2, 2)
    assert stats(tmp_path) == {"none": STATS, "part": STATS, "wrong": wrong}


def test_partitions_are_chosen_and_other_columns_refused(tmp_path):
    for name in ("p=a/f", "p=b/f"):
        file(tmp_path, name)
    files = [add(f"p={value}/f", partitionValues={"p": value}) for value in "ab"]
    table(tmp_path, *files, schema={"p": "string"}, partition_by=["p"])
    log = bayou.open(tmp_path)
    assert log.compute_statistics([("p", "==", "b")]).num_files == 1
    assert stats(tmp_path) == {"p=a/f": None, "p=b/f": STATS}
    with pytest.raises(InvalidOptionError, match="'id'") as refused:
        log.compute_statistics([("id", "==", 1)])
    assert refused.value.error_class == "DELTA_NON_PARTITION_COLUMN_REFERENCE"


ODD = {
    "a float of another writer": ("double", pa.array([1.0, 2.0, 3.0])),
    "a number without a sign": ("long", pa.array([1, 2, 3], pa.uint32())),
    "a decimal of other digits": ("decimal(10,4)", pa.array(["1.25", "2.5", None]).cast(pa.decimal128(5, 2))),
    "nanoseconds": ("timestamp", pa.array([1, 2, 3], pa.timestamp("ns", "UTC"))),
}


@pytest.mark.parametrize("case", ODD)
def test_a_column_that_the_footer_does_not_tell_of_leaves_the_file_as_it_is(tmp_path, case):
    kind, values = ODD[case]
    for name in ("some", "none"):
        file(tmp_path, name, odd=values)
    known = {"numRecords": 3, "minValues": {"odd": 1}}
    table(tmp_path, add("some", stats=known), add("none"), schema={"odd": kind})
    found = bayou.open(tmp_path).compute_statistics()
    assert (found.num_updated_files, sorted(found.incomplete)) == (1, ["none", "some"])
    nulls = values.null_count
    without = {**STATS, "nullCount": {**STATS["nullCount"], "odd": nulls}}
    assert stats(tmp_path) == {"some": known, "none": without}


def test_milliseconds_other_integers_and_absent_columns_are_told(tmp_path):
    kinds = {"moment": "timestamp", "small": "long", "absent": "double", "nulls": "double"}
    small = pa.array([1, 2, 3], pa.int8())
    moments = pa.array([1, 2, 3], pa.timestamp("ms", "UTC"))
    file(tmp_path, "f", moment=moments, small=small, nulls=pa.nulls(3, pa.float64()))
    table(tmp_path, add("f"), schema=kinds)
    assert bayou.open(tmp_path).compute_statistics().incomplete == []
    found = stats(tmp_path)["f"]
    assert found["nullCount"] == {**STATS["nullCount"], "moment": 0, "small": 0, "absent": 3, "nulls": 3}
    assert (found["minValues"]["moment"], found["maxValues"]["small"]) == ("1970-01-01T00:00:00.001Z", 3)


def test_long_texts_of_writers_that_may_cut_them_are_not_trusted(tmp_path, monkeypatch):
    table(tmp_path, add("f", stats={"numRecords": 3}))
    file(tmp_path, "f", text=["ü" * 32, None, "b"])
    assert bayou.open(tmp_path).compute_statistics().incomplete == []
    monkeypatch.setattr("bayou.log.staging.footer_statistics._WHOLE_TEXTS", ("parquet-mr version ",))
    assert bayou.open(tmp_path).compute_statistics().incomplete == ["f"]


def test_a_file_with_a_deletion_vector_is_left_alone_or_gets_wide_bounds(tmp_path):
    rows = {"id": list(range(30)), "text": ["a"] * 30}
    for name in ("some", "none"):
        file(tmp_path, name, **rows)
    old = {"numRecords": 30, "tightBounds": False}
    table(tmp_path, add("some", stats=old, deletionVector=VECTOR), add("none", deletionVector=VECTOR), protocol=VECTORS)
    found = bayou.open(tmp_path).compute_statistics()
    assert sorted(found.incomplete) == ["none", "some"]
    assert stats(tmp_path)["some"] == old
    assert (stats(tmp_path)["none"]["tightBounds"], stats(tmp_path)["none"]["maxValues"]["id"]) == (False, 29)


def computed(root, **changes):
    """Statistics for the file `f` that are not committed yet."""
    log = bayou.open(root)
    snapshot = log.snapshot()
    (live,) = operation.files_to_describe(snapshot, None, missing_only=True)
    footer = pq.read_metadata(root / "f")
    leaves = operation.indexed_leaves(snapshot.schema, {})
    return log, snapshot, replace(operation.FileStatistics.of(live, footer, leaves), **changes)


def commit(log, snapshot, found):
    return operation.commit_statistics(log, operation.plain_transactions(log), snapshot, [found], ["true"])


def test_a_file_with_a_vector_may_have_tight_bounds_of_its_live_rows(tmp_path):
    file(tmp_path, "f", id=list(range(30)), text=["a"] * 30)
    table(tmp_path, add("f", stats={"numRecords": 30, "tightBounds": False}, deletionVector=VECTOR), protocol=VECTORS)
    log, snapshot, found = computed(tmp_path)
    assert (found.num_live, found.is_sure) == (24, False)
    scanned = {leaf.path: replace(leaf, null_count=0) for leaf in found.leaves}
    assert commit(log, snapshot, found.with_leaves(scanned)) == (2, 1)
    assert (stats(tmp_path)["f"]["tightBounds"], stats(tmp_path)["f"]["numRecords"]) == (True, 30)
    live = log.snapshot().files(["deletion_vector"])["deletion_vector"].to_pylist()
    assert [each["cardinality"] for each in live] == [6]


MEANWHILE = {
    "an append": ([add("g", stats=STATS)], (3, 1)),
    "another vector": (
        [remove("f"), add("f", stats={"numRecords": 30, "tightBounds": False}, deletionVector=VECTOR)],
        (None, 0),
    ),
    "a removal": ([remove("f")], (None, 0)),
    "row ids": ([add("f", baseRowId=5, defaultRowCommitVersion=2)], (3, 1)),
}


@pytest.mark.parametrize("case", MEANWHILE)
def test_other_commits_meanwhile(tmp_path, case):
    actions, expected = MEANWHILE[case]
    file(tmp_path, "f", id=list(range(30)), text=["a"] * 30)
    builder = table(tmp_path, add("f"), protocol=VECTORS)
    log, snapshot, found = computed(tmp_path)
    builder.commit(*actions)
    assert commit(log, snapshot, found) == expected
    if case == "row ids":
        assert log.snapshot().files(["base_row_id"])["base_row_id"].to_pylist() == [5]


def test_another_table_in_the_same_place_is_a_conflict(tmp_path):
    file(tmp_path, "f")
    builder = table(tmp_path, add("f"))
    log, snapshot, found = computed(tmp_path)
    metadata = {**snapshot.metadata.to_json(), "id": "another"}
    builder.commit({"metaData": metadata})
    with pytest.raises(ConcurrentModificationError):
        commit(log, snapshot, found)


def test_changes_of_rows_go_on_top_of_it(tmp_path):
    file(tmp_path, "f")
    table(tmp_path, add("f"))
    late = bayou.open(tmp_path).transaction("DELETE")
    late.remove_files(late.files(where=[("id", "==", 2)]))
    bayou.open(tmp_path).compute_statistics()
    assert late.commit().version == 3
    assert bayou.open(tmp_path).snapshot().num_files == 0


def test_a_file_that_is_gone_or_broken_is_named(tmp_path):
    table(tmp_path, add("f"))
    with pytest.raises(DataFileNotFoundError, match="file: f"):
        bayou.open(tmp_path).compute_statistics()
    (tmp_path / "f").write_text("no Parquet")
    with pytest.raises(UnreadableDataFileError, match="file: f"):
        bayou.open(tmp_path).compute_statistics()
