# SPDX-License-Identifier: Apache-2.0
"""Tables with a change data feed, and the files and rows that it has."""

from __future__ import annotations

from tests.support.tables.feed_actions import FEED, VECTORS

from bayou.log.changes.feed import ChangeBounds
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder


def table(*, partition_by=()):
    return TableBuilder(store=MemoryStore()).create(
        {"id": "long", "day": "string"}, partition_by=partition_by, configuration=FEED, protocol=VECTORS
    )


def feed_of(builder, start=1, end=None):
    return builder.log().change_feed(ChangeBounds(starting_version=start, ending_version=end))


def changes(builder, start=1, end=None):
    """(version, kind, path) of each file to read."""
    rows = feed_of(builder, start, end).files.select(["commit_version", "kind", "path"]).to_pylist()
    return [tuple(row.values()) for row in rows]


def facts(builder, start):
    rows = feed_of(builder, start).files.select(["path", "size", "partition_values"]).to_pylist()
    return [(row["path"], row["size"], dict(row["partition_values"])) for row in rows]


DAY = {"partitionValues": {"day": "1"}}
"""The partition of a file in a partitioned table."""
