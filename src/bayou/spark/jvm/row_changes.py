# SPDX-License-Identifier: Apache-2.0
"""DELETE and UPDATE as nodes of Catalyst: made of a user's expressions, resolved by Spark, and taken apart again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import Column, DataFrame

from bayou.protocol.char_varchar import DECLARED_TYPE
from bayou.spark.jvm.adapters import Adapters
from bayou.spark.jvm.callbacks import FAILED_CALL
from bayou.spark.jvm.parser import sparks_parser
from bayou.spark.jvm.relation import dataset, struct_type
from bayou.spark.jvm.session import java_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.bridge import JavaObject, Jvm

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_COLUMNS = "org.apache.spark.sql.classic.ExpressionUtils"
"""Between columns and expressions, from Spark 4.0 on."""


def delete_statement(
    jvm: Jvm,
    spark: SparkSession,
    schema: str,
    alias: str | None,
    condition: str | Column | None,
    *,
    handed_out: JavaObject | None = None,
) -> tuple[JavaObject, JavaObject]:
    """A DELETE, as Spark resolved it and as it optimised it. It raises what it raises for the statement in SQL.

    Args:
        jvm: the bridge.
        spark: the session under whose settings it is resolved.
        schema: JSON of the table's columns.
        alias: the name by which the condition may call the table.
        condition: which rows; None for all.
        handed_out: the columns of the table's own DataFrames, which the condition may name (see `meant`); None for none.
    """
    table = _table(jvm, spark, schema, alias)
    found = jvm.static(f"{_EXPRESSIONS}.Literal").TrueLiteral() if condition is None else expression(jvm, spark, condition)
    found = meant(jvm, found, handed_out, table.output())
    statement = jvm.static(f"{_LOGICAL}.DeleteFromTable")(table, found)
    execution = _execution(jvm, spark, statement)
    return execution.analyzed(), restored(jvm, execution.optimizedPlan())


def update_statement(
    jvm: Jvm,
    spark: SparkSession,
    schema: str,
    alias: str | None,
    condition: JavaObject | None,
    assignments: Sequence[tuple[JavaObject, JavaObject]],
    *,
    handed_out: JavaObject | None = None,
) -> tuple[JavaObject, JavaObject, list[JavaObject]]:
    """An UPDATE, as Spark resolved it and as it optimised it, and the values as they were given; see `delete_statement`.

    Args:
        jvm: the bridge.
        spark: the session.
        schema: JSON of the table's columns.
        alias: the name by which expressions may call the table.
        condition: which rows; None for all.
        assignments: columns and their new values, none of them resolved.
        handed_out: as for `delete_statement`.
    """
    table = _table(jvm, spark, schema, alias)
    output = table.output()
    values = _resolved(jvm, spark, table, [meant(jvm, value, handed_out, output) for _, value in assignments])
    # Spark would cast the values to the columns' types, structs by position; so that it does not, each column is set to itself.
    update, assignment = jvm.static(f"{_LOGICAL}.UpdateTable"), jvm.static(f"{_LOGICAL}.Assignment")
    made = [assignment(name, name) for name, _ in assignments]
    named = _execution(jvm, spark, update(table, jvm.seq(made), jvm.none)).analyzed()
    if condition is None:
        return named, named, values
    # The session's variables are known to the condition of a DELETE, and not to that of an UPDATE.
    where = jvm.static(f"{_LOGICAL}.DeleteFromTable")(table, meant(jvm, condition, handed_out, output))
    execution = _execution(jvm, spark, where)
    analysed, optimised = (
        update(each.table(), named.assignments(), jvm.some(each.condition()))
        for each in (execution.analyzed(), restored(jvm, execution.optimizedPlan()))
    )
    return analysed, optimised, values


def written(jvm: Jvm, statement: JavaObject) -> JavaObject | None:
    """A statement of SQL as it stands in its text, parsed and not resolved; None where there is no text.

    Args:
        jvm: the bridge.
        statement: the DeleteFromTable or UpdateTable that Spark made of it.
    """
    text = statement.origin().sqlText()
    if not text.isDefined():
        return None
    try:
        parsed = sparks_parser(jvm, jvm.view.org.apache.spark.sql.SparkSession.active()).parsePlan(text.get())
    except FAILED_CALL:
        return None
    while parsed.nodeName() != statement.nodeName():
        children = parsed.children()
        if children.size() != 1:
            return None
        parsed = children.head()
    return parsed


def resolved_value(
    jvm: Jvm, spark: SparkSession, statement: JavaObject, parsed: JavaObject, value: JavaObject
) -> JavaObject | None:
    """A value of an UPDATE's text, resolved against its table; None where it cannot be, as with parameters in it.

    Args:
        jvm: the bridge.
        spark: the session.
        statement: the UpdateTable.
        parsed: what `written` gives for it.
        value: the value, parsed.
    """
    named, table = parsed.table(), statement.table()
    if named.nodeName() == "SubqueryAlias":
        table = jvm.construct(jvm.java_class(f"{_LOGICAL}.SubqueryAlias"), named.identifier(), table)
    try:
        return _resolved(jvm, spark, table, [value])[0]
    except FAILED_CALL:
        return None


def optimised(frame: DataFrame) -> None:
    """Has Spark simplify a query, which computes its constants; nothing is run."""
    frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001  (the bridge)


def text_of(found: JavaObject) -> str:
    """An expression as it can be shown, whether it is resolved or not."""
    try:
        text: str = found.sql()
    except FAILED_CALL:  # some ask for types
        text = found.toString()
    return text


def parts_of(jvm: Jvm, name: JavaObject, alias: str | None) -> tuple[str, ...]:
    """The parts of the name of a column that is not resolved, without the table's alias before them."""
    parts = tuple(map(str, jvm.list_of(name.nameParts())))
    return parts[1:] if len(parts) > 1 and alias is not None and parts[0].lower() == alias.lower() else parts


