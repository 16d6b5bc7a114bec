# SPDX-License-Identifier: Apache-2.0
"""Lists of expressions that stay in the JVM: what is made of them, and asked of them, takes no py4j call for each.

A statement over a table of thousands of columns has thousands of them. Where the adapters are missing each is handled by itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, overload

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.jvm import casts, nodes
from bayou.spark.jvm.adapters import Adapters
from bayou.spark.jvm.relation import dataset
from bayou.spark.jvm.session import java_session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.bridge import JavaObject, Jvm

_COLUMNS: Final = "bayou.Columns"
_LOGICAL: Final = "org.apache.spark.sql.catalyst.plans.logical"
_EXPRESSIONS: Final = "org.apache.spark.sql.catalyst.expressions"
_UNRESOLVED: Final = "org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute"


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
            jvm: the bridge.
            spark: the session.
            items: SQL, columns by their `Named` or by the parts of their names in a tuple, PySpark's columns, or expressions.
        """
        if Adapters.known(jvm) is None:
            return cls.of(jvm, (_expression(jvm, spark, each) for each in items))
        others = jvm.java_list(nodes.expression(jvm, spark, each) for each in items if not isinstance(each, (str, tuple, Named)))
        parser = java_session(spark).sessionState().sqlParser()
        return cls(jvm, jvm.static(_COLUMNS).made(json.dumps([_described(each) for each in items]), others, parser))

    @classmethod
    def output(cls, jvm: Jvm, columns: JavaObject) -> ExpressionList:
        """The columns of a plan.

        Args:
            jvm: the bridge.
            columns: a Scala `Seq` of them.
        """
        if Adapters.known(jvm) is None:
            return cls.of(jvm, jvm.list_of(columns))
        return cls(jvm, jvm.static(_COLUMNS).listOf(columns))

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
        return [str(each.toJSON()) for each in self] if self._is_slow else self._told("trees")

    @property
    def types(self) -> list[str]:
        """JSON of the type of each."""
        return [nodes.type_of(each) for each in self] if self._is_slow else self._told("types")

    @property
    def defaults(self) -> list[int]:
        """Which of them are the word DEFAULT, parsed."""
        if self._is_slow:
            return [place for place, each in enumerate(self) if nodes.is_default(self._jvm, each)]
        return [int(each) for each in self._told("defaults")]

    @property
    def has_subquery(self) -> bool:
        """Whether there is a subquery in any of them."""
        if self._is_slow:
            return any(map(nodes.has_subquery, self))
        return any(map(nodes.is_subquery, self._told("nodes")))

    def used(self, columns: JavaObject) -> ExpressionList:
        """Those of some columns that they look at, in the order in which they do.

        Args:
            columns: a Scala `Seq` of the columns.
        """
        if not self._is_slow:
            return ExpressionList(self._jvm, self._static.used(self.java, columns))
        known = ids_of_output(self._jvm, columns)
        found: dict[int, JavaObject] = {}
        for expression in self:
            for each in nodes.references_of(self._jvm, expression):
                number = each.exprId().id()
                if number in known:
                    found.setdefault(number, each)
        return ExpressionList.of(self._jvm, found.values())

    def as_given(self) -> ExpressionList:
        """The same without Spark's own look at whether a value is NULL."""
        return self if self._is_slow else ExpressionList(self._jvm, self._static.asGiven(self.java))

    def with_named_overflow(self, names: Sequence[str]) -> ExpressionList:
        """The same, with errors that name the columns they are for, where Spark cast them for these.

        Args:
            names: the columns, one for each.
        """
        if not self._is_slow:
            return ExpressionList(self._jvm, self._static.withNamedOverflow(self.java, json.dumps(names)))
        pairs = zip(self, names, strict=True)
        return ExpressionList.of(self._jvm, (casts.with_named_overflow(self._jvm, each, name) for each, name in pairs))

    def selected(self, spark: SparkSession, plan: JavaObject) -> DataFrame:
        """A projection of a plan to them; each is a column.

        Args:
            spark: the session.
            plan: the plan.
        """
        return DataFrame(dataset(self._jvm, java_session(spark), self.projection(plan)), spark)

    def projection(self, plan: JavaObject) -> JavaObject:
        """The node of such a projection, as it is before Spark looks at it."""
        if not self._is_slow:
            return self._static.project(self.java, plan)
        return self._jvm.static(f"{_LOGICAL}.Project")(self._jvm.seq(self), plan)

    def aliased(self, prefix: str) -> ExpressionList:
        """The same as columns.

        Args:
            prefix: what their names begin with; they are numbered.
        """
        if not self._is_slow:
            return ExpressionList(self._jvm, self._static.aliased(self.java, prefix))
        return ExpressionList.of(self._jvm, (_alias(self._jvm, each, f"{prefix}{i}") for i, each in enumerate(self)))

    @property
    def _is_slow(self) -> bool:
        return Adapters.known(self._jvm) is None

    @property
    def _static(self) -> JavaObject:
        return self._jvm.static(_COLUMNS)

    def _told(self, question: str) -> list[str]:
        return str(getattr(self._static, question)(self.java)).split("\0")[:-1]


