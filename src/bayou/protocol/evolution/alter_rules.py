# SPDX-License-Identifier: Apache-2.0
"""Rules for all changes of a schema by ALTER TABLE: changes of types, new names, dropped columns.

Sources: delta-spark's `SchemaUtils.canChangeDataType` and `alterDeltaTableCommands`; Spark's `CheckAnalysis` for char and
varchar.
"""

from __future__ import annotations

from collections.abc import Sequence

from bayou.errors import failed
from bayou.protocol.features.type_widening import is_widening, record_type_changes
from bayou.protocol.schema.validity import check_names
from bayou.protocol.types.char_varchar import bounded_length, type_text
from bayou.protocol.types.partition_values import decimal_type
from bayou.protocol.types.paths import Path, TableRules, dotted
from bayou.protocol.types.schema import VOID_TYPES, DataType, StructField, StructType, UserDefinedType
from bayou.protocol.types.traverse import all_fields


def is_same_type(old: DataType, new: DataType) -> bool:
    """Whether two types are equal except for nullability, metadata, case, and spaces in a decimal."""
    if isinstance(old, str) and isinstance(new, str) and decimal_type(old):
        return decimal_type(old) == decimal_type(new)
    if isinstance(old, UserDefinedType) or isinstance(new, UserDefinedType):
        return old == new
    return type_text(old).lower() == type_text(new).lower()


def may_become(old: str, new: DataType, rules: TableRules) -> bool:
    """Whether a type may change: void to any type, char and varchar to a longer one, others by type widening."""
    if old in VOID_TYPES:
        return True
    if not isinstance(new, str):
        return False
    old_bound, new_bound = bounded_length(old), bounded_length(new)
    if old_bound is not None:
        return new == "string" or (new_bound is not None and new_bound[0] == "varchar" and new_bound[1] >= old_bound[1])
    return rules.type_widening and is_widening(old, new)


def has_not_null(field: StructField) -> bool:
    """Whether a column, or a field in it, is NOT NULL."""
    return not field.nullable or any(not each.nullable for _, _, each in all_fields(field.type))


def is_under(path: Path, parent: Path) -> bool:
    """Whether a path begins with another one, case-insensitively."""
    return [name.lower() for name in path[: len(parent)]] == [name.lower() for name in parent]


def check_new_names(schema: StructType, rules: TableRules, duplicates_class: str, known: StructType) -> None:
    """Check the names in a changed schema by `validity.check_names`.

    Args:
        duplicates_class: the subclass of DELTA_DUPLICATE_COLUMNS_FOUND for duplicates.
    """
    check_names(
        schema,
        rules.table_uri,
        version=rules.version,
        column_mapping=rules.column_mapping,
        change_data_feed=rules.change_data_feed,
        duplicates_class=duplicates_class,
        known=known,
    )


def recorded(schema: StructType, previous: StructType, rules: TableRules) -> StructType:
    """Return the schema with widened types recorded, if the table enables type widening."""
    return record_type_changes(schema, previous) if rules.type_widening else schema


def check_keeps_layout(paths: Sequence[Path], rest: StructType, rules: TableRules) -> None:
    """Raise InvalidSchemaError if partition or clustering columns are dropped, or only partition columns remain.

    Args:
        rest: the schema without the dropped columns.
    """
    partitions = [name for name in rules.partition_columns if any(is_under((name,), path) for path in paths)]
    if partitions:
        raise failed("DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN", at=rules, columns=partitions)
    clustering = [dotted(column) for column in rules.clustering_columns if any(is_under(column, path) for path in paths)]
    if clustering:
        raise failed("DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN", at=rules, columns=clustering)
    if rules.partition_columns and len(rest.fields) == len(rules.partition_columns):
        raise failed("DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION/dropped", at=rules, columns=rules.partition_columns)
