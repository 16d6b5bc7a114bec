# SPDX-License-Identifier: Apache-2.0
"""Tables with a change data feed, made without Spark: the story that most of them tell, and the rows of a feed."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.support.tables.built import file_of, without_rows

from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import Protocol
from bayou.testing.table_builder import TableBuilder, remove

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.protocol.types.schema import StructType

FEED = {"delta.enableChangeDataFeed": "true"}
START = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
"""When the first commit is, for `at_days`."""
_FEATURES = ("deletionVectors", "columnMapping", "typeWidening")
_PROTOCOL = Protocol(3, 7, _FEATURES, (*_FEATURES, "changeDataFeed"))


def table(
    path: str,
    schema: StructType | Mapping[str, str] | None = None,
    *,
    partition_by: Sequence[str] = (),
    **configuration: str,
) -> TableBuilder:
    """An empty table with a change data feed."""
    schema = {"id": "long", "name": "string"} if schema is None else schema
    return TableBuilder(path).create(schema, partition_by=partition_by, configuration={**FEED, **configuration}, protocol=_PROTOCOL)


def rows(path: str, name: str, ids: Iterable[int], **fields: Any) -> dict[str, Any]:
    """A data file of rows, as an `add` action."""
    values = {"id": pa.array(list(ids), pa.int64()), "name": [f"n{each}" for each in ids]}
    return file_of(path, name, values, **fields)


def gone(added: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """The `remove` action for an `add` action."""
    had = {key: added["add"][key] for key in ("partitionValues", "size", "deletionVector") if key in added["add"]}
    return remove(added["add"]["path"], extendedFileMetadata=True, **had, **fields)


def changed(path: str, name: str, values: pa.Table | Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """A change file, as a `cdc` action."""
    file = Path(path, "_change_data", name)
    file.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(values), file)
    return {
        "cdc": {"path": f"_change_data/{name}", "partitionValues": {}, "size": file.stat().st_size, "dataChange": False, **fields}
    }


def story(path: str) -> TableBuilder:
    """Versions 1 to 5: rows come, some go by a vector, one is updated, a vector is taken back, the rest goes."""
    builder = table(path)
    first = rows(path, "a.parquet", range(5))
    builder.commit(first, rows(path, "b.parquet", [10, 11]))
    second = rows(path, "a.parquet", range(5), **without_rows([0, 3]))
    builder.commit(gone(first), second)
    third = rows(path, "a.parquet", range(5), **without_rows([0, 3, 4]))
    update = {"id": pa.array([4, 4], pa.int64()), "name": ["n4", "new"], "_change_type": ["update_preimage", "update_postimage"]}
    builder.commit(
        gone(second), third, file_of(path, "c.parquet", {"id": [4], "name": ["new"]}), changed(path, "u.parquet", update)
    )
    fourth = rows(path, "a.parquet", range(5), **without_rows([3, 4]))
    builder.commit(gone(third), fourth)
    return builder.commit(gone(fourth))


STORY = [
    *((each, f"n{each}", "insert", 1) for each in (0, 1, 2, 3, 4, 10, 11)),
    (0, "n0", "delete", 2),
    (3, "n3", "delete", 2),
    (4, "n4", "update_preimage", 3),
    (4, "new", "update_postimage", 3),
    (0, "n0", "insert", 4),
    *((each, f"n{each}", "delete", 5) for each in (0, 1, 2)),
]
"""The rows of its feed."""


def part(start: int, end: int = 5) -> list[tuple[Any, ...]]:
    """Those of some versions."""
    return sorted(each for each in STORY if start <= each[-1] <= end)


def seen(frame: DataFrame) -> list[tuple[Any, ...]]:
    """The rows of a feed without their times, sorted."""
    return sorted(tuple(row) for row in frame.drop("_commit_timestamp").collect())


def at_days(builder: TableBuilder) -> None:
    """Commits one day after the other, from START on."""
    for version in range(builder.version + 1):
        moment = (START + dt.timedelta(days=version)).timestamp()
        os.utime(Path(builder.uri.removeprefix("file://"), file_names.commit_path(version)), (moment, moment))
