# SPDX-License-Identifier: Apache-2.0
"""Tables in memory to which files are appended, and the names that are in their logs afterwards."""

from __future__ import annotations

from tests.core.log.begun_transactions import SCHEMA

from bayou.log.commit.transaction import Transaction
from bayou.protocol.actions.actions import AddFile, Metadata, Protocol
from bayou.storage import MemoryStore
from bayou.testing.faulty_store import FaultyStore
from bayou.testing.table_builder import TableBuilder

STATS = '{"numRecords":1,"minValues":{"id":1},"maxValues":{"id":1},"nullCount":{"id":0}}'
"""Statistics of a file with one row."""


def table(**configuration):
    builder = TableBuilder(store=FaultyStore(MemoryStore()))
    properties = {key.replace("__", "."): value for key, value in configuration.items()}
    Transaction(builder.log(), None, "CREATE TABLE").commit([Protocol(1, 2), Metadata("x", SCHEMA, configuration=properties)])
    return builder


def append(builder, *names, log=None):
    with (log or builder.log()).transaction("WRITE") as transaction:
        return transaction.commit([AddFile(name, {}, 10, 1, stats=STATS) for name in names]).version


def names_in_log(builder, ending):
    return [status.name for status in builder.store.inner.list_from("_delta_log/") if status.name.endswith(ending)]
