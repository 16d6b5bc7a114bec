# SPDX-License-Identifier: Apache-2.0
"""Names as Spark SQL text."""

from __future__ import annotations

from collections.abc import Sequence


def quoted_name(name: str) -> str:
    """One name between backticks."""
    return f"`{name.replace('`', '``')}`"


def column_sql(path: Sequence[str]) -> str:
    """A column or a nested field, by the names that lead to it from the top."""
    return ".".join(map(quoted_name, path))


def parenthesised(expression: str) -> str:
    """An expression between parentheses, which end it also where its text ends with a comment."""
    return f"({expression}\n)" if "--" in expression else f"({expression})"
