# SPDX-License-Identifier: Apache-2.0
"""Columns of wide tables, all of them at once: chosen by conditions, put into projections, and as parts of statements."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame

from bayou.spark.jvm.catalyst.expression_list import ADAPTER, ExpressionList, Own
from bayou.spark.jvm.core import nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm


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
            branches: places of conditions and of the values where these are true; the first one counts.
        """
        self._places.append([*(place for pair in branches for place in pair), value])
        self._names.append(name)

    def selected(self, frame: DataFrame, beside: Sequence[Column] = ()) -> DataFrame:
        """These columns of a DataFrame."""
        given = self._jvm.static("java.util.ArrayList")()
        for each in self._lists:
            if isinstance(each, Column):
                given.add(nodes.expression(self._jvm, self._spark, each))
            else:
                given.addAll(each.java)
        made = self._jvm.static(ADAPTER).chosen(json.dumps(self._places), given, json.dumps(self._names))
        for column in beside:
            made.add(nodes.expression(self._jvm, self._spark, column))
        plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001  (the bridge)
        return ExpressionList(self._jvm, made).selected(self._spark, plan)


def select(jvm: Jvm, frame: DataFrame, items: Sequence[Any]) -> DataFrame:
    """Columns of a DataFrame.

    Args:
        items: the columns: SQL of bayou's own, or of a table (see `own_column`), names in tuples of one, or PySpark's columns; each
            of them has a name.
    """
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001  (the bridge)
    return projected(jvm, frame.sparkSession, plan, items)


def projected(jvm: Jvm, spark: SparkSession, plan: JavaObject, items: Sequence[Any]) -> DataFrame:
    """The same of a plan."""
    found = [Own(each) if isinstance(each, str) else each for each in items]
    return ExpressionList.made(jvm, spark, found).selected(spark, plan)


def aliased_values(jvm: Jvm, columns: JavaObject) -> ExpressionList:
    """The values of columns that are all aliases: what `ExpressionList.aliased` was made of, as Spark resolved it."""
    return ExpressionList(jvm, jvm.static(ADAPTER).children(columns))


def condition_of(jvm: Jvm, values: ExpressionList) -> JavaObject:
    """Return a condition that contains some values, so that Spark resolves them together."""
    return jvm.static(ADAPTER).conditionOf(values.java)


def values_in(jvm: Jvm, condition: JavaObject) -> ExpressionList:
    """The values in what Spark made of `condition_of`."""
    return ExpressionList(jvm, jvm.static(ADAPTER).valuesIn(condition))


def to_themselves(jvm: Jvm, names: ExpressionList) -> JavaObject:
    """Assignments of columns to themselves: a Scala `Seq`."""
    return jvm.static(ADAPTER).toThemselves(names.java)


def sides_of(jvm: Jvm, assignments: JavaObject) -> tuple[ExpressionList, ExpressionList]:
    """The columns and the values of a Scala `Seq` of assignments."""
    made = jvm.static(ADAPTER)
    return ExpressionList(jvm, made.keys(assignments)), ExpressionList(jvm, made.values(assignments))
