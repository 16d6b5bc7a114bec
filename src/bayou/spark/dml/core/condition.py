# SPDX-License-Identifier: Apache-2.0
"""The condition of a DELETE or an UPDATE: resolved by Spark, checked, and as a predicate that files are skipped by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import SchemaMismatchError, UnsupportedFeatureError
from bayou.plan.predicates.predicate import And, Boolean, Predicate
from bayou.protocol.types.char_varchar import type_with_chars
from bayou.spark.expressions.predicates import by_logical_name, from_catalyst
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.adapters import described

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm
    from bayou.spark.session.application import Application


@dataclass(frozen=True, slots=True)
class RowCondition:
    """Which rows an operation changes: those for which the condition is true. NULL is not true.

    Attributes:
        found: the condition as Spark resolved and simplified it; None where it is the same for every row.
        always: whether it is true for every row, where it is the same for all.
        text: it as SQL; None where there is none.
        predicate: what it says to skipping.
        partition_parts: those of its parts that look at partition columns and at nothing else.
        other_parts: the others; all have to be true.
        has_subquery: whether there is a subquery in it.
    """

    found: JavaObject | None
    always: bool
    text: str | None
    predicate: Predicate
    partition_parts: tuple[JavaObject, ...] = ()
    other_parts: tuple[JavaObject, ...] = ()
    has_subquery: bool = False

    @property
    def is_about_partitions(self) -> bool:
        """Whether the partition values alone tell which rows are meant, so that each file is meant wholly or not at all."""
        return self.found is not None and not self.other_parts

    def matches(self, jvm: Jvm) -> Column:
        """Whether a row is meant, as a column that is never NULL."""
        if self.found is None:
            return F.lit(self.always)
        return F.coalesce(nodes.column(jvm, self.found), F.lit(False))

    def filter(self, jvm: Jvm) -> Column:
        """The same for a filter, to which NULL is not true: Spark passes over the pages of files in which no row is meant."""
        return F.lit(self.always) if self.found is None else nodes.column(jvm, self.found)


def row_condition(application: Application, snapshot: Snapshot, found: JavaObject | None) -> RowCondition:
    """The condition of a resolved statement.

    Args:
        found: the condition, simplified; None for all rows.
    """
    if found is None:
        return RowCondition(None, True, None, And(()))
    jvm = application.jvm
    text = nodes.sql_of(jvm, found)
    constant = nodes.constant(found)
    if constant is not None:
        return RowCondition(None, constant, None if constant else text, And(()) if constant else Boolean(value=False))
    parts = nodes.conjuncts(jvm, found)
    decided = parts_about_partitions(jvm, snapshot, parts)
    others = tuple(part for part in parts if not any(part is each for each in decided))  # equality would ask the JVM
    return RowCondition(found, False, text, _predicate(application, snapshot, found), decided, others, nodes.has_subquery(found))


def parts_about_partitions(jvm: Jvm, snapshot: Snapshot, parts: Sequence[JavaObject]) -> tuple[JavaObject, ...]:
    """Those parts of a condition that the partition values of the log decide.

    They look at partition columns and at nothing else, and Spark can evaluate them outside of a query.
    """
    partitions = _comparable_partition_columns(snapshot)
    names = [{name.lower() for name in nodes.names_of(jvm, part)} for part in parts]
    about = [part for part, used in zip(parts, names, strict=True) if used and used <= partitions]
    return tuple(part for part in about if not nodes.calls_python(part) and not nodes.has_subquery(part))


def _comparable_partition_columns(snapshot: Snapshot) -> set[str]:
    """The partition columns, in lower case, that conditions compare with the values as the log has them.

    Those of chars are not among them: a query pads their values.
    """
    found = ((name, snapshot.schema.field(name)) for name in snapshot.partition_columns)
    return {name.lower() for name, field in found if field is None or type_with_chars(field) is None}


def check_condition(operation: str, found: JavaObject | None, snapshot: Snapshot | None = None, *, may_query: bool = False) -> None:
    """Refuses what can be no condition; nothing is run for it.

    Args:
        found: the condition, resolved; None for none.
        may_query: whether subqueries may be in it.

    Raises:
        UnsupportedFeatureError: there is a subquery in it.
        SchemaMismatchError: it is no condition.
    """
    if found is None:
        return
    if not may_query:
        _refuse_subqueries(operation, found, snapshot)
    if not nodes.is_boolean(found):
        raise SchemaMismatchError(
            f"The condition {nodes.text_of(found)} of the {operation} is of type {nodes.sql_type_of(found)} and not a boolean.",
            at=snapshot,
            error_class="DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
            problems=("not a boolean",),
        )


def _refuse_subqueries(operation: str, found: JavaObject, snapshot: Snapshot | None = None) -> None:
    """Refuses a condition with a subquery.

    Raises:
        UnsupportedFeatureError: there is one in it.
    """
    if nodes.has_subquery(found):
        raise UnsupportedFeatureError(
            f"Subqueries are not supported in the {operation} (condition = {nodes.text_of(found)}).",
            at=snapshot,
            error_class="DELTA_UNSUPPORTED_SUBQUERY",
            features=["subquery"],
            next_step="collect the subquery's values first, or use MERGE.",
        )


def _predicate(application: Application, snapshot: Snapshot, found: JavaObject) -> Predicate:
    return from_catalyst([described(application.jvm, found)], by_logical_name(snapshot.schema))
