# SPDX-License-Identifier: Apache-2.0
"""`Clause`: a WHEN clause of a MERGE before its names are resolved, and the rules for combining clauses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from bayou.errors import failed


class Kind(Enum):
    """The kind of rows that a clause applies to. The value is the word in delta-spark's error classes."""

    MATCHED = "MATCHED"
    NOT_MATCHED = "NOT_MATCHED"
    NOT_MATCHED_BY_SOURCE = "NOT_MATCHED_BY_SOURCE"

    @property
    def sql(self) -> str:
        """The SQL keywords."""
        return self.value.replace("_", " ")


class Action(Enum):
    """The change that a clause makes to a row. The value is the word in the history."""

    UPDATE = "update"
    DELETE = "delete"
    INSERT = "insert"


@dataclass(frozen=True, slots=True)
class Clause:
    """One WHEN clause, before it is resolved.

    Attributes:
        condition: the condition for rows of the kind; None for all rows.
        assignments: the values by column, or pairs of column and value; None for `*` and for a DELETE.
    """

    kind: Kind
    action: Action
    condition: Any = None
    assignments: Mapping[Any, Any] | Sequence[tuple[Any, Any]] | None = None

    @property
    def is_star(self) -> bool:
        """Whether all columns of the table are set from the source's columns of the same names."""
        return self.assignments is None and self.action is not Action.DELETE

    @property
    def pairs(self) -> Sequence[tuple[Any, Any]]:
        """The assigned columns and their values; none for `*`."""
        assignments = self.assignments or ()
        return list(assignments.items()) if isinstance(assignments, Mapping) else list(assignments)

    @property
    def given(self) -> Sequence[Any]:
        """The user-supplied expressions: the condition and the values."""
        return [self.condition, *(value for _, value in self.pairs)]

    @property
    def does_nothing(self) -> bool:
        """Whether the clause is an UPDATE without condition and without assignments. delta-spark ignores such a clause."""
        return self.action is Action.UPDATE and self.condition is None and self.assignments is not None and not self.assignments


def check_clauses(clauses: Sequence[Clause], table: str) -> None:
    """Check that clauses can be combined.

    Raises:
        InvalidOptionError: a clause is missing, or a clause that is not the last of its kind lacks a condition.
    """
    if not clauses:
        raise failed("DELTA_MERGE_MISSING_WHEN", table=table, option="WHEN")
    for kind in Kind:
        same = [each for each in clauses if each.kind is kind]
        if any(each.condition is None for each in same[:-1]):
            raise failed(
                "merge-clause-without-condition",
                table=table,
                error_class=f"DELTA_NON_LAST_{kind.value}_CLAUSE_OMIT_CONDITION",
                kind=kind.sql,
                option="WHEN",
            )
