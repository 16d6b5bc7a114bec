# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime as dt

import pytest

from bayou.errors import InvalidOptionError
from bayou.plan.predicates.predicate import Column, IsNull
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add


def stats(low, high):
    return {"numRecords": 10, "minValues": {"id": low}, "maxValues": {"id": high}, "nullCount": {"id": 0}}


@pytest.fixture(params=[None, "classic", "v2-json"])
def snapshot(request):
    builder = TableBuilder(store=MemoryStore()).create(
        {"id": "long", "day": "date"},
        partition_by=["day"],
        actions=[
            add("a", partitionValues={"day": "2024-01-01"}, stats=stats(0, 9)),
            add("b", partitionValues={"day": "2024-01-02"}, stats=stats(10, 19)),
            add("c", partitionValues={"day": None}, stats=stats(20, 29)),
            add("d", partitionValues={"day": "2024-01-02"}),
        ],
    )
    if request.param:
        builder.checkpoint(request.param)
    return builder.log().snapshot()


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ([], "abcd"),
        ([("day", "==", dt.date(2024, 1, 2))], "bd"),
        ([("day", "is null")], "c"),
        ([("day", "<", dt.date(2024, 1, 2))], "a"),
        ([("id", "==", 15)], "bd"),
        ([("ID", ">=", 15), ("day", "is not null")], "bd"),
        ([[("id", "<", 5)], [("id", ">", 25)]], "acd"),
        ([("id", "in", [1, 25])], "acd"),
        ([("id", "is null")], "d"),
        (IsNull(Column(("day",))), "c"),
    ],
)
def test_files_that_cannot_match_are_left_out(snapshot, where, kept):
    assert "".join(sorted(snapshot.files(["path"], where=where)["path"].to_pylist())) == kept


def test_a_filter_that_cannot_be_understood_names_the_table(snapshot):
    with pytest.raises(InvalidOptionError) as caught:
        snapshot.files(where=[("nothing", "==", 1)])
    assert (caught.value.table, caught.value.version) == (snapshot.table_uri, 0)


def test_partition_values_are_found_by_physical_name_and_by_the_name_before_mapping():
    mapping = {"delta.columnMapping.physicalName": "col-1", "delta.columnMapping.id": 1}
    schema = StructType((StructField("day", "string", True, mapping), StructField("id", "long")))
    builder = TableBuilder(store=MemoryStore()).create(
        schema,
        partition_by=["day"],
        actions=[add("a", partitionValues={"col-1": "x"}), add("b", partitionValues={"day": "y"})],
    )
    snapshot = builder.log().snapshot()
    assert {name: texts.to_pylist() for name, texts in snapshot.partition_texts().items()} == {"col-1": ["x", "y"]}
    assert snapshot.files(["path"], where=[("day", "==", "y")])["path"].to_pylist() == ["b"]


def test_statistics_are_aligned_with_files_after_thousands_of_removes():
    builder = TableBuilder(store=MemoryStore()).create(
        actions=[add(f"f{number}", stats=stats(number, number)) for number in range(3000)]
    )
    builder.checkpoint()
    log = builder.log()
    log.update().statistics({("id",): "long"})
    builder.commit(*({"remove": {"path": f"f{number}", "dataChange": True}} for number in range(0, 3000, 2)))
    builder.commit(add("new", stats=stats(-1, -1)))
    snapshot = log.update()
    paths = snapshot.files(["path"])["path"].to_pylist()
    lows = snapshot.statistics({("id",): "long"}).columns["id",].min.to_pylist()
    assert len(paths) == 1501
    assert [f"f{low}" if low >= 0 else "new" for low in lows] == paths
