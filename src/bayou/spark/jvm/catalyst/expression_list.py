# SPDX-License-Identifier: Apache-2.0
"""Lists of expressions that stay in the JVM: what is made of them, and asked of them, takes no py4j call for each.

A statement over a table of thousands of columns has thousands of them.
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

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

ADAPTER: Final = "bayou.Columns"


@dataclass(frozen=True, slots=True)
class Own:
    """An expression of bayou's own, or of a table.

    Attributes:
        text: its SQL.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Named:
    """A column, not resolved.

    Attributes:
        name: its name as SQL has it, with quotes where it needs them.
    """

    name: str


class ExpressionList(Sequence[Any]):
    """Expressions of Catalyst. To look at one of them is a py4j call.

    Attributes:
        java: the `java.util.List` that they are in.
    """

    def __init__(self, jvm: Jvm, java: JavaObject) -> None:
        self._jvm = jvm
        self.java = java
        self._size = int(java.size())

    @classmethod
    def of(cls, jvm: Jvm, expressions: Iterable[JavaObject]) -> ExpressionList:
        """Expressions that Python has one by one."""
        return cls(jvm, jvm.java_list(expressions))

    @classmethod
    def made(cls, jvm: Jvm, spark: SparkSession, items: Sequence[Any]) -> ExpressionList:
        """Expressions that are not resolved.

        Args:
            items: SQL of a user's, `Own` SQL, columns by their `Named` or by the parts of their names in a tuple, PySpark's
                columns, or expressions.
        """
        others = jvm.java_list(
            nodes.expression(jvm, spark, each) for each in items if not isinstance(each, (str, tuple, Named, Own))
        )
        described = json.dumps([_described(each) for each in items])
        return cls(jvm, jvm.static(ADAPTER).made(described, others, java_session(spark), DEFAULTS))

    @classmethod
    def output(cls, jvm: Jvm, columns: JavaObject) -> ExpressionList:
        """The columns of a plan."""
        return cls(jvm, jvm.static(ADAPTER).listOf(columns))

    @classmethod
    def joined(cls, jvm: Jvm, lists: Iterable[ExpressionList]) -> ExpressionList:
        """All expressions of some lists."""
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

    @property
    def trees(self) -> list[str]:
        """Each as Catalyst's JSON."""
        return self._told("trees")

    @property
    def types(self) -> list[str]:
        """JSON of the type of each."""
        return self._told("types")

    @property
    def defaults(self) -> list[int]:
        """Which of them are the word DEFAULT, parsed."""
        return [int(each) for each in self._told("defaults")]

    @property
    def has_subquery(self) -> bool:
        """Whether there is a subquery in any of them."""
        return any(map(nodes.is_subquery, self._node_names))

    @property
    def calls_user_defined(self) -> bool:
        """Whether any of them calls a function that a program or a user gave."""
        return any(map(nodes.is_user_defined, self._node_names))

    @property
    def calls_foreign_code(self) -> bool:
        """The same, or whether any of them calls a method of some class, as functions of catalogs do and some of Spark's own."""
        return any(nodes.is_user_defined(name) or "Invoke" in name for name in self._node_names)

    @property
    def _node_names(self) -> list[str]:
        return self._told("nodes")

    def used(self, columns: JavaObject) -> ExpressionList:
        """Those of some columns that they look at, in the order in which they do."""
        return ExpressionList(self._jvm, self._static.used(self.java, columns))

    def as_given(self) -> ExpressionList:
        """The same without Spark's own look at whether a value is NULL."""
        return ExpressionList(self._jvm, self._static.asGiven(self.java))

    def with_named_overflow(self, names: Sequence[str]) -> ExpressionList:
        """The same, with errors that name the columns they are for, where Spark cast them for these."""
        return ExpressionList(self._jvm, self._static.withNamedOverflow(self.java, json.dumps(names)))

    def selected(self, spark: SparkSession, plan: JavaObject) -> DataFrame:
        """A projection of a plan to them; each is a column."""
        return DataFrame(dataset(self._jvm, java_session(spark), self.projection(plan)), spark)

    def projection(self, plan: JavaObject) -> JavaObject:
        """The node of such a projection, as it is before Spark looks at it."""
        return self._static.project(self.java, plan)

    def aliased(self, prefix: str) -> ExpressionList:
        """The same as columns.

        Args:
            prefix: what their names begin with; they are numbered.
        """
        return ExpressionList(self._jvm, self._static.aliased(self.java, prefix))

    @property
    def _static(self) -> JavaObject:
        return self._jvm.static(ADAPTER)

    def _told(self, question: str) -> list[str]:
        return str(getattr(self._static, question)(self.java)).split("\0")[:-1]


def names_of_output(jvm: Jvm, columns: JavaObject) -> list[str]:
    """The names of a plan's columns."""
    return str(jvm.static(ADAPTER).names(columns)).split("\0")[:-1]


def ids_of_output(jvm: Jvm, columns: JavaObject) -> frozenset[int]:
    """The ids of a plan's columns; see `names_of_output`."""
    return frozenset(map(int, str(jvm.static(ADAPTER).ids(columns)).split("\0")[:-1]))


def _described(item: Any) -> Any:
    if isinstance(item, str):
        return {"sql": item}
    if isinstance(item, Own):
        return {"own": item.text}
    if isinstance(item, Named):
        return {"name": item.name}
    return list(item) if isinstance(item, tuple) else None
