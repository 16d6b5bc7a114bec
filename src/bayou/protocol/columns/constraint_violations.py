# SPDX-License-Identifier: Apache-2.0
"""The errors of rows that violate constraints, with delta-spark's error classes and messages.

Source: delta-spark's `DeltaInvariantViolationException` and its error classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from bayou.errors import DeltaError, failed
from bayou.protocol.columns.constraints import Constraint, ConstraintKind
from bayou.protocol.types.sql_text import column_sql

MAX_ROWS: Final = 5
"""The number of rows that an error shows at most."""

_MAX_VALUE_CHARACTERS: Final = 200


def violation(
    constraint: Constraint,
    rows: Iterable[Mapping[str, Any]],
    *,
    num_violations: int | None = None,
    table: str | None = None,
    version: int | None = None,
) -> DeltaError:
    """Return the error of a write whose rows violate a constraint.

    Args:
        rows: some of the rows, each with the values of the columns that the constraint uses.
        num_violations: the number of rows that violate it, if known.
    """
    shown = [dict(row) for row in islice(rows, MAX_ROWS)]
    known: dict[str, Any] = {
        "table": table,
        "version": version,
        "column": constraint.column,
        "rows": shown,
        "num_violations": num_violations,
    }
    name, expression, total = constraint.name, constraint.expression, _total(num_violations)
    if constraint.kind is ConstraintKind.NOT_NULL:
        path = _name(constraint)
        return failed("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", constraint=name, expression=expression, name=path, total=total, **known)
    if constraint.kind is ConstraintKind.CHAR_VARCHAR:
        value = _shown(next(iter(shown[0].values()), None)) if shown else "?"
        return failed("DELTA_EXCEED_CHAR_VARCHAR_LIMIT", constraint=name, expression=expression, value=value, total=total, **known)
    values = "\nand a row with:".join(map(_lines, shown))
    return failed(
        "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", constraint=name, expression=expression, values=values, total=total, **known
    )


def new_constraint_violation(
    constraint: Constraint, *, num_violations: int, table: str, version: int | None = None, rows: Iterable[Mapping[str, Any]] = ()
) -> DeltaError:
    """Return the error of a constraint that cannot be added, because rows of the table violate it."""
    is_check = constraint.kind is not ConstraintKind.NOT_NULL
    return failed(
        "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION" if is_check else "DELTA_NEW_NOT_NULL_VIOLATION",
        table=table,
        version=version,
        name=_name(constraint),
        constraint=constraint.name,
        expression=constraint.expression,
        column=constraint.column,
        rows=[dict(row) for row in islice(rows, MAX_ROWS)],
        num_violations=num_violations,
    )


def _name(constraint: Constraint) -> str:
    """Return the column as delta-spark shows it, with backticks only around names that need them."""
    return ".".join(name if name.isidentifier() else column_sql([name]) for name in constraint.column)


def _lines(row: Mapping[str, Any]) -> str:
    return "".join(f"\n - {name} : {_shown(row[name])}" for name in sorted(row))


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return text if len(text) <= _MAX_VALUE_CHARACTERS else f"{text[:_MAX_VALUE_CHARACTERS]}..."


def _total(num_violations: int | None) -> str:
    if num_violations is None or num_violations < 1:
        return ""
    return f" Rows that violate it: {num_violations}."
