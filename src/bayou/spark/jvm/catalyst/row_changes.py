# SPDX-License-Identifier: Apache-2.0
"""DELETE and UPDATE as nodes of Catalyst: made of a user's expressions, resolved by Spark, and taken apart again."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame

from bayou.protocol.types.char_varchar import DECLARED_TYPE
from bayou.spark.jvm.catalyst import wide_columns
from bayou.spark.jvm.catalyst.expression_list import ExpressionList
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.bulk import Bulk
from bayou.spark.jvm.core.callbacks import FAILED_CALL, error_class_of
from bayou.spark.jvm.core.nodes import expression, with_name
from bayou.spark.jvm.core.session import dataset, java_session
from bayou.spark.jvm.relations.parser import sparks_parser
from bayou.spark.jvm.relations.relation import struct_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"


def delete_statement(
    jvm: Jvm,
    spark: SparkSession,
    schema: str,
    name: tuple[str, ...],
    condition: str | Column | None,
    *,
    handed_out: JavaObject | None = None,
) -> JavaObject:
    """A DELETE, as Spark resolved it. It raises what it raises for the statement in SQL.

    Args:
        spark: the session under whose settings it is resolved.
        name: the name by which the condition may call the table, as `with_name` takes it; empty for none.
        condition: which rows; None for all.
        handed_out: the columns of the table's own DataFrames, which the condition may name (see `meant`); None for none.
    """
    table = no_rows(jvm, spark, schema, name)
    found = jvm.static(f"{_EXPRESSIONS}.Literal").TrueLiteral() if condition is None else expression(jvm, spark, condition)
    found = meant(jvm, found, handed_out, table.output())
    return _execution(jvm, spark, jvm.static(f"{_LOGICAL}.DeleteFromTable")(table, found)).analyzed()


def update_statement(
    jvm: Jvm,
    spark: SparkSession,
    schema: str,
    name: tuple[str, ...],
    condition: JavaObject | None,
    assignments: Pairs,
    *,
    handed_out: JavaObject | None = None,
) -> tuple[JavaObject, ExpressionList]:
    """An UPDATE, as Spark resolved it, and the values as they were given; see `delete_statement`.

    Args:
        name: the name by which expressions may call the table, as `with_name` takes it; empty for none.
        condition: which rows; None for all.
        assignments: columns and their new values, none of them resolved.
    """
    table = no_rows(jvm, spark, schema, name)
    output = table.output()
    given = assignments.values
    if handed_out is not None:
        given = ExpressionList.of(jvm, (meant(jvm, value, handed_out, output) for value in given))
    found = None if condition is None else meant(jvm, condition, handed_out, output)
    # Spark would cast the values to the columns' types, structs by position; so that it does not, each column is set to itself.
    update = jvm.static(f"{_LOGICAL}.UpdateTable")
    with _telling_of(jvm, spark, lambda: update(table, _pairs(jvm, assignments.keys, given), _option(jvm, found))):
        values = _resolved(jvm, spark, table, given)
        named = _execution(jvm, spark, update(table, wide_columns.to_themselves(jvm, assignments.keys), jvm.none)).analyzed()
        if found is None:
            return named, values
        # The session's variables are known to the condition of a DELETE, and not to that of an UPDATE.
        where = _execution(jvm, spark, jvm.static(f"{_LOGICAL}.DeleteFromTable")(table, found)).analyzed()
    return update(where.table(), named.assignments(), jvm.some(where.condition())), values


def simplified(jvm: Jvm, spark: SparkSession, statement: JavaObject) -> JavaObject:
    """A resolved DELETE or UPDATE whose condition is as Spark's optimizer simplifies it, with `now()` and its like as literals.

    The parts of the condition with subqueries stay as they are: what the optimizer makes of a subquery can stand in no other query.
    """
    statement = jvm.module("org.apache.spark.sql.catalyst.optimizer.ComputeCurrentTime").apply(statement)
    condition = condition_of_statement(statement)
    if condition is None:
        return statement
    return with_condition(jvm, statement, simplified_condition(jvm, spark, statement.table().output(), condition))


def simplified_condition(jvm: Jvm, spark: SparkSession, output: JavaObject, condition: JavaObject) -> JavaObject:
    """A condition as Spark's optimizer simplifies it, but for the parts with subqueries.

    Args:
        output: the columns that the condition is about, a Scala `Seq`.
    """
    parts = nodes.conjuncts(jvm, condition) if nodes.has_subquery(condition) else [condition]
    queries = [part for part in parts if nodes.has_subquery(part)]
    plain = [part for part in parts if not nodes.has_subquery(part)]
    if plain:
        alone = jvm.static(f"{_LOGICAL}.DeleteFromTable")(_columns_alone(jvm, output), nodes.conjunction(jvm, plain))
        found = restored(jvm, _execution(jvm, spark, alone).optimizedPlan()).condition()
        constant = nodes.constant(found) if queries else None
        if constant is False:
            return found
        plain = [] if constant else [found]
    return nodes.conjunction(jvm, [*plain, *queries])


def _columns_alone(jvm: Jvm, output: JavaObject) -> JavaObject:
    """A relation with some columns and no rows. A statement about it is one of Spark's own, and none of a Delta table."""
    return jvm.module(f"{_LOGICAL}.LocalRelation").apply(output)