def is_default(jvm: Jvm, value: JavaObject) -> bool:
    """Whether a parsed value is the word DEFAULT."""
    if value.getClass().getSimpleName() != "UnresolvedAttribute":
        return False
    return [str(part).upper() for part in jvm.list_of(value.nameParts())] == ["DEFAULT"]


def _resolved(jvm: Jvm, spark: SparkSession, table: JavaObject, values: Sequence[JavaObject]) -> list[JavaObject]:
    """Expressions over a table's columns, resolved as parts of a condition, where Spark checks them and casts nothing."""
    names = [expression(jvm, spark, f"'v{number}'") for number in range(len(values))]
    pairs = jvm.seq(part for pair in zip(names, values, strict=True) for part in pair)
    condition = jvm.static(f"{_EXPRESSIONS}.IsNotNull")(jvm.static(f"{_EXPRESSIONS}.CreateNamedStruct")(pairs))
    analysed = _execution(jvm, spark, jvm.static(f"{_LOGICAL}.DeleteFromTable")(table, condition)).analyzed()
    return jvm.list_of(analysed.condition().child().children())[1::2]


def refuse_unusual(jvm: Jvm, spark: SparkSession, table: JavaObject, values: Sequence[Any]) -> None:
    """Has Spark say what is wrong with values that are no expressions over the columns of a row.

    Args:
        jvm: the bridge.
        spark: the session.
        table: the plan whose columns they may name.
        values: SQL, columns, or expressions of Catalyst that are not resolved.

    Raises:
        pyspark.errors.AnalysisException: one is an aggregate, a window function, a generator or a function in SQL.
    """
    _resolved(jvm, spark, table, [expression(jvm, spark, value) for value in values])


def _table(jvm: Jvm, spark: SparkSession, schema: str, alias: str | None) -> JavaObject:
    """A relation that only has the columns; the optimizer leaves it where it is."""
    nothing = spark.sparkContext._jsc.emptyRDD()  # noqa: SLF001  (the bridge)
    rows = java_session(spark).createDataFrame(nothing, struct_type(jvm, schema))
    return (rows if alias is None else rows.alias(alias)).queryExecution().analyzed()


