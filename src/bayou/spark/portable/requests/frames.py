# SPDX-License-Identifier: Apache-2.0
"""DataFrames and columns of messages, and messages of DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.connect import proto
from pyspark.sql.connect.column import Column as ConnectColumn
from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
from pyspark.sql.connect.expressions import Expression
from pyspark.sql.connect.plan import LogicalPlan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def relation_of(frame: DataFrame) -> proto.Relation:
    """The relation that a DataFrame sends. It must not be changed."""
    connect = cast("Any", frame)
    return cast("proto.Relation", connect._plan.plan(connect._session.client))


def frame_of(spark: SparkSession, relation: proto.Relation) -> DataFrame:
    """A DataFrame of a relation from a request. Columns that were made of the program's DataFrame resolve on it, too."""
    return cast("DataFrame", ConnectFrame(cast("LogicalPlan", _Given(relation)), cast("Any", spark)))


def column_of(expression: proto.Expression) -> Column:
    """A column of an expression from a request, such as the condition of a MERGE."""
    return cast("Column", ConnectColumn(_GivenExpression(expression)))


class _Given(LogicalPlan):
    """A node of a plan that is a relation already."""

    def __init__(self, relation: proto.Relation) -> None:
        super().__init__(None)
        # A column finds its DataFrame by this number.
        if relation.common.HasField("plan_id"):
            self._root_plan_id = relation.common.plan_id
        self._relation = proto.Relation()
        self._relation.CopyFrom(relation)
        self._relation.common.plan_id = self._root_plan_id

    def plan(self, session: object) -> proto.Relation:  # noqa: ARG002  (PySpark calls it)
        # PySpark copies what it gets.
        return self._relation


class _GivenExpression(Expression):
    """A node of an expression that is a message already."""

    def __init__(self, expression: proto.Expression) -> None:
        super().__init__()
        self._expression = proto.Expression()
        self._expression.CopyFrom(expression)

    def to_plan(self, session: object) -> proto.Expression:  # noqa: ARG002  (PySpark calls it)
        return self._expression

    def __repr__(self) -> str:
        return " ".join(str(self._expression).split())
