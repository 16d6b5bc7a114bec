# SPDX-License-Identifier: Apache-2.0
"""The rows of an overwrite that replaces matching rows, on a classic session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.spark.dml.core.target import table_columns
from bayou.spark.jvm.catalyst import row_changes, settled
from bayou.spark.native.dml.statement import NativeStatement
from bayou.spark.native.session.jvm import jvm_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.catalyst.settled import SettledRows
    from bayou.spark.read.session_table import SessionTable
    from bayou.spark.session.application import Application


def settled_rows(application: Application, frame: DataFrame) -> SettledRows | None:
    """Return rows that every evaluation gives again; None if evaluations may differ."""
    return settled.settled(jvm_of(application), frame)


def every_row(target: SessionTable, snapshot: Snapshot) -> NativeStatement:
    """Return the resolved DELETE of all rows."""
    statement = row_changes.delete_statement(jvm_of(target.application), target.spark, table_columns(snapshot), (), None)
    return NativeStatement.of(target, statement)
