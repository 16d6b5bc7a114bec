# SPDX-License-Identifier: Apache-2.0
"""Handle the constraints that CREATE, REPLACE and ALTER TABLE can declare from Spark 4.1 on: store CHECK, refuse keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.protocol.columns.constraints import add_constraint
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.alter.constraints import check_declared
from bayou.spark.jvm.catalyst.parsed_nodes import (
    added_constraint,
    altered_table,
    created_name,
    declared_constraints,
    parts_of_name,
    provider_of,
    with_properties,
)
from bayou.spark.jvm.core.session import active_session, default_provider, java_session
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.parser import table_name
from bayou.spark.native.session.jvm import jvm_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bayou.spark.jvm.catalyst.parsed_nodes import DeclaredConstraint
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


def with_checks_as_properties(application: Application, create: JavaObject) -> JavaObject | None:
    """Return a statement with its CHECK constraints as table properties, or None if it does not create a Delta table.

    Args:
        create: the unresolved CreateTable or ReplaceTable.

    Raises:
        InvalidSchemaError: two constraints have the same name, or one has a reserved name.
        UnsupportedFeatureError: a constraint is a key.
    """
    jvm = jvm_of(application)
    session = java_session(active_session(jvm))
    parts = parts_of_name(jvm, created_name(create))
    provider = provider_of(create) or default_provider(session)
    if provider.lower() != "delta" or (parts is not None and table_name(jvm, session, column_sql(parts)) is None):
        return None
    table = "" if parts is None else column_sql(parts)
    properties: dict[str, str] = {}
    for each in _checks(declared_constraints(jvm, create), table):
        properties = add_constraint(properties, each.name, each.condition, table=table)
    return with_properties(jvm, create, properties)


def refuse_added_key(application: Application, alter: JavaObject) -> None:
    """Refuse PRIMARY KEY, FOREIGN KEY and UNIQUE in an unresolved AddConstraint of a Delta table; ignore other tables."""
    jvm = jvm_of(application)
    spark = active_session(jvm)
    parts = parts_of_name(jvm, altered_table(alter))
    table = None if parts is None else table_name(jvm, java_session(spark), column_sql(parts))
    if table is not None and Catalog(jvm, spark).is_delta(column_sql(table)):
        list(_checks([added_constraint(jvm, alter)], column_sql(table)))  # consume the generator, which raises


def _checks(declared: Iterable[DeclaredConstraint], table: str) -> Iterable[DeclaredConstraint]:
    """Yield the CHECK constraints. Refuse other kinds, and RELY and NORELY."""
    for each in declared:
        check_declared(each.name, each.kind, says_rely=each.says_rely, table=table)
        yield each
