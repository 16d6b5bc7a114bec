# SPDX-License-Identifier: Apache-2.0
"""MERGE INTO as SQL: replace a statement by a command that runs it.

Most statements come from the parser, and bayou resolves them itself (see `dml.statements.parsed`). Other statements arrive after
Spark resolved them: `*` is expanded, structs are cast by the position of their fields, and DEFAULT is NULL. For these, bayou parses
the statement's string and resolves its names again. If that fails, for example because of parameters, bayou uses Spark's
resolution, and refuses assignments that Spark may have resolved differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from bayou.errors import DeltaError, failed, redact_uri
from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.types.traverse import has_struct
from bayou.spark.dml.core.result import COUNTS
from bayou.spark.dml.core.target import latest_snapshot, refuse_file_metadata
from bayou.spark.dml.merge.execute import MergeRequest, planned
from bayou.spark.dml.merge.resolution.clauses import Action, Clause, Kind
from bayou.spark.dml.statements.changed_table import changed_table
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst import row_changes
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.callbacks import BiFunction
from bayou.spark.jvm.core.session import session_of, settings_of
from bayou.spark.jvm.relations import commands
from bayou.spark.jvm.relations.plans import name_of, schema_of
from bayou.spark.native.dml.parsed import command_of_parsed, is_unresolved
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.read.session_table import SessionTable
from bayou.spark.session.settings import merges_schemas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.dml.core.result import PlannedChange
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

OPERATION = "MergeIntoTable"
"""The name of Spark's node."""
_KINDS = {
    "matchedActions": Kind.MATCHED,
    "notMatchedActions": Kind.NOT_MATCHED,
    "notMatchedBySourceActions": Kind.NOT_MATCHED_BY_SOURCE,
}
_ACTIONS = {
    "DeleteAction": Action.DELETE,
    "UpdateAction": Action.UPDATE,
    "UpdateStarAction": Action.UPDATE,
    "InsertAction": Action.INSERT,
    "InsertStarAction": Action.INSERT,
}


def merge_command(application: Application, statement: JavaObject) -> JavaObject:
    """Return the command that replaces a MERGE that Spark resolved. Executing it runs the statement; EXPLAIN does not.

    Raises:
        UnsupportedFeatureError: the target is a query.
    """
    jvm = jvm_of(application)
    table = changed_table(row_changes.table_of(jvm, catalyst.target_of(statement)), "MERGE")
    text = f"MERGE delta.`{redact_uri(table.path)}` ON {nodes.text_of(catalyst.condition_of(statement))}"
    run = BiFunction(jvm, lambda node, session: _run(application, node, session))
    return commands.command(jvm, run, statement, text, COUNTS["MERGE"])


def command_of_parsed_merge(application: Application, parsed: JavaObject, *, in_script: bool) -> JavaObject | None:
    """Return the command that replaces a parsed MERGE whose names are not resolved yet; None to let Spark resolve it first."""
    return command_of_parsed(
        application, parsed, catalyst.target_of(parsed), catalyst.condition_of(parsed), _planned, in_script=in_script
    )


def _planned(target: SessionTable, parsed: JavaObject) -> PlannedChange:
    frame = catalyst.frame_of(jvm_of(target.application), target.spark, catalyst.source_of(parsed))
    return planned(_as_written(target, frame, parsed))


def _run(application: Application, statement: JavaObject, session: JavaObject) -> str:
    jvm, spark = jvm_of(application), session_of(session)
    table = changed_table(row_changes.table_of(jvm, catalyst.target_of(statement)), "MERGE")
    target = SessionTable.of(application, spark, table.path, table.storage_options)
    parsed = catalyst.parsed_statement(jvm, statement)
    if parsed is not None and row_changes.shows_all(jvm, catalyst.target_of(statement)):
        try:
            plan = planned(_as_written(target, _source(target, statement, parsed), parsed))
        except (AnalysisException, DeltaError) as error:
            if not is_unresolved(error):
                raise
        else:
            return plan.run().counts_text
    snapshot, statement = latest_snapshot(target), row_changes.on_table(jvm, statement)
    refuse_file_metadata(schema_of(catalyst.target_of(statement)), snapshot)
    _refuse_doubtful(target, snapshot, statement)
    _refuse_evolution(target, snapshot, statement, parsed)
    return planned(_as_resolved(target, statement)).run().counts_text


