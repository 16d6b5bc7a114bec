# SPDX-License-Identifier: Apache-2.0
"""Find what a request asks of `_metadata`, and hide the column that the rows of a table then have in its place.

Spark's own `_metadata` knows no row ids, and the times of its files are numbers of a list. Where a request asks for more than Spark
knows, the rows have a column of that name. What has their columns, such as a star, must not have this one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.connect import proto

from bayou.spark.portable.requests.messages import Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.spark.portable.requests.messages import Outside
    from bayou.spark.text.words import Word

METADATA: Final = "_metadata"
_KNOWN: Final = frozenset({"file_path", "file_name", "file_size", "file_block_start", "file_block_length", "row_index"})
"""The fields that Spark computes."""
_MENTION: Final = re.compile(rb"_metadata(?:`?\.`?(\w+))?", re.IGNORECASE)
_SAME_COLUMNS: Final = frozenset(
    {"filter", "sort", "limit", "offset", "tail", "subquery_alias", "repartition", "repartition_by_expression", "hint", "sample"}
)
"""The relations that have the columns of their input."""
_MOST_STEPS: Final = 500
_BEFORE_STAR: Final = frozenset({"SELECT", "DISTINCT", "ALL", ",", ".", "*/", "("})
_MEAN_ALL: Final = frozenset({"NATURAL", "PIVOT", "UNPIVOT", "TABLE"})
"""The words that mean all columns of a table."""


@dataclass(frozen=True, slots=True)
class MetadataUse:
    """What a request asks of `_metadata` of one table.

    Attributes:
        is_known: whether Spark knows all of it.
        hidden_in: the relation that must not have the column; None if none would have it.
    """

    is_known: bool
    hidden_in: proto.Relation | None = None


def use_in_plan(place: Place | Outside | None) -> MetadataUse | None:
    """Return what the relations above a read ask of its metadata; None for nothing, and where the column cannot be hidden."""
    fields: set[str] = set()
    top, steps = None, 0
    while isinstance(place, Place) and steps < _MOST_STEPS and place.field == "input":
        kind = str(place.relation.WhichOneof("rel_type"))
        content: Any = getattr(place.relation, kind)
        if kind in _SAME_COLUMNS:
            fields |= _fields_in(content)
            top = place.relation
        elif kind in ("project", "with_columns", "aggregate") and (found := _fields_in(content)):
            has_all = kind == "with_columns" or (kind == "project" and any(map(_is_star, content.expressions)))
            if has_all and _names_it(content):
                return None
            return MetadataUse(fields | found <= _KNOWN, place.relation if has_all else None)
        else:
            break
        place, steps = place.above, steps + 1
    return MetadataUse(fields <= _KNOWN, top) if fields else None


def use_in_text(words: Sequence[Word]) -> MetadataUse | None:
    """Return what a query in SQL asks of the metadata of its tables; None for nothing, and where the column cannot be hidden."""
    said = [word.text.upper().strip("`") for word in words]
    places = [number for number, each in enumerate(said) if each == METADATA.upper()]
    if not places or not _MEAN_ALL.isdisjoint(said):
        return None
    stars = [number for number, each in enumerate(said) if each == "*" and number and said[number - 1] in _BEFORE_STAR]
    if any(said[max(number - 2, 0) : number] != ["COUNT", "("] for number in stars):
        return None
    following = ([*said[number + 1 : number + 3], "", ""][:2] for number in places)
    return MetadataUse(all(dot == "." and name.lower() in _KNOWN for dot, name in following))


def hide(relation: proto.Relation) -> None:
    """Drop the column from a relation, in place."""
    inner, common = proto.Relation(), proto.RelationCommon()
    inner.CopyFrom(relation)
    common.CopyFrom(relation.common)
    # Columns that were made of the program's DataFrame find it by the number in here.
    inner.common.ClearField("plan_id")
    relation.drop.input.CopyFrom(inner)
    relation.drop.column_names.append(METADATA)
    relation.common.CopyFrom(common)


def _fields_in(content: Any) -> set[str]:
    """Return the fields of the metadata that the expressions of a relation name, and an empty string for all of them."""
    found = set()
    for field, value in content.ListFields():
        if field.message_type is None or field.message_type.full_name == proto.Relation.DESCRIPTOR.full_name:
            continue
        for message in value if hasattr(value, "__len__") else [value]:
            found |= {name.decode().lower() for name in _MENTION.findall(message.SerializeToString())}
    return found


def _is_star(message: proto.Expression) -> bool:
    return message.HasField("unresolved_star") or (
        message.HasField("expression_string") and "*" in message.expression_string.expression
    )


def _names_it(content: Any) -> bool:
    """Whether a selection has a column of its own with the name."""
    names: list[str] = []
    for message in getattr(content, "expressions", ()):
        names += [message.unresolved_attribute.unparsed_identifier, message.expression_string.expression, *message.alias.name]
    names += [name for alias in getattr(content, "aliases", ()) for name in alias.name]
    return any(name.strip("` ").lower().endswith(METADATA) for name in names)
