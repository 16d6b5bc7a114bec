# SPDX-License-Identifier: Apache-2.0
"""Keep lists of expressions in the JVM, so that operations on them need no py4j call for each expression.

A statement over a table with thousands of columns has thousands of expressions.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, overload

from pyspark.sql import DataFrame

from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.session import dataset, java_session
from bayou.spark.jvm.relations.own_sql import DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

ADAPTER: Final = "bayou.Columns"


@dataclass(frozen=True, slots=True)
class Own:
    """SQL of bayou or of a table."""

    text: str


@dataclass(frozen=True, slots=True)
class Named:
    """An unresolved column, by its name in SQL, quoted if necessary."""

    name: str


class ExpressionList(Sequence["JavaObject"]):
    """A sequence of Catalyst expressions. Each access to one of them is a py4j call.

    Attributes:
        java: the `java.util.List` that holds them.
    """

    def __init__(self, jvm: Jvm, java: JavaObject) -> None:
        self._jvm = jvm
        self.java = java
        self._size = int(java.size())

    @classmethod
    def of(cls, jvm: Jvm, expressions: Iterable[JavaObject]) -> ExpressionList:
        """Collect expressions that Python holds one by one."""
        return cls(jvm, jvm.java_list(expressions))

    @classmethod
    def made(cls, jvm: Jvm, spark: SparkSession, items: Sequence[Any]) -> ExpressionList:
        """Create unresolved expressions.

        Args:
            items: SQL of a user, `Own` SQL, columns as `Named` or as tuples of the parts of their names, PySpark's columns, or
                expressions.
        """
        others = jvm.java_list(
            nodes.expression(jvm, spark, item) for item in items if not isinstance(item, (str, tuple, Named, Own))
        )
        described = json.dumps([_described(item) for item in items])
        return cls(jvm, jvm.static(ADAPTER).made(described, others, java_session(spark), DEFAULTS))

    @classmethod
    def output(cls, jvm: Jvm, columns: JavaObject) -> ExpressionList:
        """Return the columns of a plan."""
        return cls(jvm, jvm.static(ADAPTER).listOf(columns))

    @classmethod
    def joined(cls, jvm: Jvm, lists: Iterable[ExpressionList]) -> ExpressionList:
        """Concatenate lists."""
        together = jvm.static("java.util.ArrayList")()
        for each in lists:
            together.addAll(each.java)
        return cls(jvm, together)

    @overload
    def __getitem__(self, place: int) -> JavaObject: ...

    @overload
    def __getitem__(self, place: slice) -> ExpressionList: ...

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            start, stop, _ = place.indices(self._size)
            return ExpressionList(self._jvm, self.java.subList(start, max(start, stop)))
        if not 0 <= place < self._size:
            raise IndexError(place)
        return self.java.get(place)

    def __len__(self) -> int:
        return self._size

    def column(self, place: int) -> Column:
        """Return one of them as one of PySpark's columns."""
        return nodes.column(self._jvm, self[place])

    @property
    def trees(self) -> list[str]:
        """Each expression as Catalyst's JSON."""
        return self._ask("trees")

    @property
    def types(self) -> list[str]:
        """JSON of the type of each expression."""
        return self._ask("types")

    @property
    def defaults(self) -> list[int]:
        """The positions of the parsed word DEFAULT."""
        return [int(each) for each in self._ask("defaults")]

    @property
    def has_subquery(self) -> bool:
        """Whether any of them contains a subquery."""
        return any(map(nodes.is_subquery, self._node_names))

    @property
    def calls_user_defined(self) -> bool:
        """Whether any of them calls a user-defined function."""
        return any(map(nodes.is_user_defined, self._node_names))

    @property
    def calls_foreign_code(self) -> bool:
        """Whether any of them calls a user-defined function, or a Java method, as catalog functions and some of Spark's do."""
        return any(nodes.is_user_defined(name) or "Invoke" in name for name in self._node_names)

    @property
    def _node_names(self) -> list[str]:
        return self._ask("nodes")

    def used(self, columns: JavaObject) -> ExpressionList:
        """Return those of some columns that the expressions use, in order of use."""
        return ExpressionList(self._jvm, self._static.used(self.java, columns))

    def as_given(self) -> ExpressionList:
        """Return the expressions without Spark's own checks for NULL."""
        return ExpressionList(self._jvm, self._static.asGiven(self.java))

    def with_named_overflow(self, names: Sequence[str]) -> ExpressionList:
        """Return the expressions with errors that name the columns for which Spark cast them."""
        return ExpressionList(self._jvm, self._static.withNamedOverflow(self.java, json.dumps(names)))

    def selected(self, spark: SparkSession, plan: JavaObject) -> DataFrame:
        """Return a projection of a plan to the expressions, each of which is a column."""
        return DataFrame(dataset(self._jvm, java_session(spark), self.projection(plan)), spark)

    def projection(self, plan: JavaObject) -> JavaObject:
        """Return the unresolved node of such a projection."""
        return self._static.project(self.java, plan)

    def aliased(self, prefix: str) -> ExpressionList:
        """Return the expressions as columns whose names are a prefix and a number."""
        return ExpressionList(self._jvm, self._static.aliased(self.java, prefix))

    @property
    def _static(self) -> JavaObject:
        return self._jvm.static(ADAPTER)

    def _ask(self, question: str) -> list[str]:
        return str(getattr(self._static, question)(self.java)).split("\0")[:-1]


def names_of_output(jvm: Jvm, columns: JavaObject) -> list[str]:
    """Return the names of a plan's columns."""
    return str(jvm.static(ADAPTER).names(columns)).split("\0")[:-1]


def ids_of_output(jvm: Jvm, columns: JavaObject) -> frozenset[int]:
    """Return the ids of a plan's columns."""
    return frozenset(map(int, str(jvm.static(ADAPTER).ids(columns)).split("\0")[:-1]))


def _described(item: Any) -> Any:
    if isinstance(item, str):
        return {"sql": item}
    if isinstance(item, Own):
        return {"own": item.text}
    if isinstance(item, Named):
        return {"name": item.name}
    return list(item) if isinstance(item, tuple) else None
