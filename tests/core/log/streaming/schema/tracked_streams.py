# SPDX-License-Identifier: Apache-2.0
"""Queries over tables with column mapping that keep their schemas in a log."""

from __future__ import annotations

from tests.core.log.streaming.streams import paths, source_of, table

from bayou.errors import SchemaChangedError
from bayou.log.streaming.schema.tracking_log import SchemaLog
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage import MemoryStore
from bayou.testing.table_builder import add, metadata

MAPPED = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
MAPPING = Protocol(3, 7, ("columnMapping", "typeWidening"), ("columnMapping", "typeWidening"))
PATH = "file:/c/sources/0"
"""Where Spark keeps what it knows of the first source of a query with the checkpoint `/c`."""


def mapped(**columns):
    """A schema whose columns have these physical names; a type may follow after a colon."""
    fields = []
    for number, (name, physical) in enumerate(columns.items(), 1):
        key, _, kind = physical.partition(":")
        keys = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": key}
        fields.append(StructField(name, kind or "long", metadata=keys))
    return StructType(tuple(fields))


FIRST = mapped(id="p1", name="p2")
RENAMED = mapped(id="p1", other="p2")


class Query:
    """A query that is started again and again, as Spark drives it, with the checkpoint and the schema log of one."""

    def __init__(self, builder, settings=None, **options):
        self.builder, self.settings = builder, settings or {}
        self.options = {"schemaTrackingLocation": "/c", **options}
        self.store = MemoryStore()
        self.at = None
        self.planned = None
        self.found = []

    def source(self, path=PATH):
        """The source of one start: analysed, and then executed."""
        source_of(self.builder, self.settings, schema_store=self.store, **self.options)
        return source_of(self.builder, self.settings, schema_store=self.store, source_path=path, **self.options)

    def run(self, limits=None):
        """Start the query, read until nothing is new; the schema's columns, or the error that ended it."""
        try:
            source = self.source()
            if self.planned is not None:
                self._execute(source)
            while (end := source.latest_offset(self.at, limits or source.limits)) not in (self.at, None):
                self.planned = end
                if self.at is not None:
                    source.commit(self.at)
                self._execute(source)
        except SchemaChangedError as error:
            return error.error_class.removeprefix("DELTA_STREAMING_")
        return list(source.schema.names)

    def _execute(self, source):
        again = self.at and source.parse_offset(self.at.to_json())
        files = source.batch(again, source.parse_offset(self.planned.to_json()))
        self.found += [(path, files.snapshot.schema.names[-1]) for path in paths(files)]
        self.at, self.planned = self.planned, None

    @property
    def entries(self):
        return SchemaLog(self.store, "/c")


def tracked(first=FIRST, configuration=MAPPED, settings=None, **options):
    """A query that has read a table with one file, and has its schema in its log."""
    builder = table(first, protocol=MAPPING, configuration=configuration, actions=[add("a")])
    query = Query(builder, settings, **options)
    assert query.run() == list(first.names)
    return builder, query


def change(builder, new, configuration=MAPPED, **options):
    return builder.commit(metadata(new, configuration=configuration, **options))
