# SPDX-License-Identifier: Apache-2.0
"""Go from a table upwards through a query, and collect the conditions that certainly apply to its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.spark.portable.pruning.certain import certain_parts, is_certain
from bayou.spark.portable.pruning.conditions import Condition
from bayou.spark.portable.pruning.scopes import Visible
from bayou.spark.portable.text.tree import Name, Named, Star

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bayou.spark.portable.pruning.scopes import Scope
    from bayou.spark.portable.text.tree import Expression


class Walk:
    """A way from a table upwards.

    Attributes:
        scope: what names mean where the way has come to.
        found: the conditions on the way.
        settings: returns the session's settings, in one request.
    """

    def __init__(self, scope: Scope, settings: Callable[[], Mapping[str, str]]) -> None:
        self.scope = scope
        self.found: list[Condition] = []
        self.settings = settings

    def take(self, tree: Expression, scope: Scope | None = None) -> bool:
        """Take a condition, and return whether it is deterministic.

        Args:
            tree: the condition.
            scope: what its names mean; None for the scope of the place.
        """
        parts, are_all = certain_parts(tree)
        self.found += [Condition(part, scope or self.scope) for part in parts]
        return are_all

    def select(self, trees: Sequence[Expression]) -> bool:
        """Go through a selection of columns. Return whether conditions above it are conditions on the rows below it."""
        seen: list[Visible] = []
        for tree in trees:
            if not is_certain(tree):
                return False
            match tree:
                case Star(()):
                    seen += self.scope.columns.values()
                case Star((qualifier,)) if self.scope.qualifier is not None and self.scope.is_same(qualifier, self.scope.qualifier):
                    seen += [each for each in self.scope.columns.values() if each.has_qualifier]
                case Star():
                    return False
                case Named(child, (name,)):
                    seen += self._renamed(child, name)
                case Name(parts):
                    seen += self._seen(tree, parts[-1])
                case _:
                    pass
        self.scope = self.scope.with_columns(seen, is_alone=self.scope.is_alone)
        return True

    def _seen(self, tree: Name, name: str) -> list[Visible]:
        """Return the column of the table that a selection keeps, if it is one."""
        path = self.scope.path_of(tree)
        if path is None or len(path) > 1:
            return []
        sources = [each for each in self.scope.columns.values() if each.column == path[0]]
        return [Visible(name, path[0], all(each.has_qualifier for each in sources))]

    def _renamed(self, child: Expression, name: str) -> list[Visible]:
        path = self.scope.path_of(child) if isinstance(child, Name) else None
        return [Visible(name, path[0], has_qualifier=False)] if path is not None and len(path) == 1 else []
