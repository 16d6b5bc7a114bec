# SPDX-License-Identifier: Apache-2.0
"""Streams over tables that tests build, and what their batches hold."""

from __future__ import annotations

from bayou.log.streaming.request.limits import ReadLimits
from bayou.log.streaming.request.options import StreamOptions
from bayou.log.streaming.source import StreamingSource
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder

TABLE_ID = "11111111-2222-3333-4444-555555555555"


def table(schema=None, **options):
    return TableBuilder(store=MemoryStore()).create(schema or {"id": "long"}, **options)


def source_of(builder, settings=None, *, snapshot=None, event_time=None, source_path=None, schema_store=None, **options):
    """A stream as a query makes it that starts now."""
    log = builder.log()
    wanted = StreamOptions.from_options({name: str(value) for name, value in options.items()}, builder.uri)
    return StreamingSource(
        log,
        snapshot or log.snapshot(),
        wanted,
        settings=settings or {},
        event_time=event_time,
        source_path=source_path,
        schema_store=schema_store,
    )


def paths(files):
    return files.files["path"].to_pylist()


def next_batch(source, start=None, limits=None):
    """The end of the next batch, and the paths of its files."""
    end = source.latest_offset(start, limits or source.limits)
    return end, [] if end is None or end == start else paths(source.batch(start, end))


def drain(source, start=None, limits=None):
    """The paths of all batches until there is nothing new, as Spark asks for them; and where the stream is then."""
    batches = []
    while True:
        end, found = next_batch(source, start, limits)
        if end is None or end == start:
            return batches, start
        batches.append(found)
        if start is not None:
            source.commit(start)
        start = end


def place(offset):
    """An offset as (version, index, whether in the first snapshot)."""
    return None if offset is None else (offset.version, offset.index, offset.is_starting_version)


ONE = ReadLimits(1)
