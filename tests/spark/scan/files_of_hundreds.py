# SPDX-License-Identifier: Apache-2.0
"""Tables of files with a hundred rows each."""

from __future__ import annotations

from tests.support.tables.built import file_of

from bayou.testing.table_builder import TableBuilder


def wide_table(path, count=4):
    """Some files of a hundred rows each: `id` and the text of it."""
    builder = TableBuilder(path).create({"id": "long", "name": "string"})
    for number in range(count):
        rows = list(range(number * 100, number * 100 + 100))
        stats = {"numRecords": 100, "minValues": {"id": rows[0]}, "maxValues": {"id": rows[-1]}, "nullCount": {"id": 0, "name": 0}}
        builder.commit(file_of(path, f"{number}.parquet", {"id": rows, "name": [str(i) for i in rows]}, stats=stats))
    return builder
