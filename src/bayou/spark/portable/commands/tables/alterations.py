# SPDX-License-Identifier: Apache-2.0
"""Run ALTER TABLE and COMMENT ON.

The changes take the form in which a classic session gets them from Spark, and are carried out by the same code.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError, failed
from bayou.protocol.schema.validity import check_types
from bayou.protocol.types.schema import StructField, StructType, schema_to_json
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.alter import clustering
from bayou.spark.alter import constraints as alter_constraints
from bayou.spark.portable.commands.tables.creations import name_of, schema_of
from bayou.spark.portable.requests.answers import CommandAnswer
from bayou.spark.portable.text.tables.alterations import (
    AddColumns,
    AddConstraint,
    ChangeColumns,
    ClusterBy,
    ColumnChange,
    Comment,
    DropColumns,
    DropConstraint,
    RefusedAlteration,
    RenameColumn,
    ReplaceColumns,
    SetProperties,
    UnsetProperties,
)
from bayou.spark.portable.text.tables.columns import Column
from bayou.spark.read.request import is_table
from bayou.spark.read.session_table import SessionTable
from bayou.spark.sql import alter_table
from bayou.spark.sql.alter_table import Change
from bayou.spark.table.refused_commands import refused_command, refused_on_path
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.portable.text.tables.alterations import Alter, Alteration, CommentOnColumn
    from bayou.spark.session.application import Application

_DONE: Final = CommandAnswer()
_PARTS_OF_PATH: Final = 2


def altered(application: Application, spark: SparkSession, statement: Alter, path: str) -> CommandAnswer:
    """Alter a table.

    Args:
        path: the table's path.

    Raises:
        TableNotFoundError: the table does not exist.
    """
    name = column_sql(statement.table.parts)
    if not is_table(path):
        raise failed("TABLE_OR_VIEW_NOT_FOUND", table=name)
    change = statement.alteration
    if isinstance(change, RefusedAlteration):
        raise _refusal(change, path)
    target = SessionTable.of(application, spark, qualify(path).uri, {})
    if isinstance(change, AddConstraint):
        own = name_of(change.constraint, statement.table.parts[-1])
        alter_constraints.check_declared(own, change.constraint.kind, says_rely=change.constraint.says_rely, table=name)
        alter_constraints.add_constraint(target, own, change.constraint.condition)
    elif isinstance(change, DropConstraint):
        alter_constraints.drop_constraint(target, change.name, if_exists=change.if_exists)
    elif isinstance(change, ClusterBy):
        clustering.alter_cluster_by(target, change.columns)
    else:
        changes = _changes(application, spark, target, change)
        _check_columns(target, changes)
        alter_table.run(target, changes)
    return _DONE


def commented(application: Application, spark: SparkSession, statement: CommentOnColumn, path: str) -> CommandAnswer:
    """Set or remove the comment of a column."""
    facts = {} if statement.text is None else {"newComment": statement.text}
    target = SessionTable.of(application, spark, qualify(path).uri, {})
    changes = [Change.at("UpdateColumnComment", statement.parts[_PARTS_OF_PATH:], facts)]
    _check_columns(target, changes)
    alter_table.run(target, changes)
    return _DONE


def _changes(application: Application, spark: SparkSession, target: SessionTable, change: Alteration) -> list[Change]:
    found: list[Change] = []
    match change:
        case AddColumns(columns):
            found += _added(application, spark, columns)
        case ReplaceColumns(columns):
            found += [Change.at("DeleteColumn", (each,), {}) for each in target.snapshot().schema.names]
            found += _added(application, spark, columns)
        case RenameColumn(path, name):
            found = [Change.at("RenameColumn", path, {"newName": name})]
        case DropColumns(paths, if_exists):
            found = [Change.at("DeleteColumn", path, {"ifExists": str(if_exists).lower()}) for path in paths]
        case ChangeColumns(changes):
            found = [each for one in changes for each in _changed(application, spark, one)]
        case SetProperties(properties):
            found = [Change("SetProperty", {"property": key, "value": value}) for key, value in properties.items()]
        case UnsetProperties(keys):
            found = [Change("RemoveProperty", {"property": key}) for key in keys]
        case Comment(text):
            found = [Change("SetProperty", {"property": "comment", "value": text})]
    return found


def _check_columns(target: SessionTable, changes: Sequence[Change]) -> None:
    """Raise SchemaMismatchError, as Spark's analyzer does, if a change is about a top-level column that does not exist."""
    snapshot = target.snapshot()
    for each in changes:
        is_of_column = each.kind.startswith("UpdateColumn") or each.kind in ("RenameColumn", "DeleteColumn")
        if is_of_column and each.facts.get("ifExists") != "true" and snapshot.schema.field(each.path[0]) is None:
            columns = snapshot.schema.names
            raise failed("UNRESOLVED_COLUMN.WITH_SUGGESTION", at=snapshot, column=column_sql(each.path), columns=columns)


def _added(application: Application, spark: SparkSession, columns: Sequence[Column]) -> Iterator[Change]:
    schema = schema_of(application, spark, columns)
    check_types(schema, None)
    for column, field in zip(columns, schema.fields, strict=True):
        facts = {"dataType": _type_json(field), "isNullable": str(column.nullable).lower()}
        facts |= {} if column.comment is None else {"comment": column.comment}
        facts |= {} if column.default is None else {"defaultValue": column.default}
        yield Change.at("AddColumn", column.path, facts, column.position)


def _changed(application: Application, spark: SparkSession, change: ColumnChange) -> Iterator[Change]:
    if change.type is not None:
        schema = schema_of(application, spark, [Column(change.path, change.type)])
        check_types(schema, None)
        (field,) = schema.fields
        yield Change.at("UpdateColumnType", change.path, {"newDataType": _type_json(field)})
    if change.comment is not None:
        yield Change.at("UpdateColumnComment", change.path, {"newComment": change.comment})
    if change.nullable is not None:
        yield Change.at("UpdateColumnNullability", change.path, {"nullable": str(change.nullable).lower()})
    if change.position is not None:
        yield Change.at("UpdateColumnPosition", change.path, {}, change.position)
    if change.default is not None:
        yield Change.at("UpdateColumnDefaultValue", change.path, {"newDefaultValue": change.default})


def _type_json(field: StructField) -> str:
    schema = json.loads(schema_to_json(StructType((field,))))
    return json.dumps(schema["fields"][0]["type"])


def _refusal(change: RefusedAlteration, path: str) -> DeltaError:
    if change.words == "RENAME TO":
        return refused_on_path("rename", path)
    if change.words == "SET LOCATION":
        return failed("DELTA_CANNOT_SET_LOCATION_ON_PATH_IDENTIFIER", table=path, option="location")
    return refused_command(f"ALTER TABLE ... {change.words}")
