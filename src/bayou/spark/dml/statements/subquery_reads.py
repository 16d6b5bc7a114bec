# SPDX-License-Identifier: Apache-2.0
"""Whether the new values of an UPDATE are made of the table itself: then it depends on rows that it does not change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bayou.spark.jvm.catalyst.subqueries import SubqueryReads
from bayou.storage import qualify, without_host

if TYPE_CHECKING:
    from bayou.spark.dml.core.row_change import Change
    from bayou.spark.jvm.catalyst.expression_list import ExpressionList


def may_read_table(change: Change, values: ExpressionList) -> bool:
    """Whether subqueries in some values may read the table that is changed, or rows of it that were computed before.

    Args:
        change: the operation.
        values: the values, resolved.
    """
    reads = SubqueryReads.of(change.target.application.jvm, values)
    return reads is None or any(_is_of(change, each) for each in reads.tables) or any(_holds(change, each) for each in reads.roots)


def _is_of(change: Change, request: str) -> bool:
    """Whether a request is for the table, by whichever path it has it."""
    found = json.loads(request)
    other = change.target.application.snapshot(found["path"], found["options"])
    return bool(other.metadata.id == change.snapshot.metadata.id)


def _holds(change: Change, root: str) -> bool:
    """Whether files of the table may be below a path, or it below the table's: one host may have several names."""
    given, table = _place(root), _place(change.snapshot.table_uri)
    return given.startswith(table) or table.startswith(given)


def _place(path: str) -> str:
    return without_host(qualify(path).uri).rstrip("/") + "/"
