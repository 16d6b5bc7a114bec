# SPDX-License-Identifier: Apache-2.0
"""Tables with real data files, made without Spark: data by pyarrow, the log by the table builder."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bayou.protocol.actions import file_names
from bayou.protocol.deletion_vectors.descriptor import encode_inline
from bayou.testing.table_builder import TableBuilder, add, remove

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def file_of(table_path: str, name: str, rows: pa.Table | Mapping[str, Sequence[Any]], **fields: Any) -> dict[str, Any]:
    """Writes a Parquet file and returns the `add` action for it; `fields` are the action's other fields."""
    table = rows if isinstance(rows, pa.Table) else pa.table(dict(rows))
    file = Path(table_path, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, file)
    fields.setdefault("stats", {"numRecords": table.num_rows})
    return add(name, size=file.stat().st_size, **fields)


def without_rows(positions: Iterable[int]) -> dict[str, Any]:
    """The field of an `add` action that deletes rows by their positions in the file."""
    return {"deletionVector": encode_inline(positions).to_json()}


def numbers_table(table_path: str, *files: Sequence[int]) -> TableBuilder:
    """A table of one column `id`, with these files and their statistics."""
    return TableBuilder(table_path).create().commit(*(numbers(table_path, f"{i}.parquet", ids) for i, ids in enumerate(files)))


def numbers(table_path: str, name: str, ids: Sequence[int], **fields: Any) -> dict[str, Any]:
    """One more file for a table of numbers, as an action."""
    stats = {"numRecords": len(ids), "minValues": {"id": min(ids)}, "maxValues": {"id": max(ids)}, "nullCount": {"id": 0}}
    return file_of(table_path, name, {"id": pa.array(ids, pa.int64())}, stats=stats, **fields)


def ids(frame: Any) -> list[Any]:
    """The first column of a DataFrame, sorted."""
    return sorted(row[0] for row in frame.collect())


def only_log(table_path: str, count: int, **fields: Any) -> TableBuilder:
    """A table of numbers whose files are in the log alone: enough for whatever reads no row."""
    stats = '{{"numRecords":10,"minValues":{{"id":{0}}},"maxValues":{{"id":{1}}},"nullCount":{{"id":0}}}}'
    files = (add(f"part-{i:06}.parquet", stats=stats.format(i * 10, i * 10 + 9), **fields) for i in range(count))
    return TableBuilder(table_path).create().commit(*files)


def three_versions(path):
    """Version 0 is empty, 1 holds 1 and 2, 2 also 3, 3 has lost 1 to a deletion vector."""
    builder = numbers_table(path, [1, 2]).commit(numbers(path, "more.parquet", [3]))
    return builder.commit(remove("0.parquet"), numbers(path, "0.parquet", [1, 2], **without_rows([0])))


def commit_at(path, version, moment):
    file = Path(path, file_names.commit_path(version))
    os.utime(file, (moment.timestamp(), moment.timestamp()))


def moment(text):
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.timezone.utc)
