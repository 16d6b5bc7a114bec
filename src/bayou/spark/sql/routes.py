# SPDX-License-Identifier: Apache-2.0
"""List the routes on which each statement reaches bayou, and the module that handles it.

The table is for readers and for a test, which fails if the code has a route that the table does not name. `docs/sql.md` shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Entry(Enum):
    """A stage of Spark at which a statement, or a part of it, reaches bayou."""

    REFUSED_TEXT = "text that Spark's parser refused"
    PARSED = "statement that Spark parsed and has not resolved"
    RESOLVED = "statement that Spark resolved"
    COMMAND = "command that Spark is about to run"
    CATALOG = "question to the session's catalog"
    SOURCE = "question to the data source `delta`"
    FUNCTION = "function that makes a table"


@dataclass(frozen=True, slots=True)
class Route:
    """The route of some statements.

    Attributes:
        statements: the statements, as users know them.
        entry: where they arrive.
        keys: the names that Spark or the adapters use for them there: node classes, message words, function names.
        handler: the module that handles them, below `bayou.spark`.
    """

    statements: str
    entry: Entry
    keys: tuple[str, ...]
    handler: str


ROUTES: Final = (
    Route("VACUUM, OPTIMIZE, REORG, RESTORE, GENERATE, FSCK, ANALYZE ... COMPUTE DELTA STATISTICS", Entry.REFUSED_TEXT,
          ("Vacuum", "Optimize", "Reorg", "Restore", "Generate", "Fsck", "ComputeStatistics"), "sql.statements.maintenance"),
    Route("DESCRIBE HISTORY, DESCRIBE DETAIL of a path", Entry.REFUSED_TEXT,
          ("DescribeHistory", "DescribeDetail"), "sql.statements.description"),
    Route("CONVERT, ALTER TABLE ... DROP FEATURE, SYNC IDENTITY; CLUSTER BY before Spark 4.0", Entry.REFUSED_TEXT,
          ("Convert", "AlterTable"), "sql.statements.alteration"),
    Route("CLONE", Entry.REFUSED_TEXT, ("Clone",), "sql.statements.clone"),
    Route("constraints before Spark 4.1", Entry.REFUSED_TEXT, ("constraints before Spark 4.1",),
          "native.sql.constraint_statements"),
    Route("CREATE ... CLUSTER BY before Spark 4.0, INSERT ... REPLACE before Spark 4.2", Entry.REFUSED_TEXT,
          ("clustered tables before Spark 4.0", "INSERT ... REPLACE before Spark 4.2"), "native.sql.older_parsers"),
    Route("COPY INTO and others that bayou lacks; Delta's statements in scripts", Entry.REFUSED_TEXT,
          ("statements that are refused by name", "scripts, which cannot have these statements"), "native.sql.refused_statements"),
    Route("UPDATE; DELETE of a table whose name is computed", Entry.PARSED,
          ("UpdateTable", "DeleteFromTable"), "dml.statements.entry"),
    Route("MERGE", Entry.PARSED, ("MergeIntoTable",), "native.merge.statement"),
    Route("DESCRIBE HISTORY, DESCRIBE DETAIL of a name", Entry.PARSED, ("DescribeColumn",), "native.sql.statements"),
    Route("COMMENT ON COLUMN", Entry.PARSED, ("AlterColumns",), "native.sql.column_comments"),
    Route("INSERT ... REPLACE USING and REPLACE ON", Entry.PARSED, ("InsertIntoStatement",), "native.sql.replacing_inserts"),
    Route("ALTER TABLE ... ADD CONSTRAINT with CHECK", Entry.PARSED, ("AddCheckConstraint",), "native.sql.constraint_statements"),
    Route("CREATE and REPLACE with constraints; other constraints", Entry.PARSED,
          ("CreateTable", "ReplaceTable", "AddConstraint"), "native.sql.declared_constraints"),
    Route("DELETE; UPDATE through views, behind WITH, with parameters", Entry.RESOLVED,
          ("DeleteFromTable", "UpdateTable"), "dml.statements.entry"),
    Route("MERGE through views, behind WITH, with parameters", Entry.RESOLVED, ("MergeIntoTable",), "native.merge.statement"),
    Route("SHOW PARTITIONS, SHOW COLUMNS", Entry.RESOLVED, ("ShowPartitionsCommand", "ShowColumnsCommand"), "native.sql.show"),
    Route("ALTER TABLE ... ADD and DROP CONSTRAINT from Spark 4.1 on", Entry.COMMAND,
          ("AddCheckConstraint", "DropConstraint"), "native.sql.constraint_statements"),
    Route("CREATE TABLE ... LIKE", Entry.COMMAND, ("CreateTableLikeCommand",), "native.sql.create_like"),
    Route("commands that would pass the log by, which are refused", Entry.COMMAND,
          ("AnalyzePartitionCommand", "InsertIntoDataSourceDirCommand", "LoadDataCommand", "RepairTableCommand",
           "TruncateTableCommand"), "native.sql.optimizer_rule"),
    Route("INSERT, CREATE, REPLACE, CREATE ... AS SELECT, DataFrame writers by name", Entry.CATALOG,
          ("write", "make", "columns", "relation"), "native.sql.session_catalog"),
    Route("ALTER TABLE", Entry.CATALOG, ("alter",), "sql.alter_table"),
    Route("TRUNCATE TABLE", Entry.CATALOG, ("truncate",), "alter.truncate"),
    Route("names with a version or a path, SHOW TBLPROPERTIES, and what is refused for names", Entry.CATALOG,
          ("travel", "entry", "exists", "properties", "changelog", "replaced"), "native.sql.session_catalog"),
    Route("SELECT, INSERT by path, DataFrame readers and writers, streams", Entry.SOURCE,
          ("read", "write", "stream schema", "source", "sink"), "native.sql.data_source"),
    Route("table_changes, table_changes_by_path, table_history, table_detail, table_files; (DESCRIBE HISTORY ...)", Entry.FUNCTION,
          ("table_changes", "table_changes_by_path", "table_history", "table_detail", "table_files"),
          "native.sql.functions.functions"),
)  # fmt: skip
"""All routes, in the order of the stages."""


def as_table() -> str:
    """Return the routes as a Markdown table for the documentation."""
    lines = ["| Statements | How they reach bayou | Answered by |", "|---|---|---|"]
    lines += [f"| {each.statements} | {each.entry.value} | `spark/{each.handler.replace('.', '/')}.py` |" for each in ROUTES]
    return "\n".join(lines)
