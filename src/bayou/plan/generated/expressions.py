# SPDX-License-Identifier: Apache-2.0
"""Generation expressions of partition columns, resolved: the functions and casts in them are those that Spark evaluates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Reference:
    """A column or a nested field, by the names that lead to it."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A value of one of SQL's types: an integer, or a text."""

    value: str | int | None


@dataclass(frozen=True, slots=True)
class Call:
    """A function by the name that Catalyst has for it, or a cast: its name is then "Cast to" and the type."""

    name: str
    arguments: tuple[Expression, ...]


Expression: TypeAlias = Reference | Constant | Call