class ChosenColumns:
    """Columns whose values depend on conditions, each made of expressions that are given once and stand for many."""

    def __init__(self, jvm: Jvm, spark: SparkSession) -> None:
        self._jvm = jvm
        self._spark = spark
        self._lists: list[ExpressionList | Column] = []
        self._starts: dict[int, int] = {}
        self._size = 0
        self._places: list[list[int]] = []
        self._names: list[str] = []

    def given(self, column: Column) -> int:
        """The place of an expression."""
        return self._add(column, 1)

    def place(self, expressions: ExpressionList, number: int) -> int:
        """The place of one of many."""
        if id(expressions) not in self._starts:
            self._starts[id(expressions)] = self._add(expressions, len(expressions))
        return self._starts[id(expressions)] + number

    def _add(self, given: ExpressionList | Column, size: int) -> int:
        self._lists.append(given)
        self._size += size
        return self._size - size

    def add(self, name: str, value: int, branches: Iterable[tuple[int, int]] = ()) -> None:
        """Adds a column.

        Args:
            name: its name.
            value: the place of its value.
            branches: places of conditions and of the values where these are true; the first one counts.
        """
        self._places.append([*(place for pair in branches for place in pair), value])
        self._names.append(name)

    def selected(self, frame: DataFrame, beside: Sequence[Column] = ()) -> DataFrame:
        """These columns of a DataFrame.

        Args:
            frame: the rows.
            beside: further columns.
        """
        given = self._jvm.static("java.util.ArrayList")()
        for each in self._lists:
            if isinstance(each, Column):
                given.add(nodes.expression(self._jvm, self._spark, each))
            else:
                given.addAll(each.java)
        if Adapters.known(self._jvm) is None:
            return frame.select(*self._by_themselves(given), *beside)
        made = self._jvm.static(_COLUMNS).chosen(json.dumps(self._places), given, json.dumps(self._names))
        for column in beside:
            made.add(nodes.expression(self._jvm, self._spark, column))
        plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001  (the bridge)
        return ExpressionList(self._jvm, made).selected(self._spark, plan)

    def _by_themselves(self, given: JavaObject) -> list[Column]:
        found = []
        for (*branches, last), name in zip(self._places, self._names, strict=True):
            pairs = list(zip(branches[::2], branches[1::2], strict=True))
            value = nodes.column(self._jvm, given.get(last))
            for condition, chosen in reversed(pairs):
                holds, new = (nodes.column(self._jvm, given.get(place)) for place in (condition, chosen))
                value = F.when(holds, new).otherwise(value)
            found.append(value.alias(name))
        return found


def names_of_output(jvm: Jvm, columns: JavaObject) -> list[str]:
    """The names of a plan's columns.

    Args:
        jvm: the bridge.
        columns: a Scala `Seq` of them.
    """
    if Adapters.known(jvm) is None:
        return [each.name() for each in jvm.list_of(columns)]
    return str(jvm.static(_COLUMNS).names(columns)).split("\0")[:-1]


