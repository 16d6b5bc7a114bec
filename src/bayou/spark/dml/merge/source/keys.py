# SPDX-License-Identifier: Apache-2.0
"""The keys of a MERGE's source: what its condition equates with the table's columns, and which values they have."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.merge.source.key_conditions import MOST_VALUES, Key, KeyValues
from bayou.spark.expressions.predicates import path_of
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst.expression_list import ExpressionList
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.adapters import described

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.dml.merge.resolution.resolved import Resolution
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


@dataclass(frozen=True, slots=True)
class SourceKey:
    """An equality of a MERGE's condition.

    Attributes:
        key: the table's side, and how the sides are compared.
        value: the source's side: NULL where a part of the condition about the source alone is not true.
        node: the source's side as it stands in the condition, where nothing makes it NULL; None elsewhere.
    """

    key: Key
    value: Column
    node: JavaObject | None


def keys_of(application: Application, resolution: Resolution, snapshot: Snapshot, source: frozenset[int]) -> list[SourceKey]:
    """The equalities of a MERGE's condition between the table and the source.

    Args:
        application: the Spark application.
        resolution: the MERGE.
        snapshot: the table's state.
        source: the ids of the source's columns.
    """
    jvm = application.jvm
    target = catalyst.ids_of(jvm, resolution.sides.target)
    partitions = {name.lower() for name in snapshot.partition_columns}
    parts = nodes.conjuncts(jvm, resolution.condition)
    own = [part for part in parts if only_of(application, part, source)]
    # Others' functions are called for each row, whatever stands before them, and may cost more than they save.
    guards = [nodes.column(jvm, part) for part in own if not ExpressionList.of(jvm, [part]).calls_foreign_code]
    found = []
    for part in parts:
        equality = nodes.equality_of(part)
        if equality is None:
            continue
        left, right, null_safe = equality
        for ours, theirs in ((left, right), (right, left)):
            if not only_of(application, ours, target) or not only_of(application, theirs, source):
                continue
            kind = json.loads(nodes.type_of(ours))
            if not isinstance(kind, str):
                continue
            tree = json.loads(described(application.jvm, ours))
            path = path_of(json.dumps(tree))
            is_partition = path is not None and len(path) == 1 and path[0].lower() in partitions
            key = Key(tree, kind, null_safe, is_partition)
            if key.is_told:
                node = None if guards else theirs
                found.append(SourceKey(key, _guarded(nodes.column(jvm, theirs), guards), node))
    return found


def _guarded(value: Column, guards: Sequence[Column]) -> Column:
    """A value of the rows for which all of some conditions are true: the others match nothing, and may not have it."""
    if not guards:
        return value
    holds = guards[0]
    for each in guards[1:]:
        holds = holds & each
    return F.when(holds, value)


def only_of(application: Application, found: JavaObject, ids: frozenset[int]) -> bool:
    """Whether an expression is about some columns, no others, and gives the same each time."""
    if not nodes.is_deterministic(found):
        return False
    references = nodes.references_of(application.jvm, found)
    return bool(references) and all(each.exprId().id() in ids for each in references)


def values_of(frame: DataFrame, keys: Sequence[SourceKey], told: tuple[int, list[KeyValues]] | None) -> tuple[int, list[KeyValues]]:
    """How many rows a source has, and what values its keys have: their ranges, or all of them where they are few.

    Args:
        frame: the rows.
        keys: the keys.
        told: how many rows and which ranges there are, where that is known; else it costs a job.

    Returns:
        The number of rows, and what is known of each key. Where all values are told, that is one more job.
    """
    rows = frame.select(*(each.value.alias(f"k{number}") for number, each in enumerate(keys))) if keys else frame
    if told is None:
        count, values, few = _counted(rows, keys)
    else:
        (count, values), few = told, [*range(len(keys))] if 0 < told[0] <= MOST_VALUES else []
    return count, _listed(rows, keys, values, few) if few else values


def _counted(rows: DataFrame, keys: Sequence[SourceKey]) -> tuple[int, list[KeyValues], list[int]]:
    """How many rows there are, the range of each key, and which keys have few values, in one job."""
    wanted = [F.count(F.lit(1))]
    for number, each in enumerate(keys):
        key, name = each.key, f"k{number}"
        wanted += [F.expr(key.text_of(f"min({name})")), F.expr(key.text_of(f"max({name})")), F.expr(f"count({name})")]
        wanted.append(F.approx_count_distinct(name) if key.is_partition else F.lit(None))
    count, *facts = rows.agg(*wanted).collect()[0]
    told = [facts[4 * number : 4 * number + 4] for number in range(len(keys))]
    values = [KeyValues(least, greatest, known < count) for least, greatest, known, _ in told]
    few = [number for number, (*_, distinct) in enumerate(told) if 0 < min(count, distinct or count) <= MOST_VALUES]
    return count, values, few


def _listed(rows: DataFrame, keys: Sequence[SourceKey], values: Sequence[KeyValues], few: Sequence[int]) -> list[KeyValues]:
    """The same with the values of some keys: those with few of them, as far as is known without collecting them."""
    wanted = [F.expr(f"collect_set({keys[number].key.text_of(f'k{number}')})") for number in few]
    found = dict(zip(few, rows.agg(*wanted).collect()[0], strict=True))
    return [replace(each, values=found.get(number) or None) for number, each in enumerate(values)]
