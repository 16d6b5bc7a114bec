# SPDX-License-Identifier: Apache-2.0
"""Column defaults: find and change them in a schema, and check whether a table may have them. Callers check the expressions.

A table must have the feature `allowColumnDefaults`, which is never enabled automatically. Sources: PROTOCOL.md, "Default
Columns"; delta-spark's `OptimisticTransaction.checkNoColumnDefaults`; Spark's `ResolveDefaultColumns`.
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
"""The key of a column's metadata for its default, which is SQL."""
FEATURE: Final = "allowColumnDefaults"
"""The feature that a table with defaults must have."""

DEFAULT_KEYS: Final = (CURRENT_DEFAULT, "EXISTS_DEFAULT")
"""The keys of a column's metadata for defaults. The second is only used by Spark's own tables."""


def defaults(schema: StructType) -> Iterator[tuple[StructField, str]]:
    """Yield the columns that have a default, with its expression."""
    for field in schema.fields:
        expression = field.metadata.get(CURRENT_DEFAULT)
        if isinstance(expression, str):
            yield field, expression


def check_no_nested_defaults(schema: StructType, rules: TableRules) -> None:
    """Raise InvalidSchemaError if a nested field has a default, since it would not be applied."""
    for path, field in fields_by_path(schema):
        if len(path) > 1 and CURRENT_DEFAULT in field.metadata:
            raise _only_columns(path, rules)


def check_no_added_default(field: StructField, rules: TableRules) -> None:
    """Raise InvalidSchemaError if a column to be added to an existing table, or a field in it, has a default."""
    if any(CURRENT_DEFAULT in each.metadata for _, each in fields_by_path(StructType((field,)))):
        raise failed("WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED", at=rules, column=field.name)


def check_allowed(
    schema: StructType, features: Collection[str], command: str, *, table: str | None, version: int | None = None
) -> None:
    """Raise UnsupportedFeatureError if a column has a default, and the table lacks the feature."""
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
    """Return the schema after ALTER COLUMN SET DEFAULT or DROP DEFAULT.

    Args:
        expression: the default; None to drop it.

    Raises:
        InvalidSchemaError: the column does not exist, is a nested field, generated, or an identity column.
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
