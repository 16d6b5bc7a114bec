# SPDX-License-Identifier: Apache-2.0
"""What a MERGE may not have in its conditions and its INSERT clauses, and the errors that say so."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bayou.errors import InvalidSchemaError, SchemaMismatchError, UnsupportedFeatureError
from bayou.protocol.identity_rules import refuse_explicit_values
from bayou.spark.dml.assignments import typed_assignments
from bayou.spark.jvm import nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.log.snapshot import Snapshot
    from bayou.spark.dml.assignments import Assignment
    from bayou.spark.jvm import row_changes
    from bayou.spark.jvm.bridge import JavaObject, Jvm


def checked_condition(jvm: Jvm, snapshot: Snapshot, found: JavaObject, name: str) -> JavaObject:
    """A condition, if it is one; a plain NULL as a boolean.

    Args:
        jvm: the bridge.
        snapshot: the table's state.
        found: the condition, resolved.
        name: what errors call it.
    """
    if nodes.has_subquery(found):
        raise unsupported(snapshot, f"Subqueries in the {name} condition ({found.sql()})", "DELTA_UNSUPPORTED_SUBQUERY", "0AKDC")
    if not nodes.is_deterministic(found):
        message = f"Non-deterministic functions in the {name} condition ({found.sql()})"
        raise unsupported(snapshot, message, "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED", "0AKDC")
    if not nodes.is_boolean(found):
        raise SchemaMismatchError(
            f"The {name} condition {found.sql()} of the MERGE is of type {found.dataType().sql()} and not a boolean.",
            table=snapshot.table_uri,
            version=snapshot.version,
            error_class="DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
            sql_state="42K09",
            problems=("not a boolean",),
        )
    return nodes.as_boolean(jvm, found)


def inserted_values(snapshot: Snapshot, pairs: row_changes.Pairs) -> tuple[Assignment, ...]:
    """What an INSERT clause sets, if it may.

    Args:
        snapshot: the table's state.
        pairs: the columns and their values, resolved.

    Raises:
        UnsupportedFeatureError: a field of a struct is among them.
        InvalidSchemaError: a column is there twice, or an identity column is.
    """
    found = typed_assignments(pairs, snapshot)
    uri, version = snapshot.table_uri, snapshot.version
    for each in found:
        if len(each.path) > 1:
            raise UnsupportedFeatureError(
                f"Nested field is not supported in the INSERT clause of MERGE operation (field = `{'.'.join(each.path)}`).",
                table=uri,
                version=version,
                error_class="DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION",
                sql_state="0AKDC",
                features=["nested fields in INSERT"],
                next_step="give the whole struct.",
            )
    names = [each.path[0].lower() for each in found]
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise InvalidSchemaError(
            f"Duplicate column names in INSERT clause: {', '.join(twice)}.",
            table=uri,
            version=version,
            error_class="DELTA_DUPLICATE_COLUMNS_ON_INSERT",
            sql_state="42701",
            next_step="give each column once.",
        )
    refuse_explicit_values(snapshot.schema, names, table=uri, version=version)
    return found


def unresolved(snapshot: Snapshot, message: str, names: Sequence[str]) -> SchemaMismatchError:
    """The error of a name that is no column.

    Args:
        snapshot: the table's state.
        message: what was not found, and where.
        names: the columns that there are.
    """
    return SchemaMismatchError(
        f"{message} given columns {', '.join(names)}.",
        table=snapshot.table_uri,
        version=snapshot.version,
        error_class="DELTA_MERGE_UNRESOLVED_EXPRESSION",
        sql_state="42601",
        next_step="name a column that is there, or use withSchemaEvolution where the source brings new ones.",
        problems=(message,),
    )


def unsupported(snapshot: Snapshot, what: str, error_class: str, sql_state: str) -> UnsupportedFeatureError:
    """The error of what no MERGE takes.

    Args:
        snapshot: the table's state.
        what: what it is, in the plural.
        error_class: delta-spark's.
        sql_state: its state.
    """
    return UnsupportedFeatureError(
        f"{what} are not supported in the MERGE operation.",
        table=snapshot.table_uri,
        version=snapshot.version,
        error_class=error_class,
        sql_state=sql_state,
        features=[what],
        next_step="compute it in the source first.",
    )
