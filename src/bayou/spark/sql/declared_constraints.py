# SPDX-License-Identifier: Apache-2.0
"""Constraints that CREATE TABLE, REPLACE TABLE and ALTER TABLE declare, from Spark 4.1 on: CHECK is done, keys are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import UnsupportedFeatureError
from bayou.protocol.columns.constraints import add_constraint
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.jvm.catalyst.parsed_nodes import (
    declared_constraint,
    declared_constraints,
    parts_of_name,
    provider_of,
    with_properties,
)
from bayou.spark.jvm.core.session import active_session, java_session
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.parser import table_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bayou.spark.jvm.catalyst.parsed_nodes import DeclaredConstraint
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


def rely_refused(table: str) -> UnsupportedFeatureError:
    """The error of a CHECK constraint with RELY or NORELY."""
    return UnsupportedFeatureError(
        "A CHECK constraint of a Delta table has no RELY and no NORELY: it is enforced.",
        table=table,
        error_class="DELTA_OPERATION_NOT_ALLOWED",
        features=["checkConstraints"],
        next_step="leave the words behind the condition out.",
    )


def with_checks_as_properties(application: Application, create: JavaObject) -> JavaObject | None:
    """A statement that makes a Delta table, with its CHECK constraints as properties; None for a table of another kind.

    Args:
        create: the CreateTable or ReplaceTable, not resolved.

    Raises:
        InvalidSchemaError: two constraints have the same name, or one has a reserved name.
        UnsupportedFeatureError: one of them is a key.
    """
    jvm = application.jvm
    session = java_session(active_session(jvm))
    parts = parts_of_name(jvm, create.name())
    provider = provider_of(create) or str(session.sessionState().conf().defaultDataSourceName())
    if provider.lower() != "delta" or (parts is not None and table_name(jvm, session, column_sql(parts)) is None):
        return None
    table = "" if parts is None else column_sql(parts)
    properties: dict[str, str] = {}
    for each in _checks(declared_constraints(jvm, create), table):
        properties = add_constraint(properties, each.name, each.condition, table=table)
    return with_properties(jvm, create, properties)


def refuse_added_key(application: Application, alter: JavaObject) -> None:
    """Refuses ALTER TABLE ... ADD PRIMARY KEY, FOREIGN KEY and UNIQUE of a Delta table; returns for a table of another kind.

    Args:
        alter: the AddConstraint, not resolved.

    Raises:
        UnsupportedFeatureError: it is about a Delta table.
    """
    jvm = application.jvm
    spark = active_session(jvm)
    parts = parts_of_name(jvm, alter.table())
    found = None if parts is None else table_name(jvm, java_session(spark), column_sql(parts))
    if found is not None and Catalog(jvm, spark).is_delta(column_sql(found)):
        list(_checks([declared_constraint(jvm, alter.tableConstraint())], column_sql(found)))


def _checks(declared: Iterable[DeclaredConstraint], table: str) -> Iterable[DeclaredConstraint]:
    """The CHECK constraints; all others are refused."""
    for each in declared:
        if each.kind != "CHECK":
            raise UnsupportedFeatureError(
                f"Delta tables have no {each.kind} constraints: nothing would enforce the constraint {each.name!r}.",
                table=table,
                error_class="DELTA_OPERATION_NOT_ALLOWED",
                features=[each.kind],
                next_step="leave the constraint out. CHECK and NOT NULL are enforced, and a MERGE can keep a key unique.",
            )
        if each.says_rely:
            raise rely_refused(table)
        yield each
