# SPDX-License-Identifier: Apache-2.0
"""Tables of numbered rows, and row changes that are begun on them at the same time."""

from __future__ import annotations

import json

from hypothesis import settings
from hypothesis import strategies as st
from tests.core.transactions.row_operations import RowTable

from bayou.protocol.actions.file_names import commit_path

QUICK = settings(deadline=None, max_examples=30, derandomize=True)
KEYS = st.frozensets(st.integers(0, 11), min_size=1, max_size=3)


def keys(*values):
    return frozenset(values)


def table(*files, **options):
    found = RowTable(**options)
    for each in files or (range(6),):
        found.append([(key, 0) for key in each])
    return found


def begin(operation, table):
    transaction = table.log.transaction(type(operation).__name__.upper())
    operation.stage(transaction, table)
    return transaction


def run_all(table, operations):
    """Begin all of them, then commit them one after the other."""
    running = [begin(each, table) for each in operations]
    return [each.try_commit(new_files=True) for each in running]


def actions(table, version, kind):
    lines = map(json.loads, table.store.read(commit_path(version)).splitlines())
    return [line[kind] for line in lines if kind in line]
