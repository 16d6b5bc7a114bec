# SPDX-License-Identifier: Apache-2.0
"""Which files the folder of a partition stands for; how Spark reads it is in `tests/spark/read/test_partition_folders.py`."""

from __future__ import annotations

import pytest

from bayou.errors import InvalidOptionError, PathNotFoundError, StorageError
from bayou.log.snapshot.partition_folder import PartitionFolder
from bayou.storage import MemoryStore, register, unregister
from bayou.testing.table_builder import TableBuilder, add

TYPES = {"day": "date", "at": "timestamp", "price": "decimal(6,2)", "name": "string", "id": "long"}


def file(path, **values):
    return add(path, partitionValues={"day": "2026-01-01", "at": "2026-01-01 12:00:00", "price": "1.50", "name": "x", **values})


@pytest.fixture
def snapshot():
    builder = TableBuilder(store=MemoryStore()).create(
        TYPES,
        partition_by=["day", "at", "price", "name"],
        actions=[
            file("a"),
            file("b", day="2026-01-02", name="a=b/c%"),
            file("c", day=None, name=None),
            file("d", at="2026-01-01T10:30:00.000000Z", price="0.50"),
            file("e", at="2026-01-01T11:00:00.000000Z", day="2026-01-05", price="7"),
        ],
    )
    return builder.log().snapshot()


@pytest.mark.parametrize(
    ("folders", "kept"),
    [
        ("day=2026-01-01", "ad"),
        ("day=2026-1-1", "ad"),
        ("day=__HIVE_DEFAULT_PARTITION__", "c"),
        ("name=a%3Db%2Fc%25", "b"),
        ("price=1.5", "abc"),
        ("price=.50", "d"),
        ("at=2026-01-01 12%3A00%3A00", "abce"),  # of the session's zone, in the log and in the path
        ("at=2026-01-01T10:30:00Z", "d"),
        ("day=2026-01-01/price=0.5", "d"),
        ("price=0.5/day=2026-01-01", "d"),
    ],
)
def test_values_are_compared_as_values_and_not_as_texts(snapshot, folders, kept):
    found = PartitionFolder("memory:/table", folders).files_of(snapshot, "+01:00")
    assert "".join(sorted(found.files(["path"])["path"].to_pylist())) == kept
    assert (found.version, found.schema, found.num_files) == (snapshot.version, snapshot.schema, len(kept))


@pytest.mark.parametrize("folders", ["day=2027-01-01", "day=never", "name=", "price=1e99", "day=2026-01-02/price=0.5"])
def test_a_partition_without_files_is_not_there(snapshot, folders):
    with pytest.raises(PathNotFoundError, match="DELTA_PATH_DOES_NOT_EXIST"):
        PartitionFolder("memory:/table", folders).files_of(snapshot, "UTC")


@pytest.mark.parametrize("folders", ["id=1", "day=2026-01-01/id=1", "Day=2026-01-01", "x", "day=2026-01-01/x", "=x", "day/=x"])
def test_other_folders_are_no_partitions(snapshot, folders):
    with pytest.raises(InvalidOptionError, match=r"DELTA_NON_PARTITION_COLUMN_SPECIFIED|DELTA_INVALID_PARTITION_PATH"):
        PartitionFolder("memory:/table", folders).files_of(snapshot, "UTC")


def test_the_nearest_table_above_is_the_table(tmp_path):
    TableBuilder(tmp_path / "t").create({"id": "long", "p": "long"}, partition_by=["p"])
    uri = f"file://{tmp_path}/t"
    assert PartitionFolder.below_table(f"{uri}/p=1/q=2", {}) == PartitionFolder(uri, "p=1/q=2")
    assert PartitionFolder.below_table(uri, {}) is None
    assert PartitionFolder.below_table("file:///", {}) is None


class _Closed(MemoryStore):
    """A store that lists nothing to this user."""

    def list_from(self, path):
        raise StorageError("access denied", table=path)


def test_who_may_not_list_what_is_above_is_told_of_no_table():
    register("closed", lambda _place, _options: _Closed())
    try:
        assert PartitionFolder.below_table("closed://bucket/mine/t", {}) is None
    finally:
        unregister("closed")
