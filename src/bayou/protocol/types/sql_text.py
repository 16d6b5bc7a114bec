# SPDX-License-Identifier: Apache-2.0
"""Write names and strings as Spark SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence


def quoted_name(name: str) -> str:
    """Return a name in backticks."""
    return f"`{name.replace('`', '``')}`"


def short_name(name: str) -> str:
    """Return a name, in backticks if it has other characters than letters, digits and `_`, or begins with a digit."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else quoted_name(name)


def column_sql(path: Sequence[str]) -> str:
    """Return the path of a column or a nested field as SQL."""
    return ".".join(map(quoted_name, path))


def string_sql(value: str) -> str:
    """Return a string as a literal, or as a function call if a session setting could change the meaning of the literal."""
    if re.fullmatch(r"[^'\\$]*", value):
        return f"'{value}'"
    return f"decode(X'{value.encode().hex()}', 'UTF-8')"


def parenthesised(expression: str) -> str:
    """Return an expression in parentheses, with a line break if it may end with a comment."""
    return f"({expression}\n)" if "--" in expression else f"({expression})"
