# SPDX-License-Identifier: Apache-2.0
"""The keys by which a MERGE's source or a subquery is compared with the table, and the values of these keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.keys.key_conditions import MOST_VALUES, Key, KeyValues

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class SourceKey:
    """An equality between the table and other rows, such as the rows of a MERGE's source.

    Attributes:
        key: the table's side, and how the sides are compared.
        value: the other side. It is NULL in rows that cannot match, because another part of the condition excludes them.
        node: the other side as it is in the condition; None if `value` may be NULL because of another part of the condition.
    """

    key: Key
    value: Column
    node: Any


def values_of(
    frame: DataFrame, keys: Sequence[SourceKey], known: tuple[int, list[KeyValues]] | None
) -> tuple[int, list[KeyValues]]:
    """Return the number of rows, and the values of each key: a range, and a list of the values if they are few.

    Listing values runs one job.

    Args:
        known: the number of rows and the ranges of the keys, for example from footers. If it is None, a job computes them.
    """
    rows = frame.select(*(each.value.alias(f"k{number}") for number, each in enumerate(keys))) if keys else frame
    if known is None:
        count, values, few = _counted(rows, keys)
    else:
        (count, values), few = known, [*range(len(keys))] if 0 < known[0] <= MOST_VALUES else []
    return count, _listed(rows, keys, values, few) if few else values


def _counted(rows: DataFrame, keys: Sequence[SourceKey]) -> tuple[int, list[KeyValues], list[int]]:
    """Return the number of rows, the range of each key, and the numbers of the keys with few values. Runs one job."""
    aggregates = [F.count(F.lit(1))]
    for number, each in enumerate(keys):
        key, name = each.key, f"k{number}"
        aggregates += [F.expr(key.text_of(f"min({name})")), F.expr(key.text_of(f"max({name})")), F.expr(f"count({name})")]
        aggregates.append(F.approx_count_distinct(name) if key.is_partition else F.lit(None))
    count, *aggregated = rows.agg(*aggregates).collect()[0]
    by_key = [aggregated[4 * number : 4 * number + 4] for number in range(len(keys))]
    values = [KeyValues(least, greatest, not_null < count) for least, greatest, not_null, _ in by_key]
    few = [number for number, (*_, distinct) in enumerate(by_key) if 0 < min(count, distinct or count) <= MOST_VALUES]
    return count, values, few


def _listed(rows: DataFrame, keys: Sequence[SourceKey], values: Sequence[KeyValues], few: Sequence[int]) -> list[KeyValues]:
    """Add the lists of values to the keys whose numbers are in `few`. Runs one job."""
    aggregates = [F.expr(f"collect_set({keys[number].key.text_of(f'k{number}')})") for number in few]
    listed = dict(zip(few, rows.agg(*aggregates).collect()[0], strict=True))
    return [replace(each, values=listed.get(number) or None) for number, each in enumerate(values)]
