# SPDX-License-Identifier: Apache-2.0
"""Tables in memory, transactions that are begun on them, and what these have committed."""

from __future__ import annotations

import json

from bayou.log.commit.transaction import Transaction
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import AddFile, Metadata, Protocol
from bayou.storage import MemoryStore
from bayou.testing.faulty_store import FaultyStore
from bayou.testing.table_builder import TableBuilder, metadata

FILE = AddFile("mine", {}, 5, 5)
"""A file that a transaction adds."""
SCHEMA = metadata()["metaData"]["schemaString"]
"""The schema of these tables, as their logs have it."""


def table(store=None, **options):
    return TableBuilder(store=store or MemoryStore()).create(**options)


def begin(builder, **options):
    log = builder.log()
    return Transaction(log, log.snapshot(), "WRITE", {"mode": "Append", "partitionBy": []}, **options)


def committed(builder, version):
    return [json.loads(line) for line in builder.store.read(file_names.commit_path(version)).splitlines()]


STATS = '{"numRecords":1,"minValues":{"id":1},"maxValues":{"id":1},"nullCount":{"id":0}}'
"""Statistics of a file with one row."""


def faulty_table(**configuration):
    builder = TableBuilder(store=FaultyStore(MemoryStore()))
    properties = {key.replace("__", "."): value for key, value in configuration.items()}
    Transaction(builder.log(), None, "CREATE TABLE").commit([Protocol(1, 2), Metadata("x", SCHEMA, configuration=properties)])
    return builder


def append(builder, *names, log=None):
    with (log or builder.log()).transaction("WRITE") as transaction:
        return transaction.commit([AddFile(name, {}, 10, 1, stats=STATS) for name in names]).version


def names_in_log(builder, ending):
    return [status.name for status in builder.store.inner.list_from("_delta_log/") if status.name.endswith(ending)]
