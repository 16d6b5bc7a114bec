# SPDX-License-Identifier: Apache-2.0
"""Build DELETE and UPDATE from a user's expressions as Catalyst nodes, let Spark resolve them, and read the result."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame

from bayou.protocol.types.char_varchar import DECLARED_TYPE
from bayou.spark.errors.error_classes import error_class_of
from bayou.spark.jvm.catalyst import wide_columns
from bayou.spark.jvm.catalyst.expression_list import ExpressionList
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.bulk import Bulk
from bayou.spark.jvm.core.callbacks import FAILED_CALL
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
    """Return a DELETE as Spark resolved it. Raises the same errors as the SQL statement.

    Args:
        spark: the session with the settings for the resolution.
        name: the name that the condition may use for the table, in the form of `with_name`, or empty.
        condition: the condition for rows; None for all rows.
        handed_out: the columns of the table's own DataFrames, which the condition may use (see `meant`); None without any.
    """
    table = no_rows(jvm, spark, schema, name)
    predicate = jvm.static(f"{_EXPRESSIONS}.Literal").TrueLiteral() if condition is None else expression(jvm, spark, condition)
    predicate = meant(jvm, predicate, handed_out, table.output())
    return _execution(jvm, spark, jvm.static(f"{_LOGICAL}.DeleteFromTable")(table, predicate)).analyzed()


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
    """Return an UPDATE as Spark resolved it, and the values before Spark's casts; see `delete_statement`.

    Args:
        name: the name that expressions may use for the table, in the form of `with_name`, or empty.
        condition: the condition for rows; None for all rows.
        assignments: unresolved columns and their new values.
    """
    table = no_rows(jvm, spark, schema, name)
    output = table.output()
    assigned = assignments.values
    if handed_out is not None:
        assigned = ExpressionList.of(jvm, (meant(jvm, value, handed_out, output) for value in assigned))
    predicate = None if condition is None else meant(jvm, condition, handed_out, output)
    # Spark would cast the values to the columns' types, structs by position. To avoid this, each column is set to itself.
    update = jvm.static(f"{_LOGICAL}.UpdateTable")
    with _whole_in_errors(jvm, spark, lambda: update(table, _pairs(jvm, assignments.keys, assigned), _option(jvm, predicate))):
        values = _resolved(jvm, spark, table, assigned)
        named = _execution(jvm, spark, update(table, wide_columns.to_themselves(jvm, assignments.keys), jvm.none)).analyzed()
        if predicate is None:
            return named, values
        # The condition of a DELETE may use the session's variables, that of an UPDATE may not.
        where = _execution(jvm, spark, jvm.static(f"{_LOGICAL}.DeleteFromTable")(table, predicate)).analyzed()
    return update(where.table(), named.assignments(), jvm.some(where.condition())), values


def simplified(jvm: Jvm, spark: SparkSession, statement: JavaObject) -> JavaObject:
    """Return a resolved DELETE or UPDATE with an optimized condition, in which `now()` and similar functions are literals.

    Parts of the condition with subqueries stay as they are: an optimized subquery cannot be part of another query.
    """
    statement = jvm.module("org.apache.spark.sql.catalyst.optimizer.ComputeCurrentTime").apply(statement)
    condition = condition_of_statement(statement)
    if condition is None:
        return statement
    return with_condition(jvm, statement, simplified_condition(jvm, spark, statement.table().output(), condition))


def simplified_condition(jvm: Jvm, spark: SparkSession, output: JavaObject, condition: JavaObject) -> JavaObject:
    """Let Spark's optimizer simplify a condition over some columns, except for the parts with subqueries."""
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
    """Return a relation with columns and no rows. A statement on it is Spark's own, not one of a Delta table."""
    return jvm.module(f"{_LOGICAL}.LocalRelation").apply(output)


def with_condition(jvm: Jvm, statement: JavaObject, condition: JavaObject) -> JavaObject:
    """Return a DeleteFromTable or UpdateTable with another condition."""
    if statement.nodeName() == "DeleteFromTable":
        return jvm.static(f"{_LOGICAL}.DeleteFromTable")(statement.table(), condition)
    return jvm.static(f"{_LOGICAL}.UpdateTable")(statement.table(), statement.assignments(), jvm.some(condition))


