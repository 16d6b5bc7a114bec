# SPDX-License-Identifier: Apache-2.0
"""Find the conditions on a table in a SQL text, from its block outwards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bayou.errors import DeltaError
from bayou.spark.portable.pruning.certain import in_session
from bayou.spark.portable.pruning.scopes import Scope
from bayou.spark.portable.pruning.walks import Walk
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.tree import Star, UnreadableTextError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bayou.protocol.types.schema import StructType
    from bayou.spark.portable.pruning.blocks import BlockTable
    from bayou.spark.portable.pruning.conditions import Condition
    from bayou.spark.portable.requests.messages import Outside
    from bayou.spark.portable.text.queries import Part
    from bayou.spark.portable.text.tree import Expression


@dataclass(frozen=True, slots=True)
class TextConditions:
    """The conditions on a table in a SQL text. See `Conditions`.

    Attributes:
        table: the table in its block.
        alias: the name that the table has, also without an alias.
        filled: returns a part of the text with literals in place of parameters.
        above: what is above the rows of the text; None if nothing is.
    """

    table: BlockTable
    alias: str | None
    filled: Callable[[int, int], str]
    above: Outside | None = None

    def on(self, schema: StructType, settings: Callable[[], Mapping[str, str]]) -> Sequence[Condition]:
        """Return the conditions. Those that bayou does not understand are left out."""
        walk = Walk(Scope.of(schema, settings=settings), settings)
        self.climb(walk)
        return walk.found

    def climb(self, walk: Walk) -> bool:
        """Go on with a walk from the table to the rows of the text, and to what is above them. Return whether it came there."""
        table, alias = self.table, self.alias
        while True:
            walk.scope = walk.scope.with_alias(alias)
            if not table.is_alone:
                walk.scope = walk.scope.with_other_side(hidden=table.hidden)
            taken = [self._take(part, walk) for part in table.conditions]
            block = table.block
            if not all(taken) or not table.is_kept or block.items is None or not _select(block.items, walk):
                return False
            if block.outer is None:
                return block.is_top and (self.above is None or self.above.climb(walk))
            table, alias = block.outer, block.outer.alias

    def _take(self, part: Part, walk: Walk) -> bool:
        """Take a condition. Return whether bayou understands it, and it is deterministic."""
        try:
            text = self.filled(part.start, part.end)
            return walk.take(in_session(partial(read_expression, text), walk.settings))
        except (UnreadableTextError, DeltaError):
            return False


def _select(items: Sequence[Part], walk: Walk) -> bool:
    try:
        return walk.select([_item(each.text, walk) for each in items])
    except UnreadableTextError:
        return False


def _item(text: str, walk: Walk) -> Expression:
    tree = in_session(partial(read_expression, text, may_have_alias=True), walk.settings)
    if isinstance(tree, Star) and not text.endswith("*"):
        raise UnreadableTextError("a star that may leave out columns")
    return tree
