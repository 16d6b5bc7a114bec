# SPDX-License-Identifier: Apache-2.0
"""Add, rename, drop, change and replace columns of an existing table, and set their defaults. No file is rewritten.

Source: delta-spark's `alterDeltaTableCommands`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import failed
from bayou.protocol import properties
from bayou.protocol.columns.column_defaults import check_allowed, check_no_nested_defaults, with_default
from bayou.protocol.columns.column_mapping import without_mapping
from bayou.protocol.columns.mapping_rules import shown_path
from bayou.protocol.evolution import schema_changes
from bayou.protocol.evolution.schema_changes import AddedColumn, Position, rename_partition_columns, rewrite_stats_columns
from bayou.protocol.evolution.schema_replace import replace_columns as replaced_columns
from bayou.protocol.features.protocol_rules import supported_features
from bayou.protocol.features.type_widening import TYPE_CHANGES
from bayou.protocol.stats.file_stats import parse_column_list
from bayou.protocol.types.char_varchar import type_text
from bayou.protocol.types.paths import TableRules, type_at
from bayou.protocol.types.schema import StructField, StructType
from bayou.protocol.types.traverse import parts
from bayou.spark.alter.metadata_actions import altered, table_rules
from bayou.spark.expressions.column_references import refuse_other_generated, refuse_referenced
from bayou.spark.expressions.default_checks import check_defaults
from bayou.spark.types.types import as_table_has
from bayou.spark.types.user_types import given_schema, given_type, plain_columns, plain_type

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import DataType
    from bayou.spark.read.session_table import SessionTable

ColumnPath = str | Sequence[str]
"""A column or a nested field: `s.x`, with backticks around names that have dots, or the names as a list."""

_STATS: Final = properties.STATS_COLUMNS.key
_NO_TABLE: Final = TableRules()


def add_columns(
    target: SessionTable, columns: Any, *, parent: ColumnPath = (), after: str | None = None, first: bool = False
) -> None:
    """Add columns. Existing rows have NULL in them.

    Args:
        columns: PySpark's `StructType` or a list of its `StructField`, or the columns as SQL.
        parent: the struct that gets them; an array's is its `element`, a map's its `key` or `value`.
        after: the column of the table, or of that struct, after which they are inserted.
        first: whether they precede all others.

    Raises:
        InvalidSchemaError: a column is NOT NULL or has a default, a name that is taken, or a type that no table has.
        UnsupportedFeatureError: a type needs a feature that must be enabled explicitly.
    """
    into = path_of(parent) if parent else ()
    position = position_of(after, first=first)
    added = []
    for field in given_columns(target, columns).fields:
        added.append(AddedColumn(field, into, position))
        position = None if position is None else Position(field.name)
    add_each(target, added)


def add_each(target: SessionTable, added: Sequence[AddedColumn]) -> None:
    """Add columns of stored types in one commit, each at its own position; see `add_columns`."""
    snapshot = target.snapshot()
    schema = schema_changes.add_columns(snapshot.schema, added, table_rules(snapshot))
    parameters = {"columns": [_added_parameter(each) for each in added]}
    target.commit(snapshot, "ADD COLUMNS", parameters, altered(snapshot, snapshot.metadata, schema))


def rename_column(target: SessionTable, column: ColumnPath, new_name: str) -> None:
    """Rename a column or a nested field. The table needs column mapping.

    Raises:
        UnsupportedFeatureError: the table has no column mapping.
        InvalidSchemaError: the column does not exist, an expression of the table uses it, or the new name is not possible.
    """
    snapshot, path = target.snapshot(), path_of(column)
    schema = schema_changes.rename_column(snapshot.schema, path, new_name, table_rules(snapshot))
    if schema != snapshot.schema:
        refuse_referenced(target.application.backend, target.spark, snapshot, schema, path)
    metadata = replace(
        snapshot.metadata,
        partition_columns=rename_partition_columns(snapshot.partition_columns, path, new_name),
        configuration=_with_stats_columns(snapshot, rename=(path, new_name)),
    )
    parameters = {"oldColumnPath": shown_path(path), "newColumnPath": shown_path((*path[:-1], new_name))}
    target.commit(snapshot, "RENAME COLUMN", parameters, altered(snapshot, metadata, schema))


def drop_columns(target: SessionTable, columns: Sequence[ColumnPath]) -> None:
    """Drop columns or nested fields. The table needs column mapping; the files keep their values.

    Raises:
        UnsupportedFeatureError: the table has no column mapping.
        InvalidSchemaError: a column does not exist, an expression of the table uses it, it is a partition column, or it is the
            last one.
    """
    snapshot, paths = target.snapshot(), [path_of(each) for each in columns]
    schema = schema_changes.drop_columns(snapshot.schema, paths, table_rules(snapshot))
    for path in paths:
        refuse_referenced(target.application.backend, target.spark, snapshot, schema, path)
    metadata = replace(snapshot.metadata, configuration=_with_stats_columns(snapshot, drop=paths))
    parameters = {"columns": [shown_path(path) for path in paths]}
    target.commit(snapshot, "DROP COLUMNS", parameters, altered(snapshot, metadata, schema))


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """The alteration of a column or of a nested field. Attributes that are None change nothing.

    Attributes:
        path: the names that lead to it.
        nullable: True if it may hold NULL from now on.
        position: its new position.
        default: SQL of its default; an empty string removes the default.
    """

    path: tuple[str, ...]
    type: DataType | None = None
    comment: str | None = None
    nullable: bool | None = None
    position: Position | None = None
    default: str | None = None


def column_change(
    target: SessionTable,
    path: tuple[str, ...],
    *,
    data_type: Any = None,
    comment: str | None = None,
    nullable: bool | None = None,
    after: str | None = None,
    first: bool = False,
    default: str | None = None,
) -> ColumnChange:
    """Return the alteration of a column from its parts.

    Args:
        data_type: its new type, of PySpark or as SQL: a wider one, if the table enables type widening.
        after: the column of its struct after which it moves.
        first: whether it moves before all others.
    """
    kind = None if data_type is None else plain_type(given_type(target.spark, data_type, table=target.uri), target.uri)
    return ColumnChange(path, kind, comment, nullable, position_of(after, first=first), default)


def change_columns(target: SessionTable, changes: Sequence[ColumnChange]) -> None:
    """Change some columns in one commit, each at most once. If one change is not possible, raise its error and change none."""
    snapshot = target.snapshot()
    rules, schema = table_rules(snapshot), snapshot.schema
    shown: list[dict[str, Any]] = []
    for each in changes:
        if each.type is not None:
            check_no_nested_defaults(StructType((StructField(each.path[-1], each.type),)), rules)
        before = type_at(schema, each.path, rules)
        if any(fact is not None for fact in (each.type, each.comment, each.nullable, each.position)):
            schema = schema_changes.change_column(
                schema, each.path, rules, data_type=each.type, comment=each.comment, nullable=each.nullable, position=each.position
            )
        if type_at(schema, each.path, rules) != before:
            refuse_referenced(target.application.backend, target.spark, snapshot, schema, each.path)
        if each.default is not None:
            schema = _with_default(target, snapshot, schema, each)
        column = {"column": column_parameter(schema, each.path, noted=snapshot.schema)}
        shown.append(column if each.position is None else {**column, "position": _position_text(each.position)})
    refuse_other_generated(snapshot, schema)
    if len(shown) == 1:
        operation, parameters = "CHANGE COLUMN", shown[0]
    else:
        columns = [{**each.pop("column"), **each} for each in shown]
        operation, parameters = "CHANGE COLUMNS", {"columns": columns}
    target.commit(snapshot, operation, parameters, altered(snapshot, snapshot.metadata, schema))


def _with_default(target: SessionTable, snapshot: Snapshot, schema: StructType, change: ColumnChange) -> StructType:
    schema = with_default(schema, change.path, change.default or None, table_rules(snapshot))
    if change.default:
        uri, version = target.uri, snapshot.version
        check_allowed(schema, supported_features(snapshot.protocol), "ALTER TABLE", table=uri, version=version)
        changed = StructType(tuple(field for field in schema.fields if field is schema.field(change.path[0])))
        check_defaults(target.application.backend, target.spark, changed, table=uri, version=version)
    return schema


def replace_columns(target: SessionTable, columns: Any) -> None:
    """Replace the table's columns: their order, comments and nullability, and their types by wider ones.

    Raises:
        InvalidSchemaError: it is not possible, or an expression of the table uses a column that is dropped or changes its type.
    """
    snapshot = target.snapshot()
    given, rules = as_table_has(given_columns(target, columns), snapshot.schema), table_rules(snapshot)
    schema = replaced_columns(snapshot.schema, given, rules)
    dropped = [(each.name,) for each in snapshot.schema.fields if schema.field(each.name) is None]
    for field in snapshot.schema.fields:
        kept = schema.field(field.name)
        if kept is None or type_text(kept.type) != type_text(field.type):
            refuse_referenced(target.application.backend, target.spark, snapshot, schema, (field.name,))
    refuse_other_generated(snapshot, schema)
    metadata = replace(snapshot.metadata, configuration=_with_stats_columns(snapshot, drop=dropped))
    parameters = {"columns": [_parameter((each.name,), each) for each in given.fields]}
    target.commit(snapshot, "REPLACE COLUMNS", parameters, altered(snapshot, metadata, schema))


def path_of(column: ColumnPath) -> tuple[str, ...]:
    """Return the names that lead to a column. Raise InvalidOptionError if the string is not the path of one column."""
    paths = parse_column_list(column) if isinstance(column, str) else [tuple(column)]
    if len(paths) != 1 or not paths[0]:
        raise failed("PARSE_SYNTAX_ERROR/column-path", column=column)
    return paths[0]


def position_of(after: str | None, *, first: bool) -> Position | None:
    """Return a position in a struct; None if neither is set. Raise InvalidOptionError if both are."""
    if first and after is not None:
        raise failed("column-position")
    return Position(after) if first or after is not None else None


def column_parameter(schema: StructType, path: tuple[str, ...], *, noted: StructType | None = None) -> dict[str, Any]:
    """Return a column as the parameters of an operation show it. `noted` is the schema whose type changes to show instead."""
    field = _field_at(schema, path)
    if noted is not None:
        old = {key: value for key, value in _field_at(noted, path).metadata.items() if key == TYPE_CHANGES}
        field = replace(field, metadata={key: value for key, value in field.metadata.items() if key != TYPE_CHANGES} | old)
    return _parameter(path, field)


def given_columns(target: SessionTable, columns: Any) -> StructType:
    """Return user-supplied columns (see `add_columns`) as a table can have them."""
    return without_mapping(plain_columns(given_schema(target.spark, columns, table=target.uri), target.uri))


def _field_at(schema: StructType, path: tuple[str, ...]) -> StructField:
    """Return a column, or a part of an array or a map, as a field."""
    around = parts(type_at(schema, path[:-1], _NO_TABLE))
    return next(each for each in around if each.name.lower() == path[-1].lower())


def _parameter(path: Sequence[str], field: StructField) -> dict[str, Any]:
    kind = field.type if isinstance(field.type, str) else type(field.type).__name__.removesuffix("Type").lower()
    name = shown_path((*path[:-1], field.name))
    return {"name": name, "type": kind, "nullable": field.nullable, "metadata": dict(field.metadata)}


def _added_parameter(added: AddedColumn) -> dict[str, Any]:
    column = {"column": _parameter((*added.parent, added.field.name), added.field)}
    return column if added.position is None else {**column, "position": _position_text(added.position)}


def _position_text(position: Position) -> str:
    return "FIRST" if position.after is None else f"AFTER {shown_path((position.after,))}"


def _with_stats_columns(
    snapshot: Snapshot, *, rename: tuple[tuple[str, ...], str] | None = None, drop: Sequence[tuple[str, ...]] = ()
) -> dict[str, str]:
    """Return the configuration with the statistics columns adapted to the change. Drop the property if none would remain."""
    found: dict[str, str] = {}
    for key, value in snapshot.metadata.configuration.items():
        text = rewrite_stats_columns(value, rename=rename, drop=drop) if key.lower() == _STATS.lower() else value
        if text or not value:
            found[key] = text
    return found


def set_default(target: SessionTable, column: ColumnPath, expression: str | None) -> None:
    """Set the default of a column, or remove it if it is None. Existing rows keep their values.

    Source: delta-spark's `AlterTableChangeColumnDeltaCommand`; the history calls it CHANGE COLUMN.

    Raises:
        UnsupportedFeatureError: the table does not have the feature `allowColumnDefaults`.
        InvalidSchemaError: the column does not exist or cannot have a default, or the expression is not a constant that fits it.
    """
    change_columns(target, [ColumnChange(path_of(column), default=expression or "")])
