# SPDX-License-Identifier: Apache-2.0
"""Run MERGE statements and `df.mergeInto` on Delta tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.connect import proto

from bayou.protocol.types.sql_text import column_sql
from bayou.spark.dml.merge.execute import MergeRequest, planned
from bayou.spark.dml.merge.resolution.clauses import Action, Clause, Kind
from bayou.spark.portable.commands.path_names import PathNames
from bayou.spark.portable.commands.targets import refuse_view, target_at
from bayou.spark.portable.names import name_parts, path_in
from bayou.spark.portable.requests.answers import CommandAnswer
from bayou.spark.portable.requests.frames import column_of, frame_of
from bayou.spark.portable.text.queries import TableReference
from bayou.spark.portable.text.subqueries import query_behind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.dml.core.result import PlannedChange
    from bayou.spark.portable.text.queries import Part
    from bayou.spark.portable.text.row_changes import Merge
    from bayou.spark.read.session_table import SessionTable
    from bayou.spark.session.application import Application

_KINDS: Final = {
    "matched": Kind.MATCHED,
    "not matched": Kind.NOT_MATCHED,
    "not matched by source": Kind.NOT_MATCHED_BY_SOURCE,
}


def planned_merge(
    target: SessionTable,
    merge: Merge,
    text: str,
    query: Callable[[str], DataFrame],
    sql_of: Callable[[Part], str],
    names: PathNames,
) -> PlannedChange:
    """Plan a MERGE statement.

    Args:
        text: the statement, without parameters.
        query: returns the rows of a query in the statement, given its text.
        sql_of: returns the SQL of an expression in the statement.
        names: the names with the path of the table, as `sql_of` replaces them.
    """
    source, alias = merge.source, merge.source_alias
    if isinstance(source, TableReference):
        of_source = f"SELECT * FROM {text[source.start : source.end]}"  # noqa: S608  (the user's own SQL)
        alias = source.parts[-1] if alias is None and source.parts else alias
    else:
        of_source = source.text
    rows = query(query_behind(None if merge.with_clause is None else merge.with_clause.text, of_source))
    rows = rows.toDF(*merge.source_columns) if merge.source_columns else rows
    rows = rows if alias is None else rows.alias(alias)
    clauses = [
        Clause(
            _KINDS[each.kind],
            Action(each.action),
            None if each.condition is None else sql_of(each.condition),
            None if each.is_star else [(column_sql(names.parts(one.target)), sql_of(one.value)) for one in each.assignments],
        )
        for each in merge.clauses
    ]
    condition = sql_of(merge.condition)
    name = names.alias if merge.alias is None else (merge.alias,)
    return planned(MergeRequest(target, rows, name, condition, clauses, merge.with_schema_evolution))


def merge_into(application: Application, spark: SparkSession, command: Any) -> CommandAnswer | None:
    """Run `df.mergeInto(...).merge()`; None if it does not change a Delta table by its path.

    Args:
        command: a `MergeIntoTableCommand`.
    """
    path = path_in(command.target_table_name)
    if path is None:
        refuse_view(spark, name_parts(command.target_table_name) or (), "MERGE")
        return None
    target = target_at(application, spark, path, "MERGE")
    names = PathNames(path, target.settings)
    clauses = [
        *_clauses(Kind.MATCHED, command.match_actions, names),
        *_clauses(Kind.NOT_MATCHED, command.not_matched_actions, names),
        *_clauses(Kind.NOT_MATCHED_BY_SOURCE, command.not_matched_by_source_actions, names),
    ]
    condition = column_of(names.expression(command.merge_condition))
    rows = frame_of(spark, command.source_table_plan)
    planned(MergeRequest(target, rows, names.alias, condition, clauses, command.with_schema_evolution)).run()
    return CommandAnswer()


def _clauses(kind: Kind, actions: Iterable[proto.Expression], names: PathNames) -> Iterator[Clause]:
    for expression in actions:
        each: Any = expression.merge_action
        word, _, star = proto.MergeAction.ActionType.Name(each.action_type).removeprefix("ACTION_TYPE_").partition("_")
        pairs = [(names.sql(_name(one.key)), column_of(names.expression(one.value))) for one in each.assignments]
        condition = column_of(names.expression(each.condition)) if each.HasField("condition") else None
        yield Clause(kind, Action(word.lower()), condition, None if star else pairs)


def _name(key: proto.Expression) -> str:
    """Return the name of a column that is set, as SQL."""
    if key.HasField("expression_string"):
        return str(key.expression_string.expression)
    return str(key.unresolved_attribute.unparsed_identifier)
