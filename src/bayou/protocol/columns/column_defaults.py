# SPDX-License-Identifier: Apache-2.0
"""Column defaults: where they stand in a schema, and which tables may have them. What an expression may be is for the caller.

A table takes a default only if it has the feature `allowColumnDefaults`, which comes by its name and never by itself. Sources:
PROTOCOL.md, "Default Columns"; delta-spark's `OptimisticTransaction.checkNoColumnDefaults`; Spark's `ResolveDefaultColumns`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

from bayou.errors import failed
from bayou.protocol.columns.generated_columns import GENERATION_EXPRESSION
from bayou.protocol.columns.identity_columns import is_identity
from bayou.protocol.columns.mapping_rules import fields_by_path, shown_path
from bayou.protocol.types.paths import Path, TableRules, column_not_found, dotted, type_at
from bayou.protocol.types.schema import StructField, StructType

CURRENT_DEFAULT: Final = "CURRENT_DEFAULT"
"""The key of a column's metadata that holds its default, as SQL."""
FEATURE: Final = "allowColumnDefaults"
"""The feature that a table with defaults must have."""

DEFAULT_KEYS: Final = (CURRENT_DEFAULT, "EXISTS_DEFAULT")
"""The keys of a column's metadata that have to do with defaults; the second is Spark's, and no Delta table's."""


def defaults(schema: StructType) -> Iterator[tuple[StructField, str]]:
    """The columns that have a default, each with its expression."""
    for field in schema.fields:
        expression = field.metadata.get(CURRENT_DEFAULT)
        if isinstance(expression, str):
            yield field, expression


def refuse_nested_defaults(schema: StructType, rules: TableRules) -> None:
    """Refuses defaults of nested fields, which nobody would apply.

    Raises:
        InvalidSchemaError: a field of a struct has one; `column` names it.
    """
    for path, field in fields_by_path(schema):
        if len(path) > 1 and CURRENT_DEFAULT in field.metadata:
            raise _only_columns(path, rules)


def refuse_added_default(field: StructField, rules: TableRules) -> None:
    """Refuses a default of a column that an existing table gets, or of a field in it.

    Raises:
        InvalidSchemaError: there is one.
    """
    if any(CURRENT_DEFAULT in each.metadata for _, each in fields_by_path(StructType((field,)))):
        raise failed("WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED", at=rules, column=field.name)


def check_allowed(
    schema: StructType, features: Collection[str], command: str, *, table: str | None, version: int | None = None
) -> None:
    """Refuses defaults in a table without the feature for them.

    Raises:
        UnsupportedFeatureError: a column has a default, and the table lacks the feature.
    """
    found = [shown_path(path) for path, field in fields_by_path(schema) if CURRENT_DEFAULT in field.metadata]
    if found and FEATURE not in features:
        raise failed(
            "WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED",
            table=table,
            version=version,
            command=command,
            columns=found,
            features=(FEATURE,),
        )


def with_default(schema: StructType, path: Path, expression: str | None, rules: TableRules) -> StructType:
    """The schema after ALTER COLUMN SET DEFAULT or DROP DEFAULT.

    Args:
        expression: its default; None for none.

    Raises:
        InvalidSchemaError: there is no such column, or it can have no default: it is a field of a struct, generated, or an
            identity column.
    """
    type_at(schema, path, rules)
    if len(path) > 1:
        raise _only_columns(path, rules)
    field = schema.field(path[0])
    if field is None:
        raise column_not_found(path, schema, rules)
    if expression is not None:
        _check_takes_default(field, rules)
    metadata = {key: value for key, value in field.metadata.items() if key not in DEFAULT_KEYS}
    if expression is not None:
        metadata[CURRENT_DEFAULT] = expression
    changed = replace(field, metadata=metadata)
    return StructType(tuple(changed if each is field else each for each in schema.fields))


def _check_takes_default(field: StructField, rules: TableRules) -> None:
    if is_identity(field):
        raise failed("DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED/default", at=rules, column=field.name)
    if GENERATION_EXPRESSION in field.metadata:
        raise failed("GENERATED_COLUMN_WITH_DEFAULT_VALUE", at=rules, column=field.name)


def _only_columns(path: Path, rules: TableRules) -> Exception:
    return failed("DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP/default", at=rules, column=dotted(path))
