# SPDX-License-Identifier: Apache-2.0
"""ALTER COLUMN SET DEFAULT and DROP DEFAULT: what a column is in later rows that bring no value for it.

Source: delta-spark's `AlterTableChangeColumnDeltaCommand`; the history calls it CHANGE COLUMN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.spark.alter.columns import ColumnChange, change_columns, path_of

if TYPE_CHECKING:
    from bayou.spark.alter.columns import ColumnPath
    from bayou.spark.read.session_table import SessionTable


def set_default(target: SessionTable, column: ColumnPath, expression: str | None) -> None:
    """Sets the default of a column, or takes it away; the rows that are there stay as they are.

    Args:
        target: the table.
        column: the column.
        expression: a constant SQL expression; None for no default.

    Raises:
        UnsupportedFeatureError: the table does not have the feature `allowColumnDefaults`.
        InvalidSchemaError: there is no such column, it can have no default, or the expression is none that it can have.
    """
    change_columns(target, [ColumnChange(path_of(column), default=expression or "")])
