# SPDX-License-Identifier: Apache-2.0
"""Keep the latest row for each key of a MERGE's source, for `keep="latest"`: a table row then has at most one match."""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.protocol.types.traverse import as_nullable
from bayou.spark.portable.client import alias_of, message_of
from bayou.spark.portable.dml.expr import PortableExpr, Scope
from bayou.spark.portable.merge.sides import Sides
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.facts import conjuncts
from bayou.spark.portable.text.tree import Operation, UnreadableTextError
from bayou.spark.portable.text.written import written
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from bayou.errors import DeltaError
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.dml.merge.execute import MergeRequest
    from bayou.spark.portable.text.tree import Expression

_RANK: Final = "__bayou_rank"
_ORDERED: Final = frozenset({"sort_order", "alias"})
_SHOWN: Final = re.compile(r" (ASC|DESC) NULLS (FIRST|LAST)'>$| AS [^ ()]+'>$")
"""The end of a column with a direction or a name, as a classic session shows it."""


def latest_rows(request: MergeRequest, snapshot: Snapshot) -> DataFrame:
    """Return the rows of a source without rows that are older than another row with the same key.

    The key consists of the expressions that the condition compares with columns of the table for equality. A row whose key is NULL
    matches nothing and stays, unless the condition treats NULL as equal to NULL. If several rows are the latest, all of them stay.

    Raises:
        InvalidOptionError: the condition has other parts than equalities and conditions on the table, or the order has a direction.
    """
    given = request.source
    columns_of_source = as_nullable(readable_schema(request.target.application.backend.columns_of(given)))
    keys = _keys(request, snapshot, Sides(snapshot.schema, request.name, columns_of_source, alias_of(given)))
    order = _order(request, snapshot)
    columns = [column for column, _ in keys]
    never_match = [column.isNull() for column, null_safe in keys if not null_safe]
    is_latest = F.rank().over(Window.partitionBy(*columns).orderBy(order.desc_nulls_last())) == 1
    # The keys may name columns by the alias of the source, which a projection no longer has.
    marked = given.select("*", reduce(or_, never_match, is_latest).alias(_RANK))
    return marked.where(F.col(_RANK)).drop(_RANK)


def _order(request: MergeRequest, snapshot: Snapshot) -> Column:
    """Return the column that orders the rows."""
    given = request.latest_by
    try:
        order = F.expr(given) if isinstance(given, str) else given
        is_plain = order is not None and (not isinstance(given, str) or read_expression(given) is not None)
    except UnreadableTextError:
        is_plain = False
    message = None if order is None else message_of(order, request.target.spark)
    is_ordered = message.WhichOneof("expr_type") in _ORDERED if message is not None else _SHOWN.search(str(order)) is not None
    if not is_plain or order is None or is_ordered:
        raise failed("DELTA_ILLEGAL_OPTION/latest-by", at=snapshot, option="by")
    return order


def _keys(request: MergeRequest, snapshot: Snapshot, sides: Sides) -> list[tuple[Column, bool]]:
    """Return the source's sides of the equalities with the table, and whether NULL equals NULL."""
    scope = Scope(snapshot.schema, request.name, request.settings, request.target.spark)
    made = PortableExpr.of(request.condition, scope)
    if made.tree is None:
        raise _refused(made.shown, snapshot)
    found: list[tuple[Column, bool]] = []
    for part in conjuncts(made.tree):
        key = _key(part, sides)
        if key is not None:
            found.append((_column(made.given, key[0], snapshot), key[1]))
        elif not sides.is_only_of(part, table=True):
            raise _refused(made.shown, snapshot)
    return found


def _key(part: Expression, sides: Sides) -> tuple[Expression, bool] | None:
    if not isinstance(part, Operation) or part.operator not in ("=", "<=>"):
        return None
    left, right = part.operands
    for ours, theirs in ((left, right), (right, left)):
        if sides.is_only_of(ours, table=True) and sides.is_only_of(theirs, table=False):
            return theirs, part.operator == "<=>"
    return None


def _column(given: Any, node: Expression, snapshot: Snapshot) -> Column:
    if isinstance(given, str):
        return F.expr(given[node.start : node.end])
    try:
        return F.expr(written(node))
    except UnreadableTextError as error:
        raise _refused(str(error), snapshot) from None


def _refused(shown: str, snapshot: Snapshot) -> DeltaError:
    return failed("DELTA_ILLEGAL_OPTION/keep-latest", at=snapshot, option="keep", condition=shown)
