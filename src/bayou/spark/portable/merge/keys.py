# SPDX-License-Identifier: Apache-2.0
"""Prune files by the keys of a MERGE's source: its columns that the condition compares with columns of the table for equality."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.plan.predicates.predicate import And
from bayou.protocol.types.char_varchar import DECLARED_TYPE
from bayou.protocol.types.partition_values import INTEGER_BITS
from bayou.spark.dml.keys.key_conditions import Key, Nodes, condition_of
from bayou.spark.dml.keys.key_values import SourceKey, values_of
from bayou.spark.expressions.predicates import by_logical_name, from_catalyst
from bayou.spark.portable.merge.source import copy_of
from bayou.spark.portable.text.facts import conjuncts
from bayou.spark.portable.text.tree import Name, Operation

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.plan.predicates.predicate import Predicate
    from bayou.protocol.types.schema import DataType
    from bayou.spark.portable.dml.expr import PortableExpr
    from bayou.spark.portable.merge.sides import Sides
    from bayou.spark.portable.merge.source import PortableSource
    from bayou.spark.portable.text.tree import Expression


def counted_keys(condition: PortableExpr, sides: Sides, snapshot: Snapshot, source: PortableSource) -> tuple[int, Predicate]:
    """Return the number of the source's rows, and a predicate that every row of the table satisfies that matches one of them.

    Runs one job, or two for few rows.

    Args:
        condition: the search condition of the MERGE.
    """
    parts = () if condition.tree is None else conjuncts(condition.tree)
    keys = [key for part in parts if (key := _key(part, sides, snapshot)) is not None]
    if not keys:
        return source.frame.count(), And(())
    try:
        count, values = values_of(source.frame, keys, None)
    except UnicodeDecodeError:  # a string of the source is not UTF-8
        return source.frame.count(), And(())
    if not count:
        return 0, And(())
    found = (condition_of(each.key, of_key) for each, of_key in zip(keys, values, strict=True))
    return count, from_catalyst([text for text in found if text is not None], by_logical_name(snapshot.schema))


def _key(part: Expression, sides: Sides, snapshot: Snapshot) -> SourceKey | None:
    """Return the key of a comparison of two columns, whose types are the same or differ only in their number of digits."""
    # IN with one value is an equality, too.
    if not isinstance(part, Operation) or part.operator not in ("=", "<=>", "in") or len(part.operands) != 2:  # noqa: PLR2004
        return None
    left, right = part.operands
    for ours, theirs in ((left, right), (right, left)):
        if not isinstance(ours, Name) or not isinstance(theirs, Name):
            continue
        own, other = sides.of_table(ours.parts), sides.of_source(theirs.parts)
        if own is None or other is None or len(own) > 1 or len(other) > 1:
            continue
        field, twin = snapshot.schema.field(own[0]), sides.source.field(other[0])
        names = [name.lower() for name in sides.source.names]
        if field is None or twin is None or names.count(other[0].lower()) > 1 or DECLARED_TYPE in field.metadata:
            continue
        kind = twin.type
        if not isinstance(kind, str) or not _compare_alike(kind, field.type):
            continue
        target: Nodes = [{"class": "AttributeReference", "num-children": 0, "name": field.name, "dataType": field.type}]
        key = Key(target, kind, part.operator == "<=>", field.name in snapshot.partition_columns)
        if key.is_supported:
            return SourceKey(key, F.col(copy_of(names.index(other[0].lower()))), None)
    return None


def _compare_alike(one: str, other: DataType) -> bool:
    """Whether Spark compares values of two types as the numbers or strings that they are."""
    if not isinstance(other, str):
        return False
    is_decimal = one.startswith("decimal") and other.startswith("decimal")
    return one == other or (one in INTEGER_BITS and other in INTEGER_BITS) or is_decimal
