# SPDX-License-Identifier: Apache-2.0
"""`RowCondition`: the resolved condition of a row change, its checks, and the predicate that prunes files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.plan.predicates.predicate import And, Boolean, Predicate
from bayou.protocol.types.char_varchar import type_with_chars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.expr import Expr


@dataclass(frozen=True, slots=True)
class RowCondition:
    """The condition for the rows that an operation changes. NULL does not match.

    Attributes:
        found: the condition, resolved and simplified by Spark; None if it is a constant.
        always: the value of a constant condition; False if the condition is not constant.
        text: the condition as SQL; None if all rows match.
        predicate: the condition for pruning by partition values and statistics.
        partition_parts: the conjuncts over partition columns only.
        other_parts: the other conjuncts.
        has_subquery: whether the condition contains a subquery.
    """

    found: Expr | None
    always: bool
    text: str | None
    predicate: Predicate
    partition_parts: tuple[Expr, ...] = ()
    other_parts: tuple[Expr, ...] = ()
    has_subquery: bool = False

    @property
    def is_about_partitions(self) -> bool:
        """Return whether only partition values decide, so that in each file either all rows match, or none."""
        return self.found is not None and not self.other_parts

    @property
    def matches(self) -> Column:
        """The condition as a column that is never NULL."""
        if self.found is None:
            return F.lit(self.always)
        return F.coalesce(self.found.column, F.lit(False))

    @property
    def filter(self) -> Column:
        """The condition for a filter, without `coalesce`: Parquet can then skip pages without a matching row."""
        return F.lit(self.always) if self.found is None else self.found.column


def row_condition(snapshot: Snapshot, found: Expr | None) -> RowCondition:
    """Return the condition of a resolved statement. `found` is the simplified expression; None for all rows."""
    if found is None:
        return RowCondition(None, True, None, And(()))
    text = found.sql
    constant = found.constant
    if constant is not None:
        return RowCondition(None, constant, None if constant else text, And(()) if constant else Boolean(value=False))
    conjuncts = found.conjuncts
    by_partition = parts_about_partitions(snapshot, conjuncts)
    others = tuple(part for part in conjuncts if not any(part is each for each in by_partition))
    return RowCondition(found, False, text, found.predicate(snapshot.schema), by_partition, others, found.has_subquery)


def parts_about_partitions(snapshot: Snapshot, parts: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the conjuncts that can be evaluated on the partition values in the log.

    They use only partition columns, and Spark can evaluate them outside a query.
    """
    partitions = _comparable_partition_columns(snapshot)
    names = [{name.lower() for name in part.names} for part in parts]
    by_partition = [part for part, used in zip(parts, names, strict=True) if used and used <= partitions]
    return tuple(part for part in by_partition if not part.needs_query and not part.has_subquery)


def _comparable_partition_columns(snapshot: Snapshot) -> set[str]:
    """Return the partition columns, in lower case, whose values in a query are the same as in the log.

    Columns of type `char` are left out: a query pads their values.
    """
    fields = ((name, snapshot.schema.field(name)) for name in snapshot.partition_columns)
    return {name.lower() for name, field in fields if field is None or type_with_chars(field) is None}


def check_condition(operation: str, found: Expr | None, snapshot: Snapshot | None = None, *, may_query: bool = False) -> None:
    """Check a resolved condition. Run no job.

    Args:
        found: the condition; None checks nothing.
        may_query: whether it may contain subqueries.

    Raises:
        UnsupportedFeatureError: it contains a subquery.
        SchemaMismatchError: it is not a boolean.
    """
    if found is None:
        return
    if not may_query:
        _refuse_subqueries(operation, found, snapshot)
    if not found.is_boolean:
        raise failed(
            "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
            at=snapshot,
            operation=operation,
            condition=found.shown,
            type=found.sql_type,
            problems=("not a boolean",),
        )


def _refuse_subqueries(operation: str, found: Expr, snapshot: Snapshot | None = None) -> None:
    if found.has_subquery:
        raise failed(
            "DELTA_UNSUPPORTED_SUBQUERY/condition",
            at=snapshot,
            operation=operation,
            condition=found.shown,
            features=("subquery",),
        )
