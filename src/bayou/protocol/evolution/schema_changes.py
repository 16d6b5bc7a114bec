# SPDX-License-Identifier: Apache-2.0
"""Compute the schema after ALTER TABLE adds, renames, drops or changes columns or nested fields.

All functions take a table's schema as in the log, and return the new one. The caller checks CHECK constraints and generated
columns that use a column, assigns ids and physical names, and changes partition columns and properties
(`rename_partition_columns`, `rewrite_stats_columns`).

Sources: delta-spark's `alterDeltaTableCommands` and `SchemaUtils`; Spark's `CheckAnalysis` for char and varchar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from bayou.errors import failed
from bayou.protocol.columns.column_defaults import check_no_added_default
from bayou.protocol.evolution.alter_rules import (
    check_keeps_layout,
    check_new_names,
    has_not_null,
    is_same_type,
    is_under,
    may_become,
    recorded,
)
from bayou.protocol.schema.validity import check_nested_void, check_types
from bayou.protocol.stats.file_stats import parse_column_list
from bayou.protocol.types.char_varchar import from_stored, to_stored, type_text
from bayou.protocol.types.paths import Path, TableRules, column_not_found, dotted, edit_at, type_at
from bayou.protocol.types.schema import ArrayType, DataType, MapType, StructField, StructType
from bayou.protocol.types.sql_text import short_name
from bayou.protocol.types.traverse import parts

COMMENT: Final = "comment"
"""The key of a field's metadata for its comment."""
NO_COMMENT: Final = "\0"
"""The comment that removes a field's comment."""