def _execution(jvm: Jvm, spark: SparkSession, statement: JavaObject) -> JavaObject:
    """A plan as a query that Spark has resolved and checked; nothing of it is run."""
    skip = jvm.module("org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    execution = java_session(spark).sessionState().executePlan(statement, skip)
    execution.assertAnalyzed()
    return execution


def expression(jvm: Jvm, spark: SparkSession, given: Any) -> JavaObject:
    """A Catalyst expression of SQL text or of a column; one that is given is itself."""
    if isinstance(given, str):
        return java_session(spark).sessionState().sqlParser().parseExpression(given)
    if not isinstance(given, Column):
        return given
    found: JavaObject = given._jc  # noqa: SLF001  (the bridge)
    try:
        jvm.module(_COLUMNS)
    except LookupError:
        return found.expr()
    return java_session(spark).expression(found)


def meant(
    jvm: Jvm, found: JavaObject, handed_out: JavaObject | None, columns: JavaObject, others: JavaObject | None = None
) -> JavaObject:
    """An expression that may have columns of a table's own DataFrames in it, with the statement's columns in their places.

    Args:
        jvm: the bridge.
        found: the expression, not resolved.
        handed_out: the columns of these DataFrames: an `Object[]` of Scala `Seq`s; None for none.
        columns: the statement's columns of the table.
        others: the columns of other rows in the statement; None where there are none.
    """
    if handed_out is None or Adapters.known(jvm) is None:
        return found
    return jvm.static("bayou.Plans").meant(found, handed_out, columns, jvm.seq([]) if others is None else others)


def column(jvm: Jvm, found: JavaObject) -> Column:
    """A Catalyst expression as a column."""
    make = cast("Callable[[JavaObject], Column]", Column)  # PySpark has no type for it
    try:
        made: Column = make(jvm.module(_COLUMNS).column(found))
    except LookupError:
        made = make(jvm.static("org.apache.spark.sql.Column")(found))
    return made


@dataclass(frozen=True, slots=True)
class Expressions:
    """What a resolved statement is made of.

    Attributes:
        relation: the node that stands for the table.
        output: its attributes, which the expressions refer to by their ids: a Scala `Seq`.
        condition: which rows; None for all.
        assignments: for an UPDATE, the assigned columns and their new values.
    """

    relation: JavaObject
    output: JavaObject
    condition: JavaObject | None
    assignments: Sequence[tuple[JavaObject, JavaObject]] = ()


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
    if condition is not None and Adapters.known(jvm) is not None:
        condition = jvm.static("bayou.Plans").padded(condition, DECLARED_TYPE)
    if statement.nodeName() == "DeleteFromTable":
        return Expressions(relation, relation.output(), condition)
    return Expressions(relation, relation.output(), condition, assignments_of(jvm, statement))


def restored(jvm: Jvm, statement: JavaObject) -> JavaObject:
    """A statement as it was before Spark's optimizer took Python's functions out of it, into its tables."""
    return statement if Adapters.known(jvm) is None else jvm.static("bayou.Plans").restored(statement)


def assignments_of(jvm: Jvm, node: JavaObject) -> list[tuple[JavaObject, JavaObject]]:
    """The columns that a resolved UPDATE or a clause of a MERGE sets, with their values.

    What must not be NULL is checked with the table's other rules: Spark's own check, which names no column, is left out.
    """
    return [(each.key(), _as_given(jvm, each.value())) for each in jvm.list_of(node.assignments())]


def _as_given(jvm: Jvm, value: JavaObject) -> JavaObject:
    return jvm.static("bayou.Plans").asGiven(value) if "assertnotnull(" in value.toString().lower() else value


def table_of(jvm: Jvm, relation: JavaObject) -> str | None:
    """The request that one of bayou's relations stands for, as JSON; None for any other node.

    Args:
        jvm: the bridge.
        relation: the node; where the table is cached, the one that Spark puts in its place.
    """
    names = [each.name() for each in jvm.list_of(relation.output())]
    if relation.getClass().getSimpleName() == "InMemoryRelation":
        relation = jvm.static("bayou.Plans").cached(relation)
    while relation.getClass().getSimpleName() in ("SubqueryAlias", "View", "Project"):
        relation = relation.children().head()
    if relation.getClass().getSimpleName() != "LogicalRelation" or names != [
        each.name() for each in jvm.list_of(relation.output())
    ]:
        return None
    found = relation.relation()
    if found.getClass().getName() != "bayou.DeltaTable":
        return None
    text: str = found.location().table()
    return text


def names_of(jvm: Jvm, found: JavaObject) -> set[str]:
    """The names of the columns that an expression looks at."""
    return {each.name() for each in _references(jvm, found)}


def _references(jvm: Jvm, found: JavaObject) -> list[JavaObject]:
    return jvm.list_of(found.references().toSeq())


def conjuncts(jvm: Jvm, condition: JavaObject) -> list[JavaObject]:
    """The conditions that all have to be true for the condition to be true."""
    if condition.getClass().getSimpleName() != "And":
        return [condition]
    return [*conjuncts(jvm, condition.left()), *conjuncts(jvm, condition.right())]


def has_subquery(found: JavaObject) -> bool:
    """Whether there is a subquery in an expression."""
    return any("Subquery" in name or name in ("Exists", "ListQuery") for name in _node_names(found))


def calls_python(found: JavaObject) -> bool:
    """Whether an expression calls Python's functions: then Spark cannot evaluate it outside of a query."""
    return any(name.startswith("PythonUD") for name in _node_names(found))


def _node_names(found: JavaObject) -> Iterator[str]:
    pending = [found]
    while pending:
        node = pending.pop()
        yield node.getClass().getSimpleName()
        children = node.children()
        pending += [children.apply(position) for position in range(children.size())]


def constant(condition: JavaObject) -> bool | None:
    """Whether a condition is true for every row, or for none; None where it depends on the row."""
    if condition.getClass().getSimpleName() != "Literal":
        return None
    return bool(condition.value())


def type_of(found: JavaObject) -> str:
    """JSON of a resolved expression's type."""
    text: str = found.dataType().json()
    return text


def is_boolean(found: JavaObject) -> bool:
    """Whether a resolved expression is a condition; a plain NULL is one."""
    return found.dataType().typeName() in ("boolean", "void")


def sql_of(jvm: Jvm, found: JavaObject) -> str:
    """A resolved expression as SQL, its columns without the table's name before them."""
    text: str = found.sql()
    qualifiers = {".".join(_quoted(part) for part in jvm.list_of(each.qualifier())) for each in _references(jvm, found)}
    named = [re.escape(each) for each in sorted(qualifiers - {""}, key=len, reverse=True)]
    if not named:
        return text
    # A text in quotes stays as it is, and so does what only ends like a qualifier.
    parts = re.compile(rf"'(?:[^'\\]|\\.)*'|(?<![\w`.])(?:{'|'.join(named)})\.")
    return parts.sub(lambda part: part[0] if part[0].startswith("'") else "", text)


def _quoted(name: str) -> str:
    return name if name.isascii() and name.replace("_", "a").isalnum() and not name.isdecimal() else f"`{name.replace('`', '``')}`"


def statement_rows(
    jvm: Jvm, spark: SparkSession, output: JavaObject, plan: JavaObject, names: Sequence[str], others: Sequence[str] = ()
) -> DataFrame:
    """The rows of a plan under the names and the expression ids that a statement has for them.

    Args:
        jvm: the bridge.
        spark: the session.
        output: the statement's attributes.
        plan: a plan with the same columns.
        names: their names in the plan.
        others: further columns of the plan, which keep their names.
    """
    session = java_session(spark)
    if Adapters.known(jvm) is not None:
        made = jvm.static("bayou.Plans").named(output, plan, jvm.array(jvm.static("java.lang.String"), [*names, *others]))
        return DataFrame(dataset(jvm, session, made), spark)
    given = {each.name(): each for each in jvm.list_of(plan.output())}
    alias = jvm.java_class(f"{_EXPRESSIONS}.Alias")
    made = [
        jvm.construct(alias, given[name], want.name(), want.exprId(), want.qualifier(), jvm.none, jvm.seq([]))
        for want, name in zip(jvm.list_of(output), names, strict=True)
    ]
    project = jvm.static(f"{_LOGICAL}.Project")(jvm.seq([*made, *(given[name] for name in others)]), plan)
    return DataFrame(dataset(jvm, session, project), spark)


def command(jvm: Jvm, body: Any, statement: JavaObject, text: str, counts: Sequence[str] = ()) -> JavaObject:
    """A command that stands for a statement until it is executed.

    Args:
        jvm: the bridge.
        body: called with the statement and the JVM session when it is executed, a `BiFunction`; gives a text.
        statement: the statement.
        text: what EXPLAIN shows.
        counts: the columns of the row of counts that the statement gives, whose values the body's text has as JSON. None where
            Spark has resolved the statement: it has no columns then.
    """
    columns = jvm.seq([])
    if counts:
        types = jvm.module("org.apache.spark.sql.types.StructType").fromDDL(", ".join(f"{name} bigint" for name in counts))
        columns = jvm.module("org.apache.spark.sql.catalyst.types.DataTypeUtils").toAttributes(types)
    return jvm.static("bayou.RowChange").of(body, statement, text, columns)


def counts_of_statement(frame: DataFrame) -> str | None:
    """The counts of a statement that Spark has resolved, as the body of its command gave them; None for any other DataFrame.

    A statement that came from the parser has them in its row.

    Args:
        frame: what `SparkSession.sql` gave.
    """
    executed = frame._jdf.queryExecution().commandExecuted()  # noqa: SLF001  (the bridge)
    if executed.nodeName() != "CommandResult":
        return None
    plan = executed.commandPhysicalPlan()
    if plan.getClass().getSimpleName() != "ExecutedCommandExec" or plan.cmd().nodeName() != "RowChange":
        return None
    if not plan.cmd().output().isEmpty():
        return None
    counts: str = plan.cmd().counts()
    return counts
