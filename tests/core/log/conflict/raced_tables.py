# SPDX-License-Identifier: Apache-2.0
"""A table of three days with one file each, and transactions that others overtake."""

from __future__ import annotations

import json
from dataclasses import replace

from bayou.errors import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    MetadataChangedException,
)
from bayou.log.commit.transaction import Transaction
from bayou.protocol.actions.actions import AddFile, Protocol, RemoveFile
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove

SCHEMA = {"id": "long", "day": "string"}


def stats(low, high, rows=10):
    return json.dumps({"numRecords": rows, "minValues": {"id": low}, "maxValues": {"id": high}, "nullCount": {"id": 0}})


def file(path, day="mon", low=0, high=9, **fields):
    return AddFile(path, {"day": day}, 1, 1, stats=stats(low, high), **fields)


def theirs(path, day="mon", low=0, high=9, **fields):
    return add(path, partitionValues={"day": day}, stats=stats(low, high), **fields)


def table(isolation="Serializable"):
    builder = TableBuilder(store=MemoryStore())
    builder.create(SCHEMA, partition_by=["day"], configuration={"delta.isolationLevel": isolation})
    return builder.commit(theirs("mon"), theirs("tue", "tue", 10, 19), theirs("wed", "wed", 20, 29))


def begin(builder, operation="TEST"):
    log = builder.log()
    return Transaction(log, log.snapshot(), operation)


def delete_monday(transaction):
    """A DELETE of one day, which rewrites its file."""
    transaction.files(where=[("day", "==", "mon")])
    return [RemoveFile("mon"), file("mon2")]


def insert(transaction):
    return [file("new")]


def optimize_monday(transaction):
    transaction.files(where=[("day", "==", "mon")])
    return [RemoveFile("mon", data_change=False), file("mon2", data_change=False)]


def alter(transaction):
    return [replace(transaction.snapshot.metadata, configuration={"note": "x"})]


BLIND = {"operation": "WRITE", "isBlindAppend": True}
UPDATE = {"operation": "UPDATE", "isBlindAppend": False}
WINNERS = {
    "insert": ([theirs("w1")], BLIND),
    "insert elsewhere": ([theirs("w1", "sun")], BLIND),
    "update": ([remove("mon"), theirs("w1")], UPDATE),
    "update elsewhere": ([remove("tue"), theirs("w1", "tue")], UPDATE),
    "delete of a file": ([remove("mon")], UPDATE),
    "optimize": ([remove("mon", dataChange=False), theirs("w1", dataChange=False)], {"operation": "OPTIMIZE"}),
    "alter": ([metadata(SCHEMA, partition_by=["day"], configuration={"note": "theirs"})], {"operation": "SET TBLPROPERTIES"}),
    "upgrade": ([{"protocol": Protocol(1, 7, None, ("domainMetadata", "appendOnly", "invariants")).to_json()}], UPDATE),
    "transaction": ([theirs("w1", "sun"), {"txn": {"appId": "theirs", "version": 1}}], BLIND),
}
"""What another commit does first: its actions, and what it says of itself."""
APPEND, READ, DELETE = ConcurrentAppendException, ConcurrentDeleteReadException, ConcurrentDeleteDeleteException
META = MetadataChangedException
