# SPDX-License-Identifier: Apache-2.0
"""Derive conditions on the table from the keys of a source, to prune files. Every row of the table with a match satisfies them.

If a MERGE matches by `table.k = source.k`, a matching row lies between the minimum and the maximum of the source's `k`. If the
source has few values of `k`, the condition lists them. The conditions are JSON in Catalyst's format, like any other filter, so that
the same code turns them into predicates. A condition that this code does not support prunes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

Nodes: TypeAlias = "list[Mapping[str, Any]]"

_AS_TEXT: Final = {
    **dict.fromkeys(("byte", "short", "integer", "long", "string", "boolean", "float", "double"), "cast({} as string)"),
    "date": "cast(unix_date({}) as string)",
    "timestamp": "cast(unix_micros({}) as string)",
}
_NUMBER_OF: Final = {"date": "integer", "timestamp": "long"}
"""The types whose values are numbers of days or microseconds, by the type of these numbers."""
MOST_VALUES: Final = 1000
"""The maximum number of values of a key that are listed. If a source has more, only their range is used."""


@dataclass(frozen=True, slots=True)
class Key:
    """An equality between the table and the source.

    Attributes:
        target: the table's side, as nodes in Catalyst's JSON format.
        kind: the type in which the sides are compared, as PROTOCOL.md names primitive types.
        null_safe: whether NULL equals NULL.
        is_partition: whether the table's side is a partition column.
    """

    target: Nodes = field(hash=False)
    kind: str
    null_safe: bool
    is_partition: bool

    @property
    def is_supported(self) -> bool:
        """Whether a literal of a condition can hold values of the type."""
        return self._form is not None

    @property
    def _form(self) -> str | None:
        return "cast({} as string)" if self.kind.startswith("decimal") else _AS_TEXT.get(self.kind)

    def text_of(self, value: str) -> str:
        """Return SQL that converts a value to a string."""
        return (self._form or "cast({} as string)").format(value)


@dataclass(frozen=True, slots=True)
class KeyValues:
    """The values of one key in the source, as strings.

    Attributes:
        least: the least value; None if all values are NULL or the source is empty.
        greatest: the greatest value; None in the same cases.
        has_null: whether NULL is among the values.
        values: all values except NULL; None if they were not listed.
    """

    least: str | None
    greatest: str | None
    has_null: bool
    values: Sequence[str] | None = None


def condition_of(key: Key, found: KeyValues) -> str | None:
    """Return a condition that every row of the table with a match satisfies, in Catalyst's JSON format.

    Return None if any row may match. If no row can match, the condition is FALSE.
    """
    parts: list[Nodes] = []
    if found.least is not None and found.greatest is not None:
        within = _within(key, found)
        if within is None:
            return None
        parts.append(within)
    if key.null_safe and found.has_null:
        parts.append([_node("IsNull", 1), *key.target])
    if not parts:
        return json.dumps([_literal("false", "boolean")])
    return json.dumps(parts[0] if len(parts) == 1 else [_node("Or", 2), *parts[0], *parts[1]])


def _within(key: Key, found: KeyValues) -> Nodes | None:
    """Return the condition that the table's side is one of the source's values, or in their range. None if it excludes nothing.

    In Spark, NaN equals itself and is greater than any number, but statistics may omit it. Therefore a range whose greatest value
    is NaN has no upper bound, and a list with NaN is not used.
    """
    kind = _NUMBER_OF.get(key.kind, key.kind)
    if found.values is not None and not _has_nan(found.values):
        literals = [_literal(value, kind) for value in found.values]
        return [_node("In", 1 + len(literals)), *key.target, *literals]
    assert found.least is not None  # noqa: S101  (the caller has checked)
    assert found.greatest is not None  # noqa: S101
    if _has_nan([found.least]):  # all values are NaN
        return None
    from_least: Nodes = [_node("GreaterThanOrEqual", 2), *key.target, _literal(found.least, kind)]
    if _has_nan([found.greatest]):
        return from_least
    return [_node("And", 2), *from_least, _node("LessThanOrEqual", 2), *key.target, _literal(found.greatest, kind)]


def _has_nan(values: Sequence[str]) -> bool:
    return "NaN" in values


def _node(name: str, children: int) -> Mapping[str, Any]:
    return {"class": name, "num-children": children}


def _literal(text: str, kind: str) -> Mapping[str, Any]:
    return {"class": "Literal", "num-children": 0, "value": text, "dataType": kind}
