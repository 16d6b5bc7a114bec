# SPDX-License-Identifier: Apache-2.0
"""Resolve the conditions of OPTIMIZE, REORG and COMPUTE STATS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.spark.dml.core.condition import check_condition
from bayou.spark.dml.core.target import table_columns
from bayou.spark.jvm.catalyst import row_changes
from bayou.spark.native.dml.resolver import condition_of
from bayou.spark.native.dml.statement import NativeStatement
from bayou.spark.native.session.jvm import jvm_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.read.session_table import SessionTable


def resolved_condition(
    table: SessionTable, snapshot: Snapshot, command: str, text: str, check: Callable[[Collection[str]], None]
) -> NativeStatement:
    """Return a statement on the rows for which a condition is true.

    Args:
        check: checks the names of the columns that the condition reads.

    Raises:
        UnsupportedFeatureError: the condition contains a subquery.
        SchemaMismatchError: it is not a boolean.
    """
    statement = row_changes.delete_statement(jvm_of(table.application), table.spark, table_columns(snapshot), (), text)
    named = condition_of(table, statement)
    check_condition(command, named, snapshot)
    check(frozenset() if named is None else named.names)
    return NativeStatement.of(table, statement)
