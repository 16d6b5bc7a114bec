# SPDX-License-Identifier: Apache-2.0
"""Names and strings as Spark SQL text."""

from __future__ import annotations

import re
from collections.abc import Sequence


def quoted_name(name: str) -> str:
    """One name between backticks."""
    return f"`{name.replace('`', '``')}`"


def column_sql(path: Sequence[str]) -> str:
    """A column or a nested field, by the names that lead to it from the top."""
    return ".".join(map(quoted_name, path))


def string_sql(value: str) -> str:
    """A string as a literal, or as a call that gives it if a setting of the session could change what the literal means."""
    if re.fullmatch(r"[^'\\$]*", value):
        return f"'{value}'"
    return f"decode(X'{value.encode().hex()}', 'UTF-8')"


def parenthesised(expression: str) -> str:
    """An expression between parentheses, which end it also where its text ends with a comment."""
    return f"({expression}\n)" if "--" in expression else f"({expression})"
