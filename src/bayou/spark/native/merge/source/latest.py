# SPDX-License-Identifier: Apache-2.0
"""Keep the latest row for each key of a MERGE's source, for `keep="latest"`: a table row then has at most one match."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, Window
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.core import nodes
from bayou.spark.native.dml.key_columns import only_of
from bayou.spark.native.session.jvm import jvm_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.native.merge.resolution.resolved import Resolution
    from bayou.spark.session.application import Application

_RANK: Final = "__bayou_rank"


def latest_rows(
    application: Application, given: DataFrame, resolution: Resolution, snapshot: Snapshot, order_by: str | Column
) -> DataFrame:
    """Return the rows of a source without rows that are older than another row with the same key.

    The key consists of the expressions that the condition compares with columns of the table for equality. A row whose key is NULL
    matches nothing and stays, unless the condition treats NULL as equal to NULL. If several rows are the latest, all of them stay.

    Args:
        order_by: the column that orders the rows. NULL counts as the oldest.

    Raises:
        InvalidOptionError: the condition has other parts than equalities and conditions on the table, or the order has a direction.
    """
    jvm = jvm_of(application)
    source, target = (catalyst.ids_of(jvm, side) for side in (resolution.sides.source, resolution.sides.target))
    keys: list[tuple[Column, bool]] = []
    for part in nodes.conjuncts(jvm, resolution.condition):
        key = _key(application, part, source, target)
        if key is not None:
            keys.append((nodes.column(jvm, key[0]), key[1]))
        elif not only_of(application, part, target):
            raise failed("DELTA_ILLEGAL_OPTION/keep-latest", at=snapshot, option="keep", condition=nodes.text_of(part))
    columns = [column for column, _ in keys]
    order = F.expr(order_by) if isinstance(order_by, str) else order_by
    _check_order(application, given, order, snapshot)
    ranked = given.select("*", F.rank().over(Window.partitionBy(*columns).orderBy(order.desc_nulls_last())).alias(_RANK))
    never_match = [column.isNull() for column, null_safe in keys if not null_safe]
    return ranked.where(reduce(or_, never_match, F.col(_RANK) == 1)).drop(_RANK)


def _check_order(application: Application, given: DataFrame, order: Column, snapshot: Snapshot) -> None:
    if nodes.is_ordered_or_named(nodes.expression(jvm_of(application), given.sparkSession, order)):
        raise failed("DELTA_ILLEGAL_OPTION/latest-by", at=snapshot, option="by")


def _key(
    application: Application, part: JavaObject, source: frozenset[int], target: frozenset[int]
) -> tuple[JavaObject, bool] | None:
    """Return the source's side of an equality with the table, and whether NULL equals NULL; None for other conditions."""
    equality = nodes.equality_of(part)
    if equality is None:
        return None
    left, right, null_safe = equality
    for ours, theirs in ((left, right), (right, left)):
        if only_of(application, ours, target) and only_of(application, theirs, source):
            return theirs, null_safe
    return None
