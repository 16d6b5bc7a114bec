# SPDX-License-Identifier: Apache-2.0
"""A statement that creates or replaces a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.spark.create.definition import TableDefinition


@dataclass(frozen=True, slots=True)
class TableStatement:
    """A table to create or replace: CREATE or REPLACE TABLE, with or without AS SELECT, or a writer that creates its table.

    Attributes:
        definition: the table.
        kind: create, createIfNotExists, replace or createOrReplace.
        writer: saveAsTable or writeTo; empty for SQL.
        options: the writer's options.
    """

    definition: TableDefinition
    kind: str
    writer: str = ""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def creates(self) -> bool:
        """Whether the statement only creates a table, and never replaces an existing one."""
        return self.kind in ("create", "createIfNotExists")

    @property
    def operation(self) -> str:
        """The name of the operation in the table's history, for a statement with rows."""
        names = {"create": "CREATE TABLE", "createIfNotExists": "CREATE TABLE", "replace": "REPLACE TABLE"}
        return names.get(self.kind, "CREATE OR REPLACE TABLE") + " AS SELECT"
