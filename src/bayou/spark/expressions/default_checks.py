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
from bayou.spark.jvm.catalyst.frames import columns_of
from bayou.spark.jvm.catalyst.wide_columns import select
from bayou.spark.jvm.core.callbacks import FAILED_CALL, reason_of
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.relations.own_sql import means_the_same
from bayou.spark.jvm.relations.parser import parsed
from bayou.spark.jvm.relations.relation import may_upcast
from bayou.spark.types.types import sql_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bayou.errors import DeltaError
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructField
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_PLAIN: Final = re.compile(r"[-+]?\d[\w.]*|'[^'\\]*'|null|true|false", re.IGNORECASE)
"""Literals that need no parser."""


def check_defaults(jvm: Jvm, spark: SparkSession, schema: StructType, *, table: str, version: int | None = None) -> None:
    """Raise InvalidSchemaError if a default is not a harmless constant of its column's type. Runs no Spark job.

    A field of a struct cannot have a default.
    """
    rules = TableRules(table, version)
    check_no_nested_defaults(schema, rules)
    for field, expression in defaults(schema):
        _check_default(jvm, spark, field, expression, rules)


def harmless_defaults(jvm: Jvm, session: JavaObject, snapshot: Snapshot) -> StructType:
    """Return a table's schema without harmful defaults, which Spark would resolve as soon as an INSERT needs one.

    A default is replaced if it calls a function that is not known to be harmless, or if the session's parser would read it as
    another expression. The replacement calls a function that does not exist: its name states the reason, and Spark's error
    contains it. Runs no Spark job.
    """
    reasons = {field.name: _why_not(jvm, session, text, snapshot) for field, text in defaults(snapshot.schema)}
    refused = {name: f"{quoted_name(why)}()" for name, why in reasons.items() if why is not None}
    if not refused:
        return snapshot.schema
    return StructType(
        tuple(
            replace(each, metadata={**each.metadata, CURRENT_DEFAULT: refused[each.name]}) if each.name in refused else each
            for each in snapshot.schema.fields
        )
    )


def _why_not(jvm: Jvm, session: JavaObject, expression: str, snapshot: Snapshot) -> str | None:
    """Return why a default must be hidden from Spark; None if it need not."""
    if _PLAIN.fullmatch(expression):
        return None
    kind, version = ExpressionKind.COLUMN_DEFAULT, snapshot.version
    try:
        parsed_default = parsed(jvm, session, expression)
        check_stored(parsed_default, kind, snapshot.schema, of="the default", table=snapshot.table_uri, version=version)
    except InvalidSchemaError as error:
        return error.message
    if not means_the_same(jvm, session, expression):
        return f"a setting of the session's parser changes what the default {expression} means: unset it, or give a value"
    return None


def _check_default(jvm: Jvm, spark: SparkSession, field: StructField, expression: str, rules: TableRules) -> None:
    subject, nothing = f"the default of column {field.name!r}", StructType()
    parsed_default = parsed(jvm, java_session(spark), expression)
    check_stored(
        parsed_default, ExpressionKind.COLUMN_DEFAULT, nothing, of=subject, table=str(rules.table_uri), version=rules.version
    )
    column_type = sql_type(field.type)
    # A row that is known before the query runs, so that no job runs for it.
    row = spark.sql("select 1 as one")
    try:
        both = select(jvm, row, [f"{parenthesised(expression)} as given", f"cast(null as {column_type}) as wanted"])
        if may_upcast(jvm, both) or _keeps_its_value(jvm, row, both, expression, column_type):
            return
    except FAILED_CALL as error:
        why = f"it cannot be resolved: {reason_of(error)}"
        raise _not_possible("INVALID_DEFAULT_VALUE.UNRESOLVED_EXPRESSION", why, field, expression, rules) from None
    why = f"it is {type_text(columns_of(both).fields[0].type)}, and the column is {type_text(field.type)}"
    raise _not_possible("INVALID_DEFAULT_VALUE.DATA_TYPE", why, field, expression, rules)


def _keeps_its_value(jvm: Jvm, row: DataFrame, both: DataFrame, expression: str, wanted: str) -> bool:
    """Return whether a number of a wider type has a value of the column's type, such as 3 in a column of bytes."""
    kinds = [field.type for field in columns_of(both).fields]
    if not all(isinstance(kind, str) and (kind in INTEGER_BITS or decimal_type(kind)) for kind in kinds):
        return False
    value = parenthesised(expression)
    # NULL if it is too large, whatever the session's settings for overflows are.
    narrow = f"try_cast({value} as {wanted})"
    return select(jvm, row, [f"{narrow} <=> {value} as same"]).collect()[0].same is True


def _not_possible(error_class: str, why: str, field: StructField, expression: str, rules: TableRules) -> DeltaError:
    column = field.name
    return failed("default-not-possible", at=rules, error_class=error_class, expression=expression, column=column, reason=why)