IDENTITY: Final = "delta.identity."
"""The prefix of the metadata keys of identity columns."""


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a column in its struct: after another one, or first if `after` is None."""

    after: str | None = None


@dataclass(frozen=True, slots=True)
class AddedColumn:
    """A column to be added.

    Attributes:
        field: the column; char and varchar types are allowed.
        parent: the path of its struct; empty for the table.
        position: the position in the struct; None for its end.
    """

    field: StructField
    parent: tuple[str, ...] = ()
    position: Position | None = None


def add_columns(schema: StructType, columns: Sequence[AddedColumn], rules: TableRules) -> StructType:
    """Return the schema after ADD COLUMNS, which adds the columns one after the other.

    Raises:
        InvalidSchemaError: a column is NOT NULL, has a default, or a name or type that is not valid; or its struct, or the column
            before it, does not exist.
    """
    added = StructType(tuple(column.field for column in columns))
    check_types(added, rules.table_uri, version=rules.version)
    check_nested_void(added, rules.table_uri, version=rules.version)
    declared = from_stored(schema)
    for column in columns:
        _check_added(column.field, rules)
        declared = edit_at(declared, column.parent, partial(_with_field, column=column, rules=rules), rules)
    check_new_names(declared, rules, "ADDING_COLUMNS", schema)
    return to_stored(declared)


def rename_column(schema: StructType, path: Path, new_name: str, rules: TableRules) -> StructType:
    """Return the schema after RENAME COLUMN, which keeps the metadata and so the physical name.

    Raises:
        UnsupportedFeatureError: the table has no column mapping.
        InvalidSchemaError: the column does not exist, or the new name is not valid.
    """
    if not rules.column_mapping:
        raise failed("DELTA_UNSUPPORTED_RENAME_COLUMN", at=rules, features=("columnMapping",))
    declared = from_stored(schema)
    struct, field = _struct_and_field(declared, path, rules)
    fields = [replace(each, name=new_name) if each is field else each for each in struct.fields]
    renamed = _with_struct(declared, path, fields, rules)
    check_new_names(renamed, rules, "METADATA_UPDATE", schema)
    return to_stored(renamed)


def drop_columns(schema: StructType, paths: Sequence[Path], rules: TableRules) -> StructType:
    """Return the schema after DROP COLUMNS, which drops the columns one after the other.

    Raises:
        UnsupportedFeatureError: the table has no column mapping.
        InvalidSchemaError: a column does not exist, is the last one of its struct, or is a partition or clustering column.
    """
    if not rules.column_mapping:
        raise failed("DELTA_UNSUPPORTED_DROP_COLUMN", at=rules, features=("columnMapping",))
    declared = from_stored(schema)
    for path in paths:
        struct, field = _struct_and_field(declared, path, rules, is_dropped=True)
        if len(struct.fields) == 1:
            raise failed("DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA", at=rules, column=dotted(path))
        declared = _with_struct(declared, path, [each for each in struct.fields if each is not field], rules)
    check_keeps_layout(paths, declared, rules)
    return to_stored(declared)


def change_column(
    schema: StructType,
    path: Path,
    rules: TableRules,
    *,
    data_type: DataType | None = None,
    comment: str | None = None,
    nullable: bool | None = None,
    position: Position | None = None,
) -> StructType:
    """Return the schema after ALTER COLUMN. Arguments that are None change nothing.

    char and varchar may become longer or lose their length, void may become any type, and type widening allows other changes,
    which `delta.typeChanges` records.

    Args:
        nullable: True for DROP NOT NULL, False for SET NOT NULL.

    Raises:
        InvalidSchemaError: the column does not exist, or the change is not allowed.
    """
    declared = from_stored(schema)
    changed_type = type_at(declared, path, rules)
    if data_type is not None:
        check_types(StructType((StructField(path[-1], data_type),)), rules.table_uri, version=rules.version)
        changed_type = _changed_type(changed_type, data_type, path, rules)
    parent = type_at(declared, path[:-1], rules)
    if isinstance(parent, StructType):
        field = _field(parent, path, rules)
        _check_change(field, changed_type, path, rules, nullable=nullable)
        metadata = field.metadata if comment is None else {**field.metadata, COMMENT: comment}
        if comment == NO_COMMENT:
            metadata = {key: value for key, value in field.metadata.items() if key != COMMENT}
        changed = replace(field, type=changed_type, metadata=metadata, nullable=field.nullable or bool(nullable))
        fields = tuple(changed if each is field else each for each in parent.fields)
        fields = fields if position is None else _moved(fields, changed, position, path, rules)
        result = _with_struct(declared, path, fields, rules)
    else:
        _check_part_change(parent, path, rules, comment=comment, nullable=nullable, position=position)
        result = edit_at(declared, path, lambda _: changed_type, rules)
    return recorded(to_stored(result), schema, rules)


def rename_partition_columns(partition_columns: Sequence[str], path: Path, new_name: str) -> tuple[str, ...]:
    """Return a table's partition columns after a column was renamed."""
    if len(path) > 1:
        return tuple(partition_columns)
    return tuple(new_name if name.lower() == path[0].lower() else name for name in partition_columns)


def rewrite_stats_columns(text: str, *, rename: tuple[Path, str] | None = None, drop: Sequence[Path] = ()) -> str:
    """Return the property `delta.dataSkippingStatsColumns` after a column was renamed or columns were dropped.

    Raise InvalidOptionError if it is not a list of columns.
    """
    listed = parse_column_list(text)
    kept = [path for path in listed if not any(is_under(path, dropped) for dropped in drop)]
    if rename is not None:
        old, new_name = rename
        kept = [(*path[: len(old) - 1], new_name, *path[len(old) :]) if is_under(path, old) else path for path in kept]
    return text if kept == listed else ",".join(".".join(map(short_name, path)) for path in kept)


def _struct_and_field(
    schema: StructType, path: Path, rules: TableRules, *, is_dropped: bool = False
) -> tuple[StructType, StructField]:
    type_at(schema, path, rules)
    parent = type_at(schema, path[:-1], rules)
    if not isinstance(parent, StructType):
        raise failed(
            "DELTA_UNSUPPORTED_DROP_NESTED_COLUMN_FROM_NON_STRUCT_TYPE" if is_dropped else "DELTA_UNSUPPORTED_RENAME_COLUMN/nested",
            at=rules,
            column=dotted(path),
        )
    return parent, _field(parent, path, rules)


