# SPDX-License-Identifier: Apache-2.0
"""Plan DELETE and UPDATE from `DeltaTable.delete` and `update`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayou.spark.dml.core.row_change import change_of
from bayou.spark.dml.core.target import latest_snapshot
from bayou.spark.dml.statements.arguments import check_condition_type, checked_values
from bayou.spark.dml.statements.delete import plan_delete
from bayou.spark.dml.statements.resolver import resolver_of
from bayou.spark.dml.statements.update import plan_update

if TYPE_CHECKING:
    from bayou.spark.dml.core.result import PlannedChange
    from bayou.spark.read.session_table import SessionTable


def planned_delete(target: SessionTable, name: tuple[str, ...], condition: Any, txn: tuple[str, int] | None) -> PlannedChange:
    """Plan `DeltaTable.delete`.

    Args:
        name: the alias that the condition may use for the table, or an empty tuple.
        condition: the condition for rows, as SQL or a column; None for all rows.
        txn: an application id and a version; None to use the session's.

    Raises:
        TypeError: the condition is neither SQL nor a column.
    """
    check_condition_type(condition)
    snapshot = latest_snapshot(target)
    statement = resolver_of(target.application.backend).delete(target, snapshot, name, condition)
    return plan_delete(change_of(target, "DELETE", statement, snapshot, txn=txn))


def planned_update(
    target: SessionTable, name: tuple[str, ...], condition: Any, assignments: Any, txn: tuple[str, int] | None
) -> PlannedChange:
    """Plan `DeltaTable.update`.

    Args:
        name: the alias that expressions may use for the table, or an empty tuple.
        condition: the condition for rows, as SQL or a column; None for all rows.
        assignments: the new values by column, as SQL or columns.
        txn: an application id and a version; None to use the session's.

    Raises:
        TypeError, ValueError: an argument has the wrong type.
    """
    values = checked_values(assignments, "'set'")
    check_condition_type(condition)
    snapshot = latest_snapshot(target)
    statement = resolver_of(target.application.backend).update(target, snapshot, name, condition, values)
    return plan_update(change_of(target, "UPDATE", statement, snapshot, txn=txn))
