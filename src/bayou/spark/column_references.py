# SPDX-License-Identifier: Apache-2.0
"""Which of a table's own expressions use a column: they stand in the way of its change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.protocol.column_dependents import refuse_dependents
from bayou.protocol.constraints import ConstraintKind, constraints_of
from bayou.protocol.generated_columns import generated_columns, has_generated_columns
from bayou.spark.alignment import same_names_and_types
from bayou.spark.jvm.parser import parsed
from bayou.spark.jvm.session import java_session

if TYPE_CHECKING:
    from bayou.log.snapshot import Snapshot
    from bayou.protocol.schema import StructType
    from bayou.spark.alter_target import AlterTarget

_OWN_TEXT: Final = (ConstraintKind.CHECK, ConstraintKind.INVARIANT)
"""The constraints that somebody wrote down; others are made from the column that they are about."""


def refuse_referenced(
    target: AlterTarget, snapshot: Snapshot, schema: StructType, column: tuple[str, ...], *, changes_type: bool = False
) -> None:
    """Refuses to rename, drop or retype a column that an expression of the table uses.

    Args:
        target: the table.
        snapshot: its state.
        schema: its schema after the change: generated columns that go with it are in nobody's way.
        column: the column.
        changes_type: whether it is the type that changes.

    Raises:
        InvalidSchemaError: a CHECK constraint, an invariant or a generated column uses it.
    """
    jvm, session = target.application.jvm, java_session(target.spark)
    rules = [each for each in constraints_of(snapshot.metadata, snapshot.schema) if each.kind in _OWN_TEXT]
    generated = generated_columns(schema) if has_generated_columns(snapshot.protocol, snapshot.schema) else ()
    refuse_dependents(
        column,
        constraints={each.name: parsed(jvm, session, each.expression).columns for each in rules},
        generated={each.name: parsed(jvm, session, each.expression).columns for each in generated},
        table=target.uri,
        changes_type=changes_type,
    )


def refuse_other_types(target: AlterTarget, snapshot: Snapshot, given: StructType) -> None:
    """Refuses rows that bring another type for a column that an expression of the table uses; else does nothing.

    Args:
        target: the table.
        snapshot: its state.
        given: the schema of the rows.

    Raises:
        InvalidSchemaError: a CHECK constraint, an invariant or a generated column uses the column; it is named.
    """
    for field in given.fields:
        known = snapshot.schema.field(field.name)
        if known is not None and not same_names_and_types(known.type, field.type):
            refuse_referenced(target, snapshot, snapshot.schema, (known.name,), changes_type=True)
