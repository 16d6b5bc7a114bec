# SPDX-License-Identifier: Apache-2.0
"""Read and rewrite nodes of the parsers of newer Spark versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.spark.jvm.catalyst.merge import NotAnExpressionError, resolved
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.callbacks import FAILED_CALL
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.relations.parser import sparks_parser, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_KEYS = {"PrimaryKeyConstraint": "PRIMARY KEY", "ForeignKeyConstraint": "FOREIGN KEY", "UniqueConstraint": "UNIQUE"}


@dataclass(frozen=True, slots=True)
class DeclaredConstraint:
    """A constraint as a statement declares it.

    Attributes:
        kind: CHECK, PRIMARY KEY, FOREIGN KEY or UNIQUE.
        name: its name; Spark creates one if the statement has none.
        condition: the condition of a CHECK, with one blank between words; empty for a key.
        says_rely: whether it says RELY or NORELY.
    """

    kind: str
    name: str
    condition: str
    says_rely: bool


def declared_constraint(jvm: Jvm, found: JavaObject) -> DeclaredConstraint:
    """Read a TableConstraint."""
    name = str(found.getClass().getSimpleName())
    kind = _KEYS.get(name, "CHECK")
    condition = " ".join(words(jvm, found.condition())) if kind == "CHECK" else ""
    says_rely = found.userProvidedCharacteristic().rely().isDefined()
    return DeclaredConstraint(kind, str(found.name()), condition, says_rely)


def created_name(create: JavaObject) -> JavaObject:
    """Return the identifier of the table of a CreateTable or a ReplaceTable."""
    return create.name()


def altered_table(statement: JavaObject) -> JavaObject:
    """Return the table of an ALTER TABLE."""
    return statement.table()


def added_constraint(jvm: Jvm, alter: JavaObject) -> DeclaredConstraint:
    """Read the constraint of an AddConstraint."""
    return declared_constraint(jvm, alter.tableConstraint())


def declared_constraints(jvm: Jvm, create: JavaObject) -> list[DeclaredConstraint]:
    """Return the constraints of a CreateTable or a ReplaceTable."""
    return [declared_constraint(jvm, each) for each in jvm.list_of(create.tableSpec().constraints())]


def provider_of(create: JavaObject) -> str | None:
    """Return the format after USING of a CreateTable or a ReplaceTable, or None."""
    provider = create.tableSpec().provider()
    return str(provider.get()) if provider.isDefined() else None


def with_properties(jvm: Jvm, create: JavaObject, properties: Mapping[str, str]) -> JavaObject:
    """Return a CreateTable or a ReplaceTable with more properties and without constraints."""
    nodes, table = jvm.static("bayou.Nodes"), create.tableSpec()
    merged = table.properties()
    for key, value in properties.items():
        merged = merged.updated(key, value)
    table = nodes.replaced(table, "properties", merged)
    table = nodes.replaced(table, "constraints", jvm.seq([]))
    return nodes.replaced(create, "tableSpec", table)


def parts_of_name(jvm: Jvm, found: JavaObject) -> list[str] | None:
    """Return the parts of the name of an unresolved table or identifier, or None if it is computed."""
    match found.nodeName():
        case "UnresolvedIdentifier":
            return [str(each) for each in jvm.list_of(found.nameParts())]
        case "UnresolvedTable" | "UnresolvedRelation":
            return [str(each) for each in jvm.list_of(found.multipartIdentifier())]
    return None


def commented_column(jvm: Jvm, comment: JavaObject) -> list[str]:
    """Return the parts of the name in COMMENT ON COLUMN: those of the table, then those of the column."""
    table = parts_of_name(jvm, comment.table()) or []
    return [*table, *(str(each) for each in jvm.list_of(comment.specs().head().column().name()))]


def as_alter_column(jvm: Jvm, session: JavaObject, comment: JavaObject, table: str, column: str) -> JavaObject:
    """Turn a COMMENT ON COLUMN into the equivalent ALTER TABLE ... ALTER COLUMN ... COMMENT. The names are in SQL."""
    nodes, parsed = (
        jvm.static("bayou.Nodes"),
        sparks_parser(jvm, session).parsePlan(f"ALTER TABLE {table} ALTER COLUMN {column} COMMENT ''"),
    )
    spec = nodes.replaced(comment.specs().head(), "column", parsed.specs().head().column())
    return nodes.replaced(parsed, "specs", jvm.seq([spec]))


@dataclass(frozen=True, slots=True)
class ReplacingInsert:
    """INSERT ... REPLACE USING or REPLACE ON.

    Attributes:
        table: the parts of the table's name; None if it is computed.
        columns: the columns of REPLACE USING; None for REPLACE ON.
        condition: the condition of REPLACE ON in SQL.
        alias: the condition's alias of the table.
        by_name: whether it says BY NAME.
        named: the columns that the statement lists.
        evolves: whether it says WITH SCHEMA EVOLUTION.
        is_in_node: whether Spark's node has the clause. If not, the node is an INSERT that replaces nothing.
        has_subquery: whether the condition contains a subquery.
    """

    table: list[str] | None
    columns: list[str] | None
    condition: str
    alias: str | None
    by_name: bool
    named: Sequence[str]
    evolves: bool
    query: JavaObject
    is_in_node: bool = True
    has_subquery: bool = False

    @classmethod
    def of(cls, jvm: Jvm, insert: JavaObject) -> ReplacingInsert:
        """Read an InsertIntoStatement."""
        criteria = insert.replaceCriteriaOpt().get()
        uses = criteria.getClass().getSimpleName() == "InsertReplaceUsing"
        alias = None if uses or not criteria.tableAliasOpt().isDefined() else str(criteria.tableAliasOpt().get())
        return cls(
            table=parts_of_name(jvm, insert.table()),
            columns=[str(each) for each in jvm.list_of(criteria.cols())] if uses else None,
            condition="" if uses else str(criteria.cond().sql()),
            alias=alias,
            by_name=bool(insert.byName()),
            named=[str(each) for each in jvm.list_of(insert.userSpecifiedCols())],
            evolves=bool(insert.withSchemaEvolution()),
            query=insert.query(),
            has_subquery=not uses and nodes.has_subquery(criteria.cond()),
        )


def unwrapped(plan: JavaObject) -> JavaObject:
    """Return a parsed statement, or the one that an EXPLAIN explains."""
    return plan.logicalPlan() if plan.nodeName() == "ExplainCommand" else plan


def rewrapped(jvm: Jvm, plan: JavaObject, statement: JavaObject) -> JavaObject:
    """Put another statement in the place of the one that `unwrapped` returned."""
    return jvm.static("bayou.Nodes").replaced(plan, "logicalPlan", statement) if plan.nodeName() == "ExplainCommand" else statement


def knows_clustering(jvm: Jvm) -> bool:
    """Whether Spark's parser knows CREATE TABLE ... CLUSTER BY."""
    return jvm.has_class("org.apache.spark.sql.connector.expressions.ClusterByTransform")


