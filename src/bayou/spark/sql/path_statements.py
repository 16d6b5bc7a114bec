# SPDX-License-Identifier: Apache-2.0
"""Statements that change an entry of the catalog, and so nothing of a table that is named by its path: refused by name."""

from __future__ import annotations

from typing import Final

from bayou.errors import UnsupportedFeatureError, redact_uri

_NAME_IT: Final = "give the table a name: CREATE TABLE name USING delta LOCATION 'path'."
_STATEMENTS: Final = {
    "drop": ("DROP TABLE", "delete the folder with a tool of its file system; DROP TABLE with a name drops the name."),
    "rename": ("ALTER TABLE ... RENAME TO", _NAME_IT),
    "DropTableCommand": ("DROP TABLE", "delete the folder with a tool of its file system; DROP TABLE with a name drops the name."),
    "AlterTableRenameCommand": ("ALTER TABLE ... RENAME TO", _NAME_IT),
    "AnalyzeTableCommand": ("ANALYZE TABLE", "nothing: the log has the statistics of the files."),
    "AnalyzeColumnCommand": ("ANALYZE TABLE", "nothing: the log has the statistics of the files."),
    "AnalyzePartitionCommand": ("ANALYZE TABLE", "nothing: the log has the statistics of the files."),
}


def refuses(statement: str) -> bool:
    """Whether a statement, by the word of `bayou.Catalog` or the name of Spark's command, is refused with a path."""
    return statement in _STATEMENTS


def refused_on_path(statement: str, path: str) -> UnsupportedFeatureError:
    """The error of a statement on a path.

    Args:
        statement: what `refuses` takes.
        path: the path.
    """
    shown, step = _STATEMENTS[statement]
    return UnsupportedFeatureError(
        f"{shown} is not supported for a Delta table that is named by its path: the catalog has no entry for it.",
        table=redact_uri(path),
        error_class="DELTA_OPERATION_NOT_ALLOWED",
        sql_state="0AKDC",
        features=[f"{shown} on a path"],
        next_step=step,
    )
