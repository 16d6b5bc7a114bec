# SPDX-License-Identifier: Apache-2.0
"""`NativeExpr`: an expression that Spark has resolved, as a node of Catalyst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from bayou.spark.expressions.predicates import by_logical_name, from_catalyst
from bayou.spark.jvm.catalyst.expression_list import ExpressionList
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.adapters import described

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

    from bayou.plan.predicates.predicate import Predicate
    from bayou.protocol.types.schema import StructType
    from bayou.spark.expr import Expr
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm


@dataclass(frozen=True, slots=True, eq=False)
class NativeExpr:
    """An implementation of `Expr`. Every question calls the JVM.

    Attributes:
        jvm: the bridge.
        found: the node.
    """

    jvm: Jvm
    found: JavaObject

    @classmethod
    def of(cls, jvm: Jvm, found: JavaObject | None) -> NativeExpr | None:
        """Return an expression, or None without one."""
        return None if found is None else cls(jvm, found)

    @property
    def sql(self) -> str:
        """The expression as SQL, with its columns not qualified by the table."""
        return nodes.sql_of(self.jvm, self.found)

    @property
    def shown(self) -> str:
        """The expression for users."""
        return nodes.text_of(self.found)

    @property
    def sql_type(self) -> str:
        """Its type in SQL."""
        return nodes.sql_type_of(self.found)

    @property
    def is_boolean(self) -> bool:
        """Whether it is a condition."""
        return nodes.is_boolean(self.found)

    @property
    def constant(self) -> bool | None:
        """Whether a condition is true for every row; None if it depends on the row."""
        return nodes.constant(self.found)

    @property
    def conjuncts(self) -> Sequence[Expr]:
        """The conditions whose conjunction is the condition."""
        return [NativeExpr(self.jvm, part) for part in nodes.conjuncts(self.jvm, self.found)]

    @property
    def names(self) -> frozenset[str]:
        """The names of the columns that it uses."""
        return frozenset(nodes.names_of(self.jvm, self.found))

    @property
    def has_subquery(self) -> bool:
        """Whether it contains a subquery."""
        return nodes.has_subquery(self.found)

    @property
    def needs_query(self) -> bool:
        """Whether it calls Python functions."""
        return nodes.calls_python(self.found)

    @property
    def calls_foreign_code(self) -> bool:
        """Whether it calls a user-defined function or a Java method."""
        return ExpressionList.of(self.jvm, [self.found]).calls_foreign_code

    @property
    def column(self) -> Column:
        """The expression as one of PySpark's columns."""
        return nodes.column(self.jvm, self.found)

    def predicate(self, schema: StructType) -> Predicate:
        """Return the condition for pruning."""
        return from_catalyst([described(self.jvm, self.found)], by_logical_name(schema))


def node_of(given: Expr) -> JavaObject:
    """Return the node of an expression of a classic session."""
    return cast("NativeExpr", given).found
