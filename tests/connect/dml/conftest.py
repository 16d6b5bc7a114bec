# SPDX-License-Identifier: Apache-2.0
"""Tables for row changes on a Connect session. Their logs and first files are written without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa
import pytest
from tests.support.tables.built import file_of

import bayou
from bayou.protocol.actions.actions import Protocol
from bayou.testing.table_builder import TableBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

VECTORS = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
WAYS = pytest.mark.parametrize("ways", [{}, VECTORS], ids=["rewriting", "vectors"])


def protocol_for(configuration: Mapping[str, str], *features: str) -> Protocol:
    """The protocol of a table with these properties."""
    writer = [*features, "appendOnly", "invariants"]
    if VECTORS.items() <= configuration.items():
        writer.append("deletionVectors")
    if FEED.items() <= configuration.items():
        writer.append("changeDataFeed")
    reader = [each for each in writer if each == "deletionVectors"]
    return Protocol(3, 7, tuple(reader), tuple(writer))


@pytest.fixture
def make(spark: Any, table_path: str) -> Callable[..., bayou.DeltaTable]:
    """Makes a table of `id`, `part` and `v`: two partitions with two files of five rows each, with the ids 0 to 19."""

    def made(configuration: Mapping[str, str] | None = None, *features: str) -> bayou.DeltaTable:
        properties = dict(configuration or {})
        kinds = {"id": "long", "part": "string", "v": "string"}
        builder = TableBuilder(table_path)
        builder.create(kinds, partition_by=["part"], configuration=properties, protocol=protocol_for(properties, *features))
        builder.commit(*(_file(table_path, number) for number in range(4)))
        return bayou.DeltaTable.forPath(spark, table_path)

    return made


def _file(table_path: str, number: int) -> dict[str, Any]:
    part, ids = "ab"[number // 2], list(range(5 * number, 5 * number + 5))
    rows = pa.table({"id": pa.array(ids, pa.int64()), "v": pa.array([f"v{each}" for each in ids])})
    stats = {"numRecords": 5, "minValues": {"id": ids[0]}, "maxValues": {"id": ids[-1]}, "nullCount": {"id": 0, "v": 0}}
    return file_of(table_path, f"part={part}/{number}.parquet", rows, partitionValues={"part": part}, stats=stats)


@pytest.fixture
def rows(table_path: str) -> Callable[..., list[tuple[Any, ...]]]:
    """The rows of the table as delta-rs reads them, sorted."""

    def read(columns: str = "id, part, v") -> list[tuple[Any, ...]]:
        query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(table_path))
        found = pa.table(query.execute(f"select {columns} from t").read_all())
        return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))

    return read


@pytest.fixture
def changes(table_path: str) -> Callable[[int], Sequence[tuple[Any, ...]]]:
    """The change rows of a version as delta-rs reads them, sorted."""

    def read(version: int) -> Sequence[tuple[Any, ...]]:
        feed = deltalake.DeltaTable(table_path).load_cdf(starting_version=version, ending_version=version)
        found = pa.table(feed.read_all()).select(["id", "v", "_change_type"])
        return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))

    return read


def all_rows(*without: int) -> list[tuple[Any, ...]]:
    """The rows of a new table without some ids."""
    return [(each, "a" if each < 10 else "b", f"v{each}") for each in range(20) if each not in without]
