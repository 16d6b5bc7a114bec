# SPDX-License-Identifier: Apache-2.0
"""Compute the schema after ALTER TABLE ... REPLACE COLUMNS.

Sources: delta-spark's `AlterTableReplaceColumnsDeltaCommand`, `SchemaUtils.canChangeDataType` and `changeDataType`.
"""

from __future__ import annotations

from bayou.errors import DeltaError, failed
from bayou.protocol.columns.column_defaults import check_no_added_default
from bayou.protocol.evolution.alter_rules import (
    check_keeps_layout,
    check_new_names,
    has_not_null,
    is_same_type,
    may_become,
    recorded,
)
from bayou.protocol.evolution.schema_changes import COMMENT, IDENTITY
from bayou.protocol.schema.validity import check_types
from bayou.protocol.types.char_varchar import from_stored, to_stored, type_text
from bayou.protocol.types.paths import Path, TableRules, dotted
from bayou.protocol.types.schema import DataType, StructField, StructType, UserDefinedType
from bayou.protocol.types.traverse import parts, same_form, with_parts, with_type


def replace_columns(schema: StructType, columns: StructType, rules: TableRules) -> StructType:
    """Return the schema after REPLACE COLUMNS: the new columns with the metadata of existing ones.

    Columns may be added, moved, and become nullable. Comments and types may change as in `change_column`. With column mapping
    columns may be dropped, but not if others are added, since that could be a rename. Raise InvalidSchemaError otherwise.
    """
    if any(key.startswith(IDENTITY) for field in schema.fields for key in field.metadata):
        raise failed("DELTA_IDENTITY_COLUMNS_REPLACE_COLUMN_NOT_SUPPORTED", at=rules)
    given = from_stored(columns)
    check_new_names(given, rules, "REPLACING_COLUMNS", schema)
    check_types(given, rules.table_uri, version=rules.version)
    replaced = _replaced_struct(from_stored(schema), given, (), rules)
    dropped = [(name,) for name in schema.names if replaced.field(name) is None]
    check_keeps_layout(dropped, replaced, rules)
    return recorded(to_stored(replaced), schema, rules)


def _replaced_struct(old: StructType, new: StructType, path: tuple[str, ...], rules: TableRules) -> StructType:
    """Return a struct after the replacement; all columns if the path is empty. Raise InvalidSchemaError if it is not allowed."""
    removed = [each.name for each in old.fields if new.field(each.name) is None]
    added = [each for each in new.fields if old.field(each.name) is None]
    if removed and added:
        names = [each.name for each in added]
        where = f" in {dotted(path)!r}" if path else ""
        raise failed(
            "DELTA_AMBIGUOUS_DATA_TYPE_CHANGE", at=rules, removed=removed, added=names, place=where, columns=(*removed, *names)
        )
    if removed and not rules.column_mapping:
        raise _bad_replacement(f"dropping column(s) {removed}, which needs column mapping", path, rules)
    required = next((each for each in added if has_not_null(each)), None)
    if required is not None:
        raise _bad_replacement("adding a NOT NULL column", (*path, required.name), rules)
    for each in added:
        check_no_added_default(each, rules)
    return StructType(tuple(_replaced_field(old.field(each.name), each, path, rules) for each in new.fields))


def _replaced_field(old: StructField | None, new: StructField, path: tuple[str, ...], rules: TableRules) -> StructField:
    """Return a field after the replacement. An existing one keeps its metadata; its type, comment and nullability are new."""
    if old is None:
        return new
    here = (*path, old.name)
    if old.nullable and not new.nullable:
        raise _bad_replacement("tightening nullability", here, rules)
    metadata = {**old.metadata, COMMENT: new.metadata[COMMENT]} if COMMENT in new.metadata else old.metadata
    return StructField(old.name, _replaced_type(old.type, new.type, here, rules), new.nullable, metadata)


def _replaced_type(old: DataType, new: DataType, path: tuple[str, ...], rules: TableRules) -> DataType:
    if isinstance(old, StructType) and isinstance(new, StructType):
        return _replaced_struct(old, new, path, rules)
    if same_form(old, new):
        pairs = list(zip(parts(old), parts(new), strict=True))
        if any(each.nullable and not other.nullable for each, other in pairs):
            raise _bad_replacement("tightening nullability", path, rules)
        types = (_replaced_type(each.type, other.type, (*path, each.name), rules) for each, other in pairs)
        return with_parts(old, map(with_type, parts(old), types))
    if isinstance(old, str) and (is_same_type(old, new) or may_become(old, new, rules)):
        return new
    if isinstance(old, UserDefinedType) and old == new:
        return old
    raise _bad_replacement(f"changing data type from {type_text(old)} to {type_text(new)}", path, rules)


def _bad_replacement(why: str, path: Path, rules: TableRules) -> DeltaError:
    column, where = dotted(path), f" of {dotted(path)!r}" if path else ""
    return failed("DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP", at=rules, reason=why, place=where, column=column)
