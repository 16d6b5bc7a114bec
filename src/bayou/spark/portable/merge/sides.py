# SPDX-License-Identifier: Apache-2.0
"""Tell whether a name or a part of a MERGE's condition is about the table or about the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.spark.portable.text.facts import facts_of

if TYPE_CHECKING:
    from bayou.protocol.types.schema import StructType
    from bayou.spark.portable.text.tree import Expression

Path = tuple[str, ...]


@dataclass(frozen=True)
class Sides:
    """The columns of both sides of a MERGE.

    Attributes:
        table: the columns of the table.
        name: the alias of the table, or an empty tuple.
        source: the columns of the source.
        alias: the alias of the source; None without one.
    """

    table: StructType
    name: Path
    source: StructType
    alias: str | None

    def of_table(self, path: Path) -> Path | None:
        """Return the path in the table that a name certainly means."""
        if self._is_qualified(path, self.name[-1] if self.name else None, self.table):
            return path[1:]
        is_here, is_there = self.table.field(path[0]) is not None, self.source.field(path[0]) is not None
        return path if is_here and not is_there and not self._is_qualified(path, self.alias, self.source) else None

    def of_source(self, path: Path) -> Path | None:
        """Return the path in the source that a name certainly means."""
        if self._is_qualified(path, self.name[-1] if self.name else None, self.table):
            return None
        if self._is_qualified(path, self.alias, self.source):
            return path[1:]
        return path if self.source.field(path[0]) is not None and self.table.field(path[0]) is None else None

    def is_only_of(self, node: Expression, *, table: bool) -> bool:
        """Whether an expression is deterministic, reads at least one column, and reads only columns of one side."""
        facts = facts_of(node, "")
        if not facts.is_deterministic or facts.has_subquery or not facts.parsed.columns:
            return False
        find = self.of_table if table else self.of_source
        return all(find(path) is not None for path in facts.parsed.columns)

    def _is_qualified(self, path: Path, alias: str | None, schema: StructType) -> bool:
        return len(path) > 1 and alias is not None and path[0].lower() == alias.lower() and schema.field(path[1]) is not None
