# SPDX-License-Identifier: Apache-2.0
"""Find the relations and the SQL expressions in a message of Spark Connect, wherever they are, without knowing its kind."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from pyspark.sql.connect import proto

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.message import Message

RELATION: Final = proto.Relation.DESCRIPTOR.full_name
_TEXT: Final = proto.Expression.ExpressionString.DESCRIPTOR.full_name
_OF_FRAMES: Final = tuple(
    each.DESCRIPTOR.full_name
    for each in (proto.Expression.UnresolvedAttribute, proto.Expression.UnresolvedStar, proto.Expression.UnresolvedRegex)
    if "plan_id" in each.DESCRIPTOR.fields_by_name
)
"""The types of columns that may have been taken from a DataFrame."""
_QUERY: Final = re.compile(r"\b(?:select|table|from|values)\b", re.IGNORECASE)


class Outside(Protocol):
    """What is above the outermost relation of a plan that stands in another query, such as the place of a view in a SQL text."""

    def climb(self, walk: Any) -> bool:
        """Go on with a walk to the top of the query, and return whether it came there. See `pruning.walks`."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a relation in its plan.

    Attributes:
        relation: the relation that it is an input of.
        field: which input.
        above: the place of that relation; None if it is not an input of another.
    """

    relation: proto.Relation
    field: str
    above: Place | Outside | None


def replace_relations(message: Message, replace: Callable[[proto.Relation], bool]) -> bool:
    """Offer each relation of a message for replacement: see `replace_placed`."""
    return replace_placed(message, lambda relation, _: replace(relation))


def replace_placed(
    message: Message, replace: Callable[[proto.Relation, Place | Outside | None], bool], place: Place | Outside | None = None
) -> bool:
    """Offer each relation of a message for replacement, outermost first.

    It looks only at fields that a relation can be under. It skips expressions and rows, which are most of a large request.
    It does not look at what replaced a relation.

    Args:
        message: any message of the protocol. It is changed in place.
        replace: gets a relation and its place, and may give the relation another content. It says whether it did, or whether
            nothing is left to replace in the relation. The place is None if the relation is not directly an input of another.
        place: the place of the message itself, if it is a relation that stands in another query.

    Returns:
        True if `replace` returned true for any relation.
    """
    ways = _ways(message.DESCRIPTOR, RELATION)
    replaced = False
    # Each message, with the relation that it is the content of, and the place of that or of itself.
    waiting: list[tuple[Message, proto.Relation | None, Place | Outside | None]] = [(message, None, place)]
    # Plans may be nested deeper than Python calls can be.
    while waiting:
        each, owner, place = waiting.pop()
        name = each.DESCRIPTOR.full_name
        relation = cast("proto.Relation", each) if name == RELATION else None
        if relation is not None and replace(relation, place):
            replaced = True
            continue
        followed = ways.get(name)
        if not followed:
            continue
        for field, value in each.ListFields():
            if field.name in followed:
                below: Place | Outside | None = None
                if relation is not None:
                    below = place
                elif owner is not None and field.message_type.full_name == RELATION:
                    below = Place(owner, field.name, place)
                waiting.extend((inner, relation, below) for inner in _messages(field, value))
    return replaced


def texts_with_queries(message: Message) -> list[str]:
    """Return the SQL of expressions in a message that look as if they had a subquery, without statements."""
    return [each.expression for each in expressions_with_queries(message)]


def expressions_with_queries(message: Message) -> list[proto.Expression.ExpressionString]:
    """Return the expressions in a message that look as if they had a subquery, without statements."""
    texts = cast("Iterator[proto.Expression.ExpressionString]", _all_of(message, _TEXT))
    return [each for each in texts if _QUERY.search(each.expression)]


def frames_in(message: Message) -> set[int]:
    """Return the numbers of all DataFrames in a message."""
    found: set[int] = set()

    def note(each: proto.Relation) -> bool:
        if each.common.HasField("plan_id"):
            found.add(each.common.plan_id)
        return False

    replace_relations(message, note)
    return found


def frames_named_in(message: Message) -> set[int]:
    """Return the numbers of the DataFrames that columns in a message were taken from."""
    return {
        cast("Any", each).plan_id for kind in _OF_FRAMES for each in _all_of(message, kind) if cast("Any", each).HasField("plan_id")
    }


def _all_of(message: Message, kind: str) -> Iterator[Message]:
    """The messages of a type in a message, without what is in them."""
    ways = _ways(message.DESCRIPTOR, kind)
    waiting = [message]
    while waiting:
        each = waiting.pop()
        name = each.DESCRIPTOR.full_name
        if name == kind:
            yield each
            continue
        followed = ways.get(name)
        if followed:
            for field, value in each.ListFields():
                if field.name in followed:
                    waiting.extend(_messages(field, value))


def _messages(field: FieldDescriptor, value: Any) -> Iterable[Message]:
    """The messages in a field of any kind."""
    if not _is_repeated(field):
        return (value,)
    return cast("Iterable[Message]", value.values() if _entry_value(field) else value)


@cache
def _ways(root: Descriptor, target: str) -> dict[str, frozenset[str]]:
    """The fields that lead to messages of a type, by message type, for all types that a root can hold."""
    types = {root.full_name: root}
    users: dict[str, set[tuple[str, str]]] = {}
    waiting = [root]
    while waiting:
        user = waiting.pop()
        for field, held in _held(user):
            users.setdefault(held.full_name, set()).add((user.full_name, field))
            if held.full_name not in types:
                types[held.full_name] = held
                waiting.append(held)
    found: dict[str, set[str]] = {}
    leading = [target]
    while leading:
        for user_name, field in users.get(leading.pop(), ()):
            if user_name not in found and user_name != target:
                leading.append(user_name)
            found.setdefault(user_name, set()).add(field)
    return {name: frozenset(fields) for name, fields in found.items()}


def _held(descriptor: Descriptor) -> Iterator[tuple[str, Descriptor]]:
    """The fields of a message type that hold messages, each with the type of these."""
    for field in descriptor.fields:
        held = _entry_value(field) or field.message_type
        if held is not None:
            yield field.name, held


def _entry_value(field: FieldDescriptor) -> Descriptor | None:
    """The message type of the values of a map, or None for other fields and for maps of plain values."""
    entry = field.message_type
    if entry is None or not entry.GetOptions().map_entry:
        return None
    return cast("Descriptor | None", entry.fields_by_name["value"].message_type)


def _is_repeated(field: FieldDescriptor) -> bool:
    # protobuf 7 has no label, older ones have no is_repeated.
    repeated = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED) if repeated is None else bool(repeated)