def with_condition(jvm: Jvm, statement: JavaObject, condition: JavaObject) -> JavaObject:
    """A DeleteFromTable or UpdateTable with another condition."""
    if statement.nodeName() == "DeleteFromTable":
        return jvm.static(f"{_LOGICAL}.DeleteFromTable")(statement.table(), condition)
    return jvm.static(f"{_LOGICAL}.UpdateTable")(statement.table(), statement.assignments(), jvm.some(condition))


@contextlib.contextmanager
def _telling_of(jvm: Jvm, spark: SparkSession, statement: Callable[[], JavaObject]) -> Iterator[None]:
    """Where Spark refuses a part that it was asked about alone, it is asked about the whole statement: its error names that.

    Args:
        statement: makes the statement, not resolved.
    """
    try:
        yield
    except AnalysisException as error:
        try:
            _execution(jvm, spark, statement())
        except FAILED_CALL as other:
            if isinstance(other, AnalysisException) and error_class_of(other) == error_class_of(error):
                raise other from None
        raise


def _pairs(jvm: Jvm, keys: ExpressionList, values: ExpressionList) -> JavaObject:
    assignment = jvm.static(f"{_LOGICAL}.Assignment")
    return jvm.seq(assignment(key, value) for key, value in zip(keys, values, strict=True))


def _option(jvm: Jvm, found: JavaObject | None) -> JavaObject:
    return jvm.none if found is None else jvm.some(found)


def written(jvm: Jvm, statement: JavaObject) -> JavaObject | None:
    """A statement of SQL as it stands in its text, alone of a script, parsed and not resolved; None where there is no text.

    Args:
        statement: the DeleteFromTable, UpdateTable or MergeIntoTable that Spark made of it.
    """
    text = jvm.static("bayou.StatementText").of(statement.origin())
    if not text:
        return None
    try:
        parsed = sparks_parser(jvm, jvm.static("org.apache.spark.sql.SparkSession").active()).parsePlan(text)
    except FAILED_CALL:
        return None
    return parsed if parsed.nodeName() == statement.nodeName() else None


def resolved_value(
    jvm: Jvm, spark: SparkSession, statement: JavaObject, parsed: JavaObject, value: JavaObject
) -> JavaObject | None:
    """A value of an UPDATE's text, resolved against its table; None where it cannot be, as with parameters in it."""
    named, table = parsed.table(), _columns_alone(jvm, statement.table().output())
    if named.nodeName() == "SubqueryAlias":
        table = jvm.construct(jvm.java_class(f"{_LOGICAL}.SubqueryAlias"), named.identifier(), table)
    try:
        return _resolved(jvm, spark, table, ExpressionList.of(jvm, [value]))[0]
    except FAILED_CALL:
        return None


def optimised(frame: DataFrame) -> None:
    """Has Spark simplify a query, which computes its constants; nothing is run."""
    frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001  (the bridge)


def _resolved(jvm: Jvm, spark: SparkSession, table: JavaObject, values: ExpressionList) -> ExpressionList:
    """Expressions over a table's columns, resolved as parts of a condition, where Spark checks them and casts nothing."""
    condition = wide_columns.condition_of(jvm, values)
    analysed = _execution(jvm, spark, jvm.static(f"{_LOGICAL}.DeleteFromTable")(table, condition)).analyzed()
    return wide_columns.values_in(jvm, analysed.condition())


def refuse_unusual(jvm: Jvm, spark: SparkSession, table: JavaObject, values: Sequence[Any]) -> None:
    """Has Spark say what is wrong with values that are no expressions over the columns of a row.

    Args:
        values: SQL, columns, or expressions of Catalyst that are not resolved.

    Raises:
        pyspark.errors.AnalysisException: one is an aggregate, a window function, a generator or a function in SQL.
    """
    _resolved(jvm, spark, table, ExpressionList.made(jvm, spark, values))


def no_rows(jvm: Jvm, spark: SparkSession, schema: str, name: tuple[str, ...] = ()) -> JavaObject:
    """A relation that only has columns; the optimizer leaves it where it is.

    Args:
        name: the name by which expressions may call it, as `with_name` takes it; empty for none.
    """
    nothing = spark.sparkContext._jsc.emptyRDD()  # noqa: SLF001  (the bridge)
    rows = java_session(spark).createDataFrame(nothing, struct_type(jvm, schema))
    return with_name(jvm, rows.queryExecution().analyzed(), *name)