def knows_replacing(jvm: Jvm) -> bool:
    """Whether Spark's parser knows INSERT ... REPLACE USING and REPLACE ON."""
    return jvm.has_class("org.apache.spark.sql.catalyst.plans.logical.InsertReplaceUsing")


def partitioning_of(jvm: Jvm, create: JavaObject) -> list[str]:
    """Return the names of the partition transforms of a CREATE or REPLACE TABLE."""
    return [str(each.name()) for each in jvm.list_of(create.partitioning())]


def with_clustering(jvm: Jvm, create: JavaObject, columns: Sequence[str]) -> JavaObject:
    """Add clustering columns to a CREATE or REPLACE TABLE: a `cluster_by` without columns, then one transform per column.

    Spark looks up columns in any case only for its own transforms, and before 4.0 none of them accepts several columns.
    """
    package = "org.apache.spark.sql.connector.expressions"
    made = [jvm.static(f"{package}.ApplyTransform")("cluster_by", jvm.seq([]))]
    made += [jvm.static(f"{package}.Expressions").identity(each) for each in columns]
    return jvm.static("bayou.Nodes").replaced(create, "partitioning", jvm.seq(made))


def with_own_queries(jvm: Jvm, statement: JavaObject) -> JavaObject:
    """Move the queries of the WITH before an INSERT into its own query. Return any other statement as it is."""
    if statement.nodeName() != "UnresolvedWith":
        return statement
    nodes, insert = jvm.static("bayou.Nodes"), statement.child()
    return nodes.replaced(insert, "query", nodes.replaced(statement, "child", insert.query()))


