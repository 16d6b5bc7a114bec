# SPDX-License-Identifier: Apache-2.0
"""DataFrames and columns of messages, and messages of DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.sql.connect import proto
from pyspark.sql.connect.column import Column as ConnectColumn
from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
from pyspark.sql.connect.expressions import Expression
from pyspark.sql.connect.plan import LogicalPlan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_SAME_COLUMNS: Final = frozenset({"filter", "sort", "limit", "offset", "deduplicate", "repartition", "hint", "tail"})
"""The relations that have their input's columns, with the input's alias."""


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


def as_given(kept: DataFrame, given: DataFrame) -> tuple[DataFrame, str | None]:
    """Return kept rows under the alias of a DataFrame, and the alias. Columns taken from the DataFrame mean their columns.

    The result reads the rows as long as `kept` exists.
    """
    chain: list[proto.Relation] = [relation_of(given)]
    while (kind := chain[-1].WhichOneof("rel_type")) in _SAME_COLUMNS or kind == "subquery_alias":
        chain.append(getattr(chain[-1], kind).input)
    alias = next((each.subquery_alias.alias for each in chain if each.HasField("subquery_alias")), None)
    made = relation_of(kept)
    for each in reversed(chain):
        made = _around(made, each)
    return frame_of(given.sparkSession, made), alias


def _around(inner: proto.Relation, given: proto.Relation) -> proto.Relation:
    """Return rows under the alias and the number of a relation."""
    made: Any = proto.Relation()
    if given.HasField("subquery_alias"):
        made.subquery_alias.CopyFrom(given.subquery_alias)
        made.subquery_alias.input.CopyFrom(inner)
    else:
        made.project.input.CopyFrom(inner)
        made.project.expressions.add().unresolved_star.SetInParent()
    if given.common.HasField("plan_id"):
        made.common.plan_id = given.common.plan_id
    return made  # type: ignore[no-any-return]


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