@contextlib.contextmanager
def _whole_in_errors(jvm: Jvm, spark: SparkSession, statement: Callable[[], JavaObject]) -> Iterator[None]:
    """If Spark refuses a part of a statement, analyse the whole statement, so that the error names it."""
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
    """Parse the SQL of a row change, without the rest of a script and without resolving it. Return None if the SQL is unknown."""
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
    """Resolve a value in the SQL of an UPDATE against its table. Return None if this fails, as for parameters."""
    named, table = parsed.table(), _columns_alone(jvm, statement.table().output())
    if named.nodeName() == "SubqueryAlias":
        table = jvm.construct(jvm.java_class(f"{_LOGICAL}.SubqueryAlias"), named.identifier(), table)
    try:
        return _resolved(jvm, spark, table, ExpressionList.of(jvm, [value]))[0]
    except FAILED_CALL:
        return None


def optimised(frame: DataFrame) -> None:
    """Let Spark optimize a query, which evaluates its constants. Nothing is run."""
    frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001  (the bridge)


def _resolved(jvm: Jvm, spark: SparkSession, table: JavaObject, values: ExpressionList) -> ExpressionList:
    """Resolve expressions over a table's columns as parts of a condition, where Spark checks them and casts nothing."""
    condition = wide_columns.condition_of(jvm, values)
    analysed = _execution(jvm, spark, jvm.static(f"{_LOGICAL}.DeleteFromTable")(table, condition)).analyzed()
    return wide_columns.values_in(jvm, analysed.condition())


def refuse_unusual(jvm: Jvm, spark: SparkSession, table: JavaObject, values: Sequence[Any]) -> None:
    """Let Spark refuse values that are not expressions over the columns of a row.

    Raises:
        pyspark.errors.AnalysisException: one is an aggregate, a window function, a generator or a function in SQL.
    """
    _resolved(jvm, spark, table, ExpressionList.made(jvm, spark, values))


def no_rows(jvm: Jvm, spark: SparkSession, schema: str, name: tuple[str, ...] = ()) -> JavaObject:
    """Return a relation that has only columns, and a name as for `with_name`. The optimizer does not remove it."""
    nothing = spark.sparkContext._jsc.emptyRDD()  # noqa: SLF001  (the bridge)
    rows = java_session(spark).createDataFrame(nothing, struct_type(jvm, schema))
    return with_name(jvm, rows.queryExecution().analyzed(), *name)


