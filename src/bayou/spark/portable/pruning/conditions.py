# SPDX-License-Identifier: Apache-2.0
"""The conditions that all rows of a table in a query satisfy, or that the query loses nothing by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bayou.spark.portable.text.tree import Name, all_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bayou.protocol.types.schema import StructType
    from bayou.spark.portable.pruning.scopes import Scope
    from bayou.spark.portable.text.tree import Expression


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the rows of a table.

    Attributes:
        tree: the condition.
        scope: what its names mean.
    """

    tree: Expression
    scope: Scope

    @property
    def columns(self) -> frozenset[str]:
        """The table's columns in it, by their names in the table in lower case."""
        paths = (self.scope.path_of(each) for each in all_nodes(self.tree) if isinstance(each, Name))
        return frozenset(path[0].lower() for path in paths if path is not None)


class Conditions(Protocol):
    """The conditions on one occurrence of a table in a request."""

    def on(self, schema: StructType, settings: Callable[[], Mapping[str, str]]) -> Sequence[Condition]:
        """Return them.

        Args:
            schema: the table's columns.
            settings: returns the settings of the session, in one request.
        """
        ...