def _execution(jvm: Jvm, spark: SparkSession, statement: JavaObject) -> JavaObject:
    """A plan as a query that Spark has resolved and checked; nothing of it is run."""
    skip = jvm.module("org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    execution = java_session(spark).sessionState().executePlan(statement, skip)
    execution.assertAnalyzed()
    return execution


def meant(
    jvm: Jvm, found: JavaObject, handed_out: JavaObject | None, output: JavaObject, others: JavaObject | None = None
) -> JavaObject:
    """An expression that may have columns of a table's own DataFrames in it, with the statement's columns in their places.

    Args:
        found: the expression, not resolved.
        handed_out: the columns of these DataFrames: an `Object[]` of Scala `Seq`s; None for none.
        others: the columns of other rows in the statement; None where there are none.
    """
    if handed_out is None:
        return found
    return jvm.static("bayou.Plans").meant(found, handed_out, output, jvm.seq([]) if others is None else others)


@dataclass(frozen=True, slots=True)
class Pairs:
    """What is set: columns and, at the same places, their new values."""

    keys: ExpressionList
    values: ExpressionList

    @classmethod
    def of(cls, jvm: Jvm, assignments: JavaObject) -> Pairs:
        """Those of a Scala `Seq` of assignments, as they are."""
        return cls(*wide_columns.sides_of(jvm, assignments))


@dataclass(frozen=True, slots=True)
class Expressions:
    """What a resolved statement is made of.

    Attributes:
        relation: the node that stands for the table.
        output: its attributes, which the expressions refer to by their ids: a Scala `Seq`.
        condition: which rows; None for all.
        assignments: what an UPDATE sets; None for a DELETE.
    """

    relation: JavaObject
    output: JavaObject
    condition: JavaObject | None
    assignments: Pairs | None = None


def condition_of_statement(statement: JavaObject) -> JavaObject | None:
    """The condition of a DeleteFromTable or UpdateTable; None where there is none."""
    if statement.nodeName() == "DeleteFromTable":
        return statement.condition()
    where = statement.condition()
    return where.get() if where.isDefined() else None


def taken_apart(jvm: Jvm, statement: JavaObject) -> Expressions:
    """The parts of a resolved DeleteFromTable or UpdateTable."""
    relation = statement.table()
    condition = condition_of_statement(statement)
    if condition is not None:
        condition = jvm.static("bayou.Plans").padded(condition, DECLARED_TYPE)
    if statement.nodeName() == "DeleteFromTable":
        return Expressions(relation, relation.output(), condition)
    return Expressions(relation, relation.output(), condition, assignments_of(jvm, statement))


def restored(jvm: Jvm, statement: JavaObject) -> JavaObject:
    """A statement as it was before Spark's optimizer took Python's functions out of it, into its tables."""
    return jvm.static("bayou.Plans").restored(statement)


def assignments_of(jvm: Jvm, node: JavaObject) -> Pairs:
    """The columns that a resolved UPDATE or a clause of a MERGE sets, with their values.

    What must not be NULL is checked with the table's other rules: Spark's own check, which names no column, is left out.
    """
    found = Pairs.of(jvm, node.assignments())
    return Pairs(found.keys, found.values.as_given())


def table_of(jvm: Jvm, relation: JavaObject) -> str | None:
    """The request that one of bayou's relations stands for, as JSON; None for any other node.

    A view or a projection is one if it shows columns of the table as they are, under whatever names.
    """
    relation = jvm.static("bayou.ShownColumns").source(relation)
    if relation.getClass().getSimpleName() != "LogicalRelation":
        return None
    found = relation.relation()
    if found.getClass().getName() != "bayou.DeltaTable":
        return None
    text: str = found.location().table()
    return text


def shows_all(jvm: Jvm, relation: JavaObject) -> bool:
    """Whether a node for which `table_of` finds a table shows all of its columns, in their order and under their names."""
    return bool(jvm.static("bayou.ShownColumns").isWhole(relation))


def on_table(jvm: Jvm, statement: JavaObject) -> JavaObject:
    """A statement about a view, as a statement about the table that it shows; any other statement as it is.

    Args:
        statement: the resolved statement, for whose first child `table_of` finds a table.
    """
    return jvm.static("bayou.ShownColumns").onSource(statement)


def over_table(jvm: Jvm, relation: JavaObject, values: ExpressionList) -> ExpressionList:
    """Expressions over the columns of a view, as expressions over those of the table that it shows."""
    return ExpressionList(jvm, jvm.static("bayou.ShownColumns").onSource(relation, values.java))


def under_ids_of(jvm: Jvm, output: JavaObject, plan: JavaObject) -> JavaObject:
    """A plan whose columns have the names and the ids of some attributes, one by one.

    Args:
        plan: a plan with as many columns, of the same types.
    """
    return jvm.static("bayou.Plans").under(output, plan)


def statement_rows(
    jvm: Jvm, spark: SparkSession, output: JavaObject, plan: JavaObject, names: Sequence[str], others: Sequence[str] = ()
) -> DataFrame:
    """The rows of a plan under the names and the expression ids that a statement has for them.

    Args:
        plan: a plan with the same columns.
        others: further columns of the plan, which keep their names.
    """
    made = jvm.static("bayou.Plans").named(output, plan, Bulk.of(jvm).strings(pa.array([*names, *others], pa.string())))
    return DataFrame(dataset(jvm, java_session(spark), made), spark)
