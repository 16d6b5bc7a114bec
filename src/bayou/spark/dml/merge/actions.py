# SPDX-License-Identifier: Apache-2.0
"""The column with the clause that a joined row falls under: the first clause of its kind whose condition is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ACTION = "__bayou_action"
"""The column with the number of the clause that a row falls under."""
KEPT = -1
"""The value of `ACTION` for a row of the table that matches and stays unchanged."""
NONE = -2
"""The value of `ACTION` for a row without a match and without a clause: it stays in the table, or it is not inserted."""


def is_one_of(numbers: Iterable[int]) -> str:
    """Return the SQL condition that a row falls under one of the clauses with these numbers."""
    chosen = ", ".join(map(str, numbers))
    return f"{ACTION} in ({chosen})" if chosen else "false"
