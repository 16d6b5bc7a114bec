# SPDX-License-Identifier: Apache-2.0
"""Tables in memory, transactions that are begun on them, and what these have committed."""

from __future__ import annotations

import json

from bayou.log.commit.transaction import Transaction
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import AddFile
from bayou.storage import MemoryStore
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
