# SPDX-License-Identifier: Apache-2.0
"""A resolved expression of a user over a table's columns, as generic code sees it.

A classic session has it as a node of Catalyst, a session of Spark Connect as SQL text or as one of PySpark's columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

    from bayou.plan.predicates.predicate import Predicate
    from bayou.protocol.types.schema import StructType


class Expr(Protocol):
    """An expression. What is not known for certain is answered with care: it may call foreign code, and it prunes nothing."""

    @property
    def sql(self) -> str:
        """The expression as SQL, with its columns not qualified by the table."""
        ...

    @property
    def shown(self) -> str:
        """The expression for users."""
        ...

    @property
    def sql_type(self) -> str:
        """Its type in SQL."""
        ...

    @property
    def is_boolean(self) -> bool:
        """Whether it is a condition. A plain NULL is a condition."""
        ...

    @property
    def constant(self) -> bool | None:
        """Whether a condition is true for every row; None if it depends on the row."""
        ...

    @property
    def conjuncts(self) -> Sequence[Expr]:
        """The conditions whose conjunction is the condition."""
        ...

    @property
    def names(self) -> frozenset[str]:
        """The names of the columns that it uses."""
        ...

    @property
    def has_subquery(self) -> bool:
        """Whether it contains a subquery."""
        ...

    @property
    def needs_query(self) -> bool:
        """Whether Spark can only evaluate it in a query over the table, as a function in Python."""
        ...

    @property
    def calls_foreign_code(self) -> bool:
        """Whether it may call a user's function, so that it may give another value at each evaluation."""
        ...

    @property
    def column(self) -> Column:
        """The expression over the rows of its statement, as one of PySpark's columns."""
        ...

    def predicate(self, schema: StructType) -> Predicate:
        """Return the condition for pruning by partition values and statistics.

        Args:
            schema: the table's columns.
        """
        ...