def _with_struct(schema: StructType, path: Path, fields: Sequence[StructField], rules: TableRules) -> StructType:
    return edit_at(schema, path[:-1], lambda _: StructType(tuple(fields)), rules)


def _field(struct: StructType, path: Path, rules: TableRules) -> StructField:
    field = struct.field(path[-1])
    if field is None:
        raise column_not_found(path, struct, rules)
    return field


def _check_added(field: StructField, rules: TableRules) -> None:
    if has_not_null(field):
        raise failed("DELTA_OPERATION_NOT_ALLOWED/add-not-null", at=rules, column=field.name)
    check_no_added_default(field, rules)


def _with_field(parent: DataType, column: AddedColumn, rules: TableRules) -> DataType:
    if not isinstance(parent, StructType):
        name, above = column.field.name, dotted(column.parent)
        raise failed("DELTA_ADD_COLUMN_PARENT_NOT_STRUCT", at=rules, column=name, parent=above, type=type_text(parent))
    (added,) = from_stored(StructType((column.field,))).fields
    if column.position is None:
        return StructType((*parent.fields, added))
    return StructType(_inserted(parent.fields, added, column.position, (*column.parent, added.name), rules))


def _inserted(
    fields: tuple[StructField, ...], field: StructField, position: Position, path: Path, rules: TableRules
) -> tuple[StructField, ...]:
    if position.after is None:
        return (field, *fields)
    names = [each.name.lower() for each in fields]
    if position.after.lower() not in names:
        raise column_not_found((*path[:-1], position.after), StructType(fields), rules)
    index = names.index(position.after.lower()) + 1
    return (*fields[:index], field, *fields[index:])


def _moved(
    fields: tuple[StructField, ...], field: StructField, position: Position, path: Path, rules: TableRules
) -> tuple[StructField, ...]:
    """Return the fields with one at another position, unless it is to be after itself."""
    if position.after is not None and position.after.lower() == field.name.lower():
        return fields
    return _inserted(tuple(each for each in fields if each is not field), field, position, path, rules)


def _changed_type(old: DataType, new: DataType, path: Path, rules: TableRules) -> DataType:
    if is_same_type(old, new):
        return old
    column = dotted(path)
    match old:
        case StructType():
            raise failed("DELTA_CANNOT_UPDATE_STRUCT_FIELD", at=rules, column=column)
        case MapType():
            raise failed("DELTA_CANNOT_UPDATE_MAP_FIELD", at=rules, column=column)
        case ArrayType():
            raise failed("DELTA_CANNOT_UPDATE_ARRAY_FIELD", at=rules, column=column)
        case str() if may_become(old, new, rules):
            return new
        case _:
            raise failed(
                "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP/type"
                if rules.type_widening
                else "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP/widening",
                at=rules,
                column=column,
                type=type_text(old),
                new_type=type_text(new),
            )


def _check_change(field: StructField, new_type: DataType, path: Path, rules: TableRules, *, nullable: bool | None) -> None:
    if nullable is False and field.nullable:
        raise failed("DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP/not-null", at=rules, column=dotted(path))
    is_identity = any(key.startswith(IDENTITY) for key in field.metadata)
    if is_identity and (new_type != field.type or (nullable is not None and nullable != field.nullable)):
        raise failed("DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED/change", at=rules, column=dotted(path))


def _check_part_change(
    parent: DataType, path: Path, rules: TableRules, *, comment: str | None, nullable: bool | None, position: Position | None
) -> None:
    """Raise an error for changes other than of the type of elements, keys and values."""
    if comment is not None:
        raise failed("DELTA_UNSUPPORTED_COMMENT_MAP_ARRAY", at=rules, column=dotted(path))
    holds_null = next(each.nullable for each in parts(parent) if each.name == path[-1].lower())
    if nullable is not None and nullable != holds_null:
        raise failed("DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP/nullability", at=rules, column=dotted(path))
    if position is not None:
        raise failed("DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP/position", at=rules, column=dotted(path))
