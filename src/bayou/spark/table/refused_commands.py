# SPDX-License-Identifier: Apache-2.0
"""Refuse commands of Spark that would pass by the log of a Delta table, or that need an entry in the catalog."""

from __future__ import annotations

from typing import Final

from bayou.errors import DeltaError, failed

_ADVICE: Final = "Spark's own statement would change the catalog entry or the files, and not the table."
_REFUSED: Final = {
    # bayou's catalog truncates whole tables. The rule receives this command only for a partition, or on a session with another
    # catalog.
    "TruncateTable": (
        "TRUNCATE TABLE of a partition",
        "DELTA_TRUNCATE_TABLE_PARTITION_NOT_SUPPORTED",
        "Use DELETE FROM to delete the rows of some partitions.",
    ),
    "AnalyzePartition": (
        "ANALYZE TABLE of a partition",
        "DELTA_OPERATION_NOT_ALLOWED",
        "Use ANALYZE TABLE of the whole table, or ANALYZE TABLE ... COMPUTE DELTA STATISTICS.",
    ),
    "InsertIntoDataSourceDir": ("INSERT OVERWRITE DIRECTORY", "DELTA_OPERATION_NOT_ALLOWED", "Use INSERT OVERWRITE delta.`path`."),
    "LoadData": ("LOAD DATA", "NOT_SUPPORTED_COMMAND_FOR_V2_TABLE", "Read the files with spark.read, and INSERT their rows."),
    "RepairTable": ("MSCK REPAIR TABLE", "NOT_SUPPORTED_COMMAND_FOR_V2_TABLE", "nothing: the log knows the partitions."),
}
"""The errors of Spark's own commands that are refused: the name in SQL, the error class and the next step."""


def refused_command(kind: str) -> DeltaError:
    """Return the error for a command of Spark on a Delta table.

    Args:
        kind: the class name of the command.
    """
    name = kind.removesuffix("Command")
    shown, error_class, advice = _REFUSED.get(name, (name, "DELTA_OPERATION_NOT_ALLOWED", _ADVICE))
    return failed(
        "DELTA_OPERATION_NOT_ALLOWED/command", error_class=error_class, features=[shown], operation=shown, next_step=advice
    )


_NAME_IT: Final = "Give the table a name: CREATE TABLE name USING delta LOCATION 'path'."
_OF_THE_CATALOG: Final = {
    "drop": ("DROP TABLE", "Delete the folder with a tool of its file system; DROP TABLE with a name drops the name."),
    "rename": ("ALTER TABLE ... RENAME TO", _NAME_IT),
    "DropTableCommand": ("DROP TABLE", "Delete the folder with a tool of its file system; DROP TABLE with a name drops the name."),
    "AlterTableRenameCommand": ("ALTER TABLE ... RENAME TO", _NAME_IT),
    "AnalyzeTableCommand": ("ANALYZE TABLE", "Leave it out, because the log has the statistics of the files."),
    "AnalyzeColumnCommand": ("ANALYZE TABLE", "Leave it out, because the log has the statistics of the files."),
    "AnalyzePartitionCommand": ("ANALYZE TABLE", "Leave it out, because the log has the statistics of the files."),
}


def refuses(statement: str) -> bool:
    """Whether a statement is refused on a path.

    Args:
        statement: its word in a message of `bayou.Catalog`, or the class name of Spark's command.
    """
    return statement in _OF_THE_CATALOG


def refused_on_path(statement: str, path: str) -> DeltaError:
    """Return the error for a statement on a path."""
    shown, step = _OF_THE_CATALOG[statement]
    return failed(
        "DELTA_OPERATION_NOT_ALLOWED/on-path", table=path, features=[f"{shown} on a path"], operation=shown, next_step=step
    )