def replacing_insert(
    jvm: Jvm, insert: JavaObject, *, columns: Sequence[str] | None, condition: str, alias: str | None
) -> ReplacingInsert:
    """Combine an InsertIntoStatement with the clause that was cut out of its SQL."""
    return ReplacingInsert(
        table=parts_of_name(jvm, insert.table()),
        columns=None if columns is None else list(columns),
        condition=condition,
        alias=alias,
        by_name=bool(insert.byName()),
        named=[str(each) for each in jvm.list_of(insert.userSpecifiedCols())],
        evolves=False,
        query=insert.query(),
        is_in_node=False,
    )


def with_named_query(jvm: Jvm, insert: JavaObject, name: str) -> JavaObject:
    """Return an InsertIntoStatement with an alias for its query."""
    aliases = jvm.module("org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias")
    return jvm.static("bayou.Nodes").replaced(insert, "query", aliases.apply(name, insert.query()))


def has_computed_table(table: JavaObject) -> bool:
    """Whether an expression names the relation of a row change: `IDENTIFIER('a' || 'b')`."""
    return bool(_unaliased(table).nodeName() == "PlanWithUnresolvedIdentifier")


def table_node(statement: JavaObject) -> JavaObject:
    """Return the table of an unresolved DeleteFromTable, UpdateTable or MergeIntoTable, with its alias."""
    return statement.children().head()


def with_named_table(jvm: Jvm, spark: SparkSession, statement: JavaObject) -> JavaObject | None:
    """Replace the constant expression for a statement's table by the name, or return None if it is not constant.

    The table is the first child of the unresolved DeleteFromTable, UpdateTable or MergeIntoTable.
    """
    table, *others = jvm.list_of(statement.children())
    computed = _unaliased(table)
    try:
        one_row = jvm.static("org.apache.spark.sql.catalyst.plans.logical.OneRowRelation")()
        (name,) = resolved(jvm, spark, one_row, [computed.identifierExpr()])
        if not name.foldable() or name.dataType().typeName() != "string":
            return None
        text = name.eval(None)
        parts = java_session(spark).sessionState().sqlParser().parseMultipartIdentifier(text.toString())
    except (*FAILED_CALL, NotAnExpressionError, AttributeError):  # Spark reports what is wrong with the name
        return None
    named = _with_table(jvm, table, jvm.static("bayou.Nodes").named(computed, parts))
    return statement.withNewChildren(jvm.seq([named, *others]))


def _unaliased(table: JavaObject) -> JavaObject:
    while table.nodeName() in ("SubqueryAlias", "UnresolvedSubqueryColumnAliases"):
        table = table.child()
    return table


def _with_table(jvm: Jvm, table: JavaObject, named: JavaObject) -> JavaObject:
    if table.nodeName() not in ("SubqueryAlias", "UnresolvedSubqueryColumnAliases"):
        return named
    return table.withNewChildren(jvm.seq([_with_table(jvm, table.child(), named)]))


def as_overwrite(jvm: Jvm, insert: JavaObject, options: Mapping[str, str]) -> JavaObject:
    """Turn an InsertIntoStatement with REPLACE into INSERT OVERWRITE with options of the writer."""
    nodes, relation = jvm.static("bayou.Nodes"), insert.table()
    given = jvm.static("java.util.HashMap")(relation.options().asCaseSensitiveMap())
    for key, value in options.items():
        given.put(key, value)
    made = jvm.static("org.apache.spark.sql.util.CaseInsensitiveStringMap")(given)
    relation = nodes.replaced(relation, "options", made)
    for name, value in {"table": relation, "overwrite": True, "replaceCriteriaOpt": jvm.none}.items():
        insert = nodes.replaced(insert, name, value)
    return insert


def with_query(jvm: Jvm, insert: JavaObject, rows: DataFrame) -> JavaObject:
    """Return an InsertIntoStatement with other rows."""
    plan = rows._jdf.queryExecution().logical()  # noqa: SLF001  (the bridge)
    return jvm.static("bayou.Nodes").replaced(insert, "query", plan)
