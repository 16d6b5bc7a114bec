# SPDX-License-Identifier: Apache-2.0
"""What is known of the classes with which two engines refuse the same, where these differ and both are right."""

from __future__ import annotations

WRONG_ROWS = (
    "CAST_INVALID_INPUT",
    "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE",
    "DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
    "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
    "INVALID_ARRAY_INDEX",
)
"""What is wrong with rows; which of several faults a statement meets first is up to its plan."""
WRAPPERS = ("DELTA_REPLACE_ON_OR_USING_TABLE_CONSTRAINT_VIOLATION", "DELTA_REPLACE_WHERE_MISMATCH")
"""delta-spark's classes around the table's rules, where rows replace others by match, or are to fulfil a condition."""


def both_are_right(theirs: str, first: str | None, second: str | None) -> bool:
    """Whether two classes are about the same rows, or one is around the other.

    Args:
        theirs: the text of delta-spark's error, which has the class of what it is around, too.
        first: delta-spark's class.
        second: bayou's class.
    """
    return (first in WRONG_ROWS and second in WRONG_ROWS) or (first in WRAPPERS and f"[{second}]" in theirs)
