# SPDX-License-Identifier: Apache-2.0
"""Check the INSERT clauses of a MERGE, and create the error for unknown names."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bayou.errors import DeltaError, failed
from bayou.protocol.columns.identity_rules import check_no_explicit_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.dml.core.statement import Assignment


def checked_inserts(snapshot: Snapshot, assignments: tuple[Assignment, ...]) -> tuple[Assignment, ...]:
    """Return the checked assignments of an INSERT clause.

    Raises:
        UnsupportedFeatureError: a field of a struct is assigned.
        InvalidSchemaError: a column is assigned twice, or an identity column is assigned.
    """
    for each in assignments:
        if len(each.path) > 1:
            raise failed(
                "DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION",
                at=snapshot,
                field=".".join(each.path),
                features=("nested fields in INSERT",),
            )
    names = [each.path[0].lower() for each in assignments]
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise failed("DELTA_DUPLICATE_COLUMNS_ON_INSERT", at=snapshot, columns=twice)
    check_no_explicit_values(snapshot.schema, names, table=snapshot.table_uri, version=snapshot.version)
    return assignments


def unresolved(snapshot: Snapshot, message: str, names: Sequence[str]) -> DeltaError:
    """Return the error for a name that is not a column.

    Args:
        message: what was not found, and in which clause.
    """
    return failed("DELTA_MERGE_UNRESOLVED_EXPRESSION", at=snapshot, problem=message, columns=tuple(names), problems=(message,))
