# SPDX-License-Identifier: Apache-2.0
"""The keys by which rows are compared with a table's rows, and their values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.keys.key_conditions import MOST_VALUES, Key, KeyValues
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.relations.plans import id_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


@dataclass(frozen=True, slots=True)
class SourceKey:
    """An equality between the table and other rows, as those of a MERGE's source.

    Attributes:
        key: the table's side, and how the sides are compared.
        value: the other side; NULL if a part of the condition about the other rows alone is not true.
        node: the other side as it stands in the condition; None if something else in the condition may make it NULL.
    """

    key: Key
    value: Column
    node: JavaObject | None


def only_of(application: Application, found: JavaObject, ids: frozenset[int]) -> bool:
    """Whether an expression reads some columns, no other ones, and is deterministic."""
    if not nodes.is_deterministic(found):
        return False
    references = nodes.references_of(application.jvm, found)
    return bool(references) and all(id_of(each) in ids for each in references)


def values_of(
    frame: DataFrame, keys: Sequence[SourceKey], known: tuple[int, list[KeyValues]] | None
) -> tuple[int, list[KeyValues]]:
    """Return the number of rows, and the values of each key: a range, or a list if there are few.

    Args:
        known: the number of rows and the ranges of the keys, if they are known. Otherwise a job counts them.

    Listing values costs one more job.
    """
    rows = frame.select(*(each.value.alias(f"k{number}") for number, each in enumerate(keys))) if keys else frame
    if known is None:
        count, values, few = _counted(rows, keys)
    else:
        (count, values), few = known, [*range(len(keys))] if 0 < known[0] <= MOST_VALUES else []
    return count, _listed(rows, keys, values, few) if few else values


def _counted(rows: DataFrame, keys: Sequence[SourceKey]) -> tuple[int, list[KeyValues], list[int]]:
    """Return the number of rows, the range of each key, and which keys have few values. Costs one job."""
    wanted = [F.count(F.lit(1))]
    for number, each in enumerate(keys):
        key, name = each.key, f"k{number}"
        wanted += [F.expr(key.text_of(f"min({name})")), F.expr(key.text_of(f"max({name})")), F.expr(f"count({name})")]
        wanted.append(F.approx_count_distinct(name) if key.is_partition else F.lit(None))
    count, *facts = rows.agg(*wanted).collect()[0]
    of_keys = [facts[4 * number : 4 * number + 4] for number in range(len(keys))]
    values = [KeyValues(least, greatest, known < count) for least, greatest, known, _ in of_keys]
    few = [number for number, (*_, distinct) in enumerate(of_keys) if 0 < min(count, distinct or count) <= MOST_VALUES]
    return count, values, few


def _listed(rows: DataFrame, keys: Sequence[SourceKey], values: Sequence[KeyValues], few: Sequence[int]) -> list[KeyValues]:
    """Add the lists of values of some keys. Costs one job."""
    wanted = [F.expr(f"collect_set({keys[number].key.text_of(f'k{number}')})") for number in few]
    found = dict(zip(few, rows.agg(*wanted).collect()[0], strict=True))
    return [replace(each, values=found.get(number) or None) for number, each in enumerate(values)]