def _source(target: SessionTable, statement: JavaObject, parsed: JavaObject) -> DataFrame:
    """Return the source that Spark resolved, under its name in the statement, so that unresolved expressions can refer to it."""
    jvm, source = jvm_of(target.application), catalyst.source_of(statement)
    name = catalyst.name_of(jvm, target.spark, catalyst.source_of(parsed))
    return catalyst.frame_of(jvm, target.spark, nodes.with_name(jvm, source, *name))


def _as_written(target: SessionTable, source: DataFrame, parsed: JavaObject) -> MergeRequest:
    """Return the request of a statement whose expressions are not resolved, with a resolved source."""
    jvm = jvm_of(target.application)
    return MergeRequest(
        target,
        source,
        catalyst.name_of(jvm, target.spark, catalyst.target_of(parsed)),
        catalyst.condition_of(parsed),
        _clauses(catalyst.clauses_of(jvm, parsed)),
        catalyst.wants_evolution(jvm, parsed),
    )


def _as_resolved(target: SessionTable, statement: JavaObject) -> MergeRequest:
    """Return the request of a statement that Spark resolved."""
    jvm = jvm_of(target.application)
    frame = catalyst.frame_of(jvm, target.spark, catalyst.source_of(statement))
    clauses = _clauses(catalyst.clauses_of(jvm, statement))
    return MergeRequest(target, frame, (), catalyst.condition_of(statement), clauses, node=catalyst.target_of(statement))


def _clauses(clauses: Sequence[catalyst.StatementClause]) -> list[Clause]:
    return [Clause(_KINDS[each.list_name], _ACTIONS[each.node], each.condition, _set(each)) for each in clauses]


def _set(clause: catalyst.StatementClause) -> list[tuple[JavaObject, JavaObject]] | None:
    return None if clause.pairs is None else list(zip(clause.pairs.keys, clause.pairs.values, strict=True))


def _refuse_doubtful(target: SessionTable, snapshot: Snapshot, statement: JavaObject) -> None:
    """Refuse assignments that Spark may have resolved differently than bayou."""
    jvm = jvm_of(target.application)
    for clause in catalyst.clauses_of(jvm, statement):
        for key in () if clause.pairs is None else clause.pairs.keys:
            if _is_doubtful(snapshot, name_of(key)):
                features = ("structs with parameters",)
                raise failed("DELTA_OPERATION_NOT_ALLOWED/merge-values", at=snapshot, column=nodes.text_of(key), features=features)


def _refuse_evolution(target: SessionTable, snapshot: Snapshot, statement: JavaObject, parsed: JavaObject | None) -> None:
    """Refuse `*` if the table would get new columns from the source: Spark expanded `*` without them."""
    jvm = jvm_of(target.application)
    wants = catalyst.wants_evolution(jvm, statement) or merges_schemas(settings_of(target.spark))
    if not wants or not (parsed is None or any(each.pairs is None for each in catalyst.clauses_of(jvm, parsed))):
        return
    source = schema_of(catalyst.source_of(statement))
    new = [field.name for field in source.fields if snapshot.schema.field(field.name) is None]
    if new:
        features = ("schema evolution with parameters",)
        raise failed("DELTA_OPERATION_NOT_ALLOWED/merge-evolution", at=snapshot, columns=new, features=features)


def _is_doubtful(snapshot: Snapshot, name: str) -> bool:
    field = snapshot.schema.field(name)
    return field is None or CURRENT_DEFAULT in field.metadata or has_struct(field.type)