def ids_of_output(jvm: Jvm, columns: JavaObject) -> frozenset[int]:
    """The ids of a plan's columns; see `names_of_output`."""
    if Adapters.known(jvm) is None:
        return frozenset(each.exprId().id() for each in jvm.list_of(columns))
    return frozenset(map(int, str(jvm.static(_COLUMNS).ids(columns)).split("\0")[:-1]))


def select(jvm: Jvm, frame: DataFrame, items: Sequence[Any]) -> DataFrame:
    """Columns of a DataFrame.

    Args:
        jvm: the bridge.
        frame: the rows.
        items: the columns: SQL, names in tuples of one, or PySpark's columns; each of them has a name.
    """
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001  (the bridge)
    return ExpressionList.made(jvm, frame.sparkSession, items).selected(frame.sparkSession, plan)


def aliased_values(jvm: Jvm, columns: JavaObject) -> ExpressionList:
    """The values of columns that are all aliases: what `ExpressionList.aliased` was made of, as Spark resolved it."""
    if Adapters.known(jvm) is None:
        return ExpressionList.of(jvm, (each.child() for each in jvm.list_of(columns)))
    return ExpressionList(jvm, jvm.static(_COLUMNS).children(columns))


def condition_of(jvm: Jvm, spark: SparkSession, values: ExpressionList) -> JavaObject:
    """A condition that has some values in it, to be resolved as one."""
    if Adapters.known(jvm) is not None:
        return jvm.static(_COLUMNS).conditionOf(values.java)
    names = [nodes.expression(jvm, spark, f"'v{number}'") for number in range(len(values))]
    pairs = jvm.seq(part for pair in zip(names, values, strict=True) for part in pair)
    return jvm.static(f"{_EXPRESSIONS}.IsNotNull")(jvm.static(f"{_EXPRESSIONS}.CreateNamedStruct")(pairs))


def values_in(jvm: Jvm, condition: JavaObject) -> ExpressionList:
    """The values in what Spark made of `condition_of`."""
    if Adapters.known(jvm) is not None:
        return ExpressionList(jvm, jvm.static(_COLUMNS).valuesIn(condition))
    return ExpressionList.of(jvm, jvm.list_of(condition.child().children())[1::2])


def to_themselves(jvm: Jvm, names: ExpressionList) -> JavaObject:
    """Assignments of columns to themselves: a Scala `Seq`."""
    if Adapters.known(jvm) is not None:
        return jvm.static(_COLUMNS).toThemselves(names.java)
    assignment = jvm.static(f"{_LOGICAL}.Assignment")
    return jvm.seq(assignment(each, each) for each in names)


def sides_of(jvm: Jvm, assignments: JavaObject) -> tuple[ExpressionList, ExpressionList]:
    """The columns and the values of a Scala `Seq` of assignments."""
    if Adapters.known(jvm) is not None:
        made = jvm.static(_COLUMNS)
        return ExpressionList(jvm, made.keys(assignments)), ExpressionList(jvm, made.values(assignments))
    pairs = jvm.list_of(assignments)
    return ExpressionList.of(jvm, (each.key() for each in pairs)), ExpressionList.of(jvm, (each.value() for each in pairs))


def _described(item: Any) -> Any:
    if isinstance(item, str):
        return {"sql": item}
    if isinstance(item, Named):
        return {"name": item.name}
    return list(item) if isinstance(item, tuple) else None


def _expression(jvm: Jvm, spark: SparkSession, item: Any) -> JavaObject:
    if isinstance(item, Named):
        return jvm.module(_UNRESOLVED).quotedString(item.name)
    if isinstance(item, tuple):
        return jvm.module(_UNRESOLVED).apply(jvm.seq(item))
    return nodes.expression(jvm, spark, item)


def _alias(jvm: Jvm, value: JavaObject, name: str) -> JavaObject:
    number = jvm.module(f"{_EXPRESSIONS}.NamedExpression").newExprId()
    alias = jvm.java_class(f"{_EXPRESSIONS}.Alias")
    return jvm.construct(alias, value, name, number, jvm.seq([]), jvm.none, jvm.seq([]))
