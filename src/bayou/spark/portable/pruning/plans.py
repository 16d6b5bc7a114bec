# SPDX-License-Identifier: Apache-2.0
"""Find the conditions on a table in the plan of a DataFrame: the filters above the read, and the conditions of joins.

It goes from the read upwards, as long as each row of the result is one of the rows below, or is made of one of them alone. A filter
above a limit, for example, says nothing about the rows below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyspark.sql.connect import proto

from bayou.spark.portable.pruning.certain import in_session, is_certain
from bayou.spark.portable.pruning.scopes import Scope, Visible
from bayou.spark.portable.pruning.walks import Walk
from bayou.spark.portable.requests.messages import Place, frames_in
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.protobufs import attribute_parts, expression_of
from bayou.spark.portable.text.tree import Name, Star, UnreadableTextError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bayou.protocol.types.schema import StructType
    from bayou.spark.portable.pruning.conditions import Condition
    from bayou.spark.portable.requests.messages import Outside
    from bayou.spark.portable.text.tree import Expression

_KIND: Final = "rel_type"
_MOST_STEPS: Final = 500
"""So many relations above a read are looked at. Plans may be nested thousands of levels deep."""
_SAME_ROWS: Final = frozenset({"sort", "repartition", "repartition_by_expression", "hint", "drop_na"})
"""The relations that keep the columns, and that a filter can be moved through."""
_JOINS: Final = proto.Join.JoinType
_BOTH: Final = frozenset({_JOINS.JOIN_TYPE_INNER, _JOINS.JOIN_TYPE_CROSS})
_ONE_SIDE: Final = frozenset({_JOINS.JOIN_TYPE_LEFT_SEMI, _JOINS.JOIN_TYPE_LEFT_ANTI})
"""The joins without columns of their right side."""
_KEEPS_LEFT: Final = _BOTH | _ONE_SIDE | {_JOINS.JOIN_TYPE_LEFT_OUTER}
_KEEPS_RIGHT: Final = _BOTH | {_JOINS.JOIN_TYPE_RIGHT_OUTER}
_MEETS_LEFT: Final = _BOTH | {_JOINS.JOIN_TYPE_RIGHT_OUTER, _JOINS.JOIN_TYPE_LEFT_SEMI}
_MEETS_RIGHT: Final = _BOTH | _ONE_SIDE | {_JOINS.JOIN_TYPE_LEFT_OUTER}
"""The joins whose result lacks all rows of a side that do not satisfy the condition of the join, or does not depend on them."""

_Settings: TypeAlias = "Callable[[], Mapping[str, str]]"


@dataclass(frozen=True, slots=True)
class PlanConditions:
    """The conditions on a read of a table, or on the rows of a query. See `Conditions`.

    Attributes:
        place: the place of the read or the query in the plan.
    """

    place: Place | Outside | None

    def on(self, schema: StructType, settings: _Settings) -> list[Condition]:
        """Return the conditions on a table. What bayou does not understand ends them."""
        walk = Walk(Scope.of(schema, settings=settings), settings)
        self.climb(walk)
        return walk.found

    def climb(self, walk: Walk) -> bool:
        """Go on with a walk from the place to the top of the plan, and return whether it came there."""
        place, steps, plan = self.place, 0, _Plan(walk)
        if isinstance(place, Place):
            plan.leave(getattr(getattr(place.relation, str(place.relation.WhichOneof(_KIND))), place.field))
        while isinstance(place, Place):
            try:
                goes_on = steps < _MOST_STEPS and plan.step(place.relation, place.field)
            except UnreadableTextError:
                goes_on = False
            if not goes_on:
                return False
            plan.leave(place.relation)
            place, steps = place.above, steps + 1
        return place is None or place.climb(walk)


class _Plan:
    """A walk through relations."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    @property
    def scope(self) -> Scope:
        return self.walk.scope

    @scope.setter
    def scope(self, scope: Scope) -> None:
        self.walk.scope = scope

    def leave(self, relation: object) -> None:
        """Take note of the number of a relation, from whose DataFrame columns may have been taken."""
        if isinstance(relation, proto.Relation) and relation.common.HasField("plan_id"):
            self.scope = self.scope.as_frame(relation.common.plan_id)

    def step(self, relation: proto.Relation, field: str) -> bool:
        """Go through a relation. Return whether conditions above it are conditions on the rows below it.

        Args:
            field: the input of the relation that the way comes from.

        Raises:
            UnreadableTextError: bayou cannot read an expression in the relation.
        """
        kind = str(relation.WhichOneof(_KIND))
        if kind in _SAME_ROWS:
            return field == "input"
        go = _STEPS.get(kind)
        return go is not None and go(self, getattr(relation, kind), field)

    def filter(self, content: Any, _field: str) -> bool:
        """Take the condition of a filter."""
        return self.walk.take(self._tree(content.condition))

    def alias(self, content: Any, _field: str) -> bool:
        """Go through an alias."""
        self.scope = self.scope.with_alias(content.alias)
        return True

    def project(self, content: Any, _field: str) -> bool:
        """Go through a selection of columns."""
        return self.walk.select([self._tree(message) for message in content.expressions])

    def with_columns(self, content: Any, _field: str) -> bool:
        """Go through a selection of all columns with some that are replaced or added."""
        trees = [self._tree(alias.expr) for alias in content.aliases]
        self.scope = self.scope.without(name.lower() for alias in content.aliases for name in alias.name)
        return all(map(is_certain, trees))

    def renamed(self, content: Any, _field: str) -> bool:
        """Go through a selection of all columns with other names for some."""
        pairs = [*content.rename_columns_map.items(), *((each.col_name, each.new_col_name) for each in content.renames)]
        touched = [name.lower() for pair in pairs for name in pair]
        before = self.scope
        columns = [each for key, each in before.columns.items() if key not in touched]
        if len(set(touched)) == len(touched):  # no name is both an old one and a new one
            olds = ((before.columns.get(old.lower()), old, new) for old, new in pairs)
            # Where case matters, Spark renames nothing for a name of another case, and bayou forgets both names.
            columns += [
                Visible(new, seen.column, has_qualifier=False)
                for seen, old, new in olds
                if seen is not None and before.is_same(old, seen.name)
            ]
        self.scope = before.with_columns(columns, is_alone=before.is_alone)
        return True

    def dropped(self, content: Any, _field: str) -> bool:
        """Go through a selection of all columns but some."""
        names = [attribute_parts(each)[-1] if "`" in each else each for each in content.column_names]
        for message in content.columns:
            tree = self._tree(message)
            names += tree.parts if isinstance(tree, Name) else ()
        self.scope = self.scope.without(name.lower() for name in names)
        return True

    def joined(self, content: Any, field: str) -> bool:
        """Take the condition of a join, and go on if the join keeps all rows of this side, with no NULLs for some."""
        is_left, kind = field == "left", content.join_type
        # Of columns that USING joins, the result has those of one side.
        hidden = () if is_left or kind == _JOINS.JOIN_TYPE_RIGHT_OUTER else [name.lower() for name in content.using_columns]
        below = self.scope
        both = below.with_other_side(frames_in(content.right if is_left else content.left), hidden)
        if kind in (_MEETS_LEFT if is_left else _MEETS_RIGHT) and content.HasField("join_condition"):
            self.walk.take(self._tree(content.join_condition), both)
        self.scope = below if kind in _ONE_SIDE else both
        return kind in (_KEEPS_LEFT if is_left else _KEEPS_RIGHT)

    def root(self, _content: Any, field: str) -> bool:
        """Go through what holds the relations of subqueries."""
        return field == "root"

    def _tree(self, message: proto.Expression) -> Expression:
        kind = message.WhichOneof("expr_type")
        if kind == "unresolved_star" and any(field.name == "plan_id" for field, _ in message.unresolved_star.ListFields()):
            raise UnreadableTextError("the columns of one DataFrame")
        if kind != "expression_string":
            return in_session(lambda dialect: expression_of(message, dialect), self.walk.settings)
        text = message.expression_string.expression
        tree = in_session(lambda dialect: read_expression(text, dialect, may_have_alias=True), self.walk.settings)
        if isinstance(tree, Star) and text.strip() != "*":
            raise UnreadableTextError("a star that may leave out columns")
        return tree


_STEPS: Final[dict[str, Callable[[_Plan, Any, str], bool]]] = {
    "filter": _Plan.filter,
    "subquery_alias": _Plan.alias,
    "project": _Plan.project,
    "with_columns": _Plan.with_columns,
    "with_columns_renamed": _Plan.renamed,
    "drop": _Plan.dropped,
    "join": _Plan.joined,
    "with_relations": _Plan.root,
}
