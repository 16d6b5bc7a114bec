# SPDX-License-Identifier: Apache-2.0
"""Keep the latest row for each key of a MERGE's source, for `keep="latest"`: a table row then has at most one match."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.protocol.types.traverse import as_nullable
from bayou.spark.portable.client import alias_of, message_of
from bayou.spark.portable.dml.expr import PortableExpr, Scope
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.facts import conjuncts, facts_of
from bayou.spark.portable.text.tree import Operation, UnreadableTextError
from bayou.spark.portable.text.written import written
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from bayou.errors import DeltaError
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructType
    from bayou.spark.dml.merge.execute import MergeRequest
    from bayou.spark.portable.text.tree import Expression

_RANK: Final = "__bayou_rank"
_ORDERED: Final = frozenset({"sort_order", "alias"})


def latest_rows(request: MergeRequest, snapshot: Snapshot) -> DataFrame:
    """Return the rows of a source without rows that are older than another row with the same key.

    The key consists of the expressions that the condition compares with columns of the table for equality. A row whose key is NULL
    matches nothing and stays, unless the condition treats NULL as equal to NULL. If several rows are the latest, all of them stay.

    Raises:
        InvalidOptionError: the condition has other parts than equalities and conditions on the table, or the order has a direction.
    """
    given = request.source
    sides = _Sides(request, snapshot, as_nullable(readable_schema(request.target.application.backend.columns_of(given))))
    keys = sides.keys()
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
    if not is_plain or order is None or message_of(order, request.target.spark).WhichOneof("expr_type") in _ORDERED:
        raise failed("DELTA_ILLEGAL_OPTION/latest-by", at=snapshot, option="by")
    return order


class _Sides:
    """Tells whether a part of the condition is about the table or about the source."""

    def __init__(self, request: MergeRequest, snapshot: Snapshot, source: StructType) -> None:
        self._request, self._snapshot, self._source = request, snapshot, source
        self._alias = alias_of(request.source)

    def keys(self) -> list[tuple[Column, bool]]:
        """Return the source's sides of the equalities with the table, and whether NULL equals NULL."""
        request = self._request
        made = PortableExpr.of(
            request.condition, Scope(self._snapshot.schema, request.name, request.settings, request.target.spark)
        )
        if made.tree is None:
            raise self._refused(made.shown)
        found: list[tuple[Column, bool]] = []
        for part in conjuncts(made.tree):
            key = self._key(part)
            if key is not None:
                found.append((self._column(made.given, key[0]), key[1]))
            elif not self._is_of(part, of_table=True):
                raise self._refused(made.shown)
        return found

    def _key(self, part: Expression) -> tuple[Expression, bool] | None:
        if not isinstance(part, Operation) or part.operator not in ("=", "<=>"):
            return None
        left, right = part.operands
        for ours, theirs in ((left, right), (right, left)):
            if self._is_of(ours, of_table=True) and self._is_of(theirs, of_table=False):
                return theirs, part.operator == "<=>"
        return None

    def _is_of(self, node: Expression, *, of_table: bool) -> bool:
        """Whether an expression is deterministic, reads at least one column, and reads only columns of one side."""
        facts = facts_of(node, "")
        if not facts.is_deterministic or facts.has_subquery or not facts.parsed.columns:
            return False
        return all(self._side(path) is of_table for path in facts.parsed.columns)

    def _side(self, path: tuple[str, ...]) -> bool | None:
        """Whether a column is the table's; False if it is the source's, and None if it may be either's."""
        table, source = self._snapshot.schema, self._source
        first, second = path[0], path[1] if len(path) > 1 else ""
        name = self._request.name[-1] if self._request.name else None
        if second and name is not None and first.lower() == name.lower() and table.field(second) is not None:
            return True
        if second and self._alias is not None and first.lower() == self._alias.lower() and source.field(second) is not None:
            return False
        is_of = table.field(first) is not None, source.field(first) is not None
        return is_of[0] if is_of[0] != is_of[1] else None

    def _column(self, given: Any, node: Expression) -> Column:
        if isinstance(given, str):
            return F.expr(given[node.start : node.end])
        try:
            return F.expr(written(node))
        except UnreadableTextError as error:
            raise self._refused(str(error)) from None

    def _refused(self, shown: str) -> DeltaError:
        return failed("DELTA_ILLEGAL_OPTION/keep-latest", at=self._snapshot, option="keep", condition=shown)