def _execution(jvm: Jvm, spark: SparkSession, statement: JavaObject) -> JavaObject:
    """Return a plan as a query that Spark has resolved and checked. Nothing is run."""
    skip = jvm.module("org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    execution = java_session(spark).sessionState().executePlan(statement, skip)
    execution.assertAnalyzed()
    return execution


def meant(
    jvm: Jvm, found: JavaObject, handed_out: JavaObject | None, output: JavaObject, others: JavaObject | None = None
) -> JavaObject:
    """Replace columns of a table's own DataFrames in an expression by the statement's columns.

    Args:
        found: the unresolved expression.
        handed_out: the columns of these DataFrames: an `Object[]` of Scala `Seq`s; None without any.
        others: the columns of other rows in the statement, or None.
    """
    if handed_out is None:
        return found
    return jvm.static("bayou.Plans").meant(found, handed_out, output, jvm.seq([]) if others is None else others)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Assigned columns and, at the same positions, their new values."""

    keys: ExpressionList
    values: ExpressionList

    @classmethod
    def of(cls, jvm: Jvm, assignments: JavaObject) -> Pairs:
        """Read a Scala `Seq` of assignments, unchanged."""
        return cls(*wide_columns.sides_of(jvm, assignments))

    @classmethod
    def of_update(cls, jvm: Jvm, update: JavaObject) -> Pairs:
        """Read the assignments of an UpdateTable, unchanged."""
        return cls.of(jvm, update.assignments())


@dataclass(frozen=True, slots=True)
class Expressions:
    """The parts of a resolved statement.

    Attributes:
        relation: the table's node.
        output: its attributes, to which the expressions refer by id: a Scala `Seq`.
        condition: the condition for rows; None for all rows.
        assignments: the assignments of an UPDATE; None for a DELETE.
    """

    relation: JavaObject
    output: JavaObject
    condition: JavaObject | None
    assignments: Pairs | None = None


def relation_of(statement: JavaObject) -> JavaObject:
    """Return the table of a DeleteFromTable or UpdateTable."""
    return statement.table()


def values_assigned(jvm: Jvm, update: JavaObject) -> list[JavaObject]:
    """Return the values that an UpdateTable assigns."""
    return [assignment.value() for assignment in jvm.list_of(update.assignments())]


def condition_of_statement(statement: JavaObject) -> JavaObject | None:
    """Return the condition of a DeleteFromTable or UpdateTable, or None."""
    if statement.nodeName() == "DeleteFromTable":
        return statement.condition()
    where = statement.condition()
    return where.get() if where.isDefined() else None


def taken_apart(jvm: Jvm, statement: JavaObject) -> Expressions:
    """Return the parts of a resolved DeleteFromTable or UpdateTable."""
    relation = statement.table()
    condition = condition_of_statement(statement)
    if condition is not None:
        condition = jvm.static("bayou.Plans").padded(condition, DECLARED_TYPE)
    if statement.nodeName() == "DeleteFromTable":
        return Expressions(relation, relation.output(), condition)
    return Expressions(relation, relation.output(), condition, assignments_of(jvm, statement))


def restored(jvm: Jvm, statement: JavaObject) -> JavaObject:
    """Put Python functions, which Spark's optimizer moved into the tables of a statement, back into the statement."""
    return jvm.static("bayou.Plans").restored(statement)


def assignments_of(jvm: Jvm, node: JavaObject) -> Pairs:
    """Return the columns that a resolved UPDATE or a clause of a MERGE sets, with their values.

    The values are without Spark's check for NULL, which names no column. bayou checks NOT NULL with the other constraints.
    """
    pairs = Pairs.of(jvm, node.assignments())
    return Pairs(pairs.keys, pairs.values.as_given())


def table_of(jvm: Jvm, relation: JavaObject) -> str | None:
    """Return the request of a relation of bayou as JSON, or None for any other node.

    A view or a projection counts if it shows columns of the table unchanged, under any names.
    """
    relation = jvm.static("bayou.ShownColumns").source(relation)
    if relation.getClass().getSimpleName() != "LogicalRelation":
        return None
    source = relation.relation()
    if source.getClass().getName() != "bayou.DeltaTable":
        return None
    text: str = source.location().table()
    return text


def shows_all(jvm: Jvm, relation: JavaObject) -> bool:
    """Whether a node for which `table_of` finds a table shows all its columns, in order and under their names."""
    return bool(jvm.static("bayou.ShownColumns").isWhole(relation))


def on_table(jvm: Jvm, statement: JavaObject) -> JavaObject:
    """Turn a resolved statement about a view into one about the table that it shows. Return any other statement as it is."""
    return jvm.static("bayou.ShownColumns").onSource(statement)


def over_table(jvm: Jvm, relation: JavaObject, values: ExpressionList) -> ExpressionList:
    """Turn expressions over the columns of a view into expressions over those of its table."""
    return ExpressionList(jvm, jvm.static("bayou.ShownColumns").onSource(relation, values.java))


def under_ids_of(jvm: Jvm, output: JavaObject, plan: JavaObject) -> JavaObject:
    """Return a plan whose columns, of the same types, have the names and the ids of some attributes, one by one."""
    return jvm.static("bayou.Plans").under(output, plan)


def statement_rows(
    jvm: Jvm, spark: SparkSession, output: JavaObject, plan: JavaObject, names: Sequence[str], others: Sequence[str] = ()
) -> DataFrame:
    """Return the rows of a plan under the names and expression ids of a statement. `others` are columns that keep their names."""
    made = jvm.static("bayou.Plans").named(output, plan, Bulk.of(jvm).strings(pa.array([*names, *others], pa.string())))
    return DataFrame(dataset(jvm, java_session(spark), made), spark)
