# SPDX-License-Identifier: Apache-2.0
"""Check column defaults: the functions that they call and, before they are stored, whether the value fits the column.

Source: Spark's `ResolveDefaultColumns`, which checks those of CREATE TABLE and ALTER TABLE statements.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayou.errors import InvalidSchemaError, failed
from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT, check_no_nested_defaults, defaults
from bayou.protocol.columns.expression_functions import ExpressionKind
from bayou.protocol.types.char_varchar import type_text
from bayou.protocol.types.partition_values import INTEGER_BITS, decimal_type
from bayou.protocol.types.paths import TableRules
from bayou.protocol.types.schema import StructType
from bayou.protocol.types.sql_text import parenthesised, quoted_name
from bayou.spark.expressions.stored_expressions import check_stored
from bayou.spark.types.types import sql_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bayou.errors import DeltaError
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructField
    from bayou.spark.backend import Backend

_PLAIN: Final = re.compile(r"[-+]?\d[\w.]*|'[^'\\]*'|null|true|false", re.IGNORECASE)
"""Literals that need no parser."""


def check_defaults(backend: Backend, spark: SparkSession, schema: StructType, *, table: str, version: int | None = None) -> None:
    """Raise InvalidSchemaError if a default is not a harmless constant of its column's type. Runs no Spark job.

    A field of a struct cannot have a default.
    """
    rules = TableRules(table, version)
    check_no_nested_defaults(schema, rules)
    for field, expression in defaults(schema):
        _check_default(backend, spark, field, expression, rules)


def harmless_defaults(backend: Backend, spark: SparkSession, snapshot: Snapshot) -> StructType:
    """Return a table's schema without harmful defaults, which Spark would resolve as soon as an INSERT needs one.

    A default is replaced if it calls a function that is not known to be harmless, or if the session's parser would read it as
    another expression. The replacement calls a function that does not exist: its name states the reason, and Spark's error
    contains it. Runs no Spark job.
    """
    reasons = {field.name: _why_not(backend, spark, text, snapshot) for field, text in defaults(snapshot.schema)}
    refused = {name: f"{quoted_name(why)}()" for name, why in reasons.items() if why is not None}
    if not refused:
        return snapshot.schema
    return StructType(
        tuple(
            replace(each, metadata={**each.metadata, CURRENT_DEFAULT: refused[each.name]}) if each.name in refused else each
            for each in snapshot.schema.fields
        )
    )


def _why_not(backend: Backend, spark: SparkSession, expression: str, snapshot: Snapshot) -> str | None:
    """Return why a default must be hidden from Spark; None if it need not."""
    if _PLAIN.fullmatch(expression):
        return None
    kind, version = ExpressionKind.COLUMN_DEFAULT, snapshot.version
    try:
        parsed_default = backend.parsed(spark, expression)
        check_stored(parsed_default, kind, snapshot.schema, of="the default", table=snapshot.table_uri, version=version)
    except InvalidSchemaError as error:
        return error.message
    if not backend.means_the_same(spark, expression):
        return f"a setting of the session's parser changes what the default {expression} means: unset it, or give a value"
    return None


def _check_default(backend: Backend, spark: SparkSession, field: StructField, expression: str, rules: TableRules) -> None:
    subject, nothing = f"the default of column {field.name!r}", StructType()
    parsed_default = backend.parsed(spark, expression)
    check_stored(
        parsed_default, ExpressionKind.COLUMN_DEFAULT, nothing, of=subject, table=str(rules.table_uri), version=rules.version
    )
    column_type = sql_type(field.type)
    # A row that is known before the query runs, so that no job runs for it.
    row = spark.sql("select 1 as one")
    try:
        both = backend.select(row, [f"{parenthesised(expression)} as given", f"cast(null as {column_type}) as wanted"])
        if backend.may_upcast(both) or _keeps_its_value(backend, row, both, expression, column_type):
            return
    except backend.failures as error:
        why = f"it cannot be resolved: {backend.reason_of(error)}"
        raise _not_possible("INVALID_DEFAULT_VALUE.UNRESOLVED_EXPRESSION", why, field, expression, rules) from None
    why = f"it is {type_text(backend.columns_of(both).fields[0].type)}, and the column is {type_text(field.type)}"
    raise _not_possible("INVALID_DEFAULT_VALUE.DATA_TYPE", why, field, expression, rules)


def _keeps_its_value(backend: Backend, row: DataFrame, both: DataFrame, expression: str, wanted: str) -> bool:
    """Return whether a number of a wider type has a value of the column's type, such as 3 in a column of bytes."""
    kinds = [field.type for field in backend.columns_of(both).fields]
    if not all(isinstance(kind, str) and (kind in INTEGER_BITS or decimal_type(kind)) for kind in kinds):
        return False
    value = parenthesised(expression)
    # NULL if it is too large, whatever the session's settings for overflows are.
    narrow = f"try_cast({value} as {wanted})"
    return backend.select(row, [f"{narrow} <=> {value} as same"]).collect()[0].same is True


def _not_possible(error_class: str, why: str, field: StructField, expression: str, rules: TableRules) -> DeltaError:
    column = field.name
    return failed("default-not-possible", at=rules, error_class=error_class, expression=expression, column=column, reason=why)
