# SPDX-License-Identifier: Apache-2.0
"""What an engine says of the rows of a table: how many of them violate each condition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowCount:
    """The rows that violate a condition. NULL violates it, as false does.

    Attributes:
        kind: what declares the condition: "CHECK", "NOT NULL", "INVARIANT", "GENERATED", "CHAR_VARCHAR" or "IDENTITY".
        name: the constraint, or the path of the column.
        condition: the SQL condition.
        count: the number of rows.
        problem: why the engine cannot evaluate the condition; None if it did.
    """

    kind: str
    name: str
    condition: str
    count: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The conditions of a table, and the rows that violate them.

    Attributes:
        counts: the conditions.
        problem: why the engine cannot read the rows; None if it did.
    """

    counts: tuple[RowCount, ...] = ()
    problem: str | None = None


CountRows = Callable[[str, int], RowCounts]
"""Counts the rows of a table at a version. Its arguments are the table's URI and the version."""
