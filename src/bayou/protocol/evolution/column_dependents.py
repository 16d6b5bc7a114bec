# SPDX-License-Identifier: Apache-2.0
"""Find the constraints and generated columns that use a column, which prevents changes of it.

Source: delta-spark's checks of RENAME COLUMN, DROP COLUMN and a change of type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from bayou.errors import failed
from bayou.protocol.types.sql_text import column_sql

Path: TypeAlias = Sequence[str]
"""The logical path of a column or a nested field."""

_CLASSES = {
    ("constraint", False): "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE",
    ("constraint", True): "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH",
    ("generated", False): "DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE",
    ("generated", True): "DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH",
}
_NAMES = {"constraint": "check constraint(s)", "generated": "generated column(s)"}


def dependents(column: Path, references: Mapping[str, Iterable[Path]]) -> tuple[str, ...]:
    """Return the names in `references` that depend on a column, on a field in it, or on a struct around it.

    Args:
        references: the paths of the columns that each expression uses, by the name of the constraint or generated column.
    """
    return tuple(name for name, used in references.items() if any(_overlap(column, each) for each in used))


def check_no_dependents(
    column: Path,
    *,
    constraints: Mapping[str, Iterable[Path]],
    generated: Mapping[str, Iterable[Path]],
    table: str,
    changes_type: bool = False,
) -> None:
    """Raise InvalidSchemaError if an expression uses a column to be renamed, dropped or changed; `dependents` has its owners.

    Args:
        constraints: the paths of the columns that each CHECK constraint uses, by its name.
        generated: the paths of the columns that each generated column uses, by its name.
        changes_type: whether the type changes.
    """
    for what, references in (("constraint", constraints), ("generated", generated)):
        found = dependents(column, references)
        if found:
            change = "be altered to another data type" if changes_type else "be altered"
            raise failed(
                "column-with-dependents",
                error_class=_CLASSES[what, changes_type],
                table=table,
                name=column_sql(column),
                change=change,
                owners=_NAMES[what],
                column=tuple(column),
                dependents=found,
            )


def _overlap(one: Path, other: Path) -> bool:
    return all(mine.lower() == theirs.lower() for mine, theirs in zip(one, other, strict=False))
