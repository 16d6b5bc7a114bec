# SPDX-License-Identifier: Apache-2.0
"""What delta-spark's rules skip, written down once more and as simply as can be: bayou must skip at least that.

Source: delta-spark's `DataFiltersBuilder` and `DataSkippingReader`. Left out on purpose are the rules that are not safe
for files by other writers: upper bounds of floats, bounds of decimals with more than 15 digits, and `!=` on strings
that can be cut. Bounds that are NaN or infinite count as missing.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.support.tables.spark_semantics import order_key, truth

from bayou.plan.predicates.predicate import And, Comparison, In, IsNotNull, IsNull, Not, Or, Predicate, StartsWith, columns
from bayou.protocol.types import instants

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayou.plan.predicates.predicate import Path

_FLIPPED = {"=": "!=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MILLISECOND = 1_000


@dataclass
class FileFacts:
    """The statistics of one file, read with Python's own JSON."""

    types: dict[Path, str]
    stats: dict[str, Any]

    def get(self, side: str, path: Path) -> Any:
        found: Any = self.stats.get(side)
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return found if found is None or side == "nullCount" else _value(found, self.types[path], side)

    def is_all_null(self, path: Path) -> bool:
        count = self.get("nullCount", path)
        return count is not None and count == self.stats.get("numRecords")


@dataclass
class Skipping:
    """A filter on statistics: kept where it is true, or a statistic that it uses is missing."""

    keeps: Callable[[FileFacts], bool]
    bounded: set[Path] = field(default_factory=set)
    counted: set[Path] = field(default_factory=set)

    def has_all(self, facts: FileFacts) -> bool:
        bounds = all(
            facts.is_all_null(path) or None not in (facts.get("minValues", path), facts.get("maxValues", path))
            for path in self.bounded
        )
        counts = all(facts.get("nullCount", path) is not None for path in self.counted)
        return bounds and counts and "numRecords" in facts.stats


def keeps(predicate: Predicate, types: dict[Path, str], stats: str, partition: tuple[Path, Any]) -> bool:
    """Whether delta-spark reads the file."""
    facts = FileFacts(types, json.loads(stats, parse_float=Decimal))
    path, value = partition
    for conjunct in predicate.children if isinstance(predicate, And) else (predicate,):
        used = columns(conjunct)
        if used == {path}:
            # Whatever is not understood is no filter on partition columns.
            if True not in {truth(conjunct, {path: value}, unknown=unknown) for unknown in (True, False, None)}:
                return False
        elif path not in used:
            skipping = _translate(conjunct, types)
            if skipping and skipping.has_all(facts) and not skipping.keeps(facts):
                return False
    return True


def _translate(predicate: Predicate, types: dict[Path, str]) -> Skipping | None:  # noqa: C901, PLR0911  (a table of rules)
    match predicate:
        case And(children):
            parts = [part for part in (_translate(child, types) for child in children) if part]
            return _joined(parts, all) if parts else None
        case Or(children):
            maybe = [_translate(child, types) for child in children]
            return _joined(maybe, any) if maybe and None not in maybe else None
        case Not(And(children)):
            return _translate(Or(tuple(Not(child) for child in children)), types)
        case Not(Or(children)):
            return _translate(And(tuple(Not(child) for child in children)), types)
        case Not(Not(child)):
            return _translate(child, types)
        case IsNull(column) | Not(IsNotNull(column)):
            return Skipping(lambda facts: facts.get("nullCount", column.path) > 0, counted={column.path})
        case IsNotNull(column) | Not(IsNull(column)):
            return Skipping(lambda facts: not facts.is_all_null(column.path), counted={column.path})
        case Comparison(op, column, literal) if literal.value is not None:
            return _comparison("=" if op == "<=>" else op, column.path, literal.value, types)
        case Not(Comparison(op, column, literal)) if literal.value is not None and op != "<=>":
            return _comparison(_FLIPPED[op], column.path, literal.value, types)
        case In(column, literals):
            return _membership(column.path, [literal.value for literal in literals], types)
        case StartsWith(column, prefix):
            return _prefix(column.path, prefix)
    return None


def _joined(parts: Any, how: Callable[..., bool]) -> Skipping:
    return Skipping(
        lambda facts: how(part.keeps(facts) for part in parts),
        set().union(*(part.bounded for part in parts)),
        set().union(*(part.counted for part in parts)),
    )


def _comparison(op: str, path: Path, value: Any, types: dict[Path, str]) -> Skipping | None:
    data_type = types[path]
    is_float = data_type in {"float", "double"}
    if is_float and (op in {">", ">=", "!="} or math.isnan(value)):
        return None
    if data_type == "decimal(38,10)" or (op == "!=" and data_type == "string" and len(value) >= 32):
        return None

    def test(facts: FileFacts) -> bool:
        if facts.is_all_null(path):
            return False
        low, high = order_key(facts.get("minValues", path)), order_key(facts.get("maxValues", path))
        v = order_key(value)
        by_operator = {"=": low <= v <= high, "!=": low < v or v < high, "<": low < v, "<=": low <= v}
        return {**by_operator, ">": high > v, ">=": high >= v}[op]

    return Skipping(test, bounded={path})


def _membership(path: Path, values: list[Any], types: dict[Path, str]) -> Skipping | None:
    present = sorted((value for value in values if value is not None), key=order_key)
    if not present:
        return Skipping(lambda _: False)
    bounds = [_comparison("<=", path, present[-1], types), _comparison(">=", path, present[0], types)]
    return None if None in bounds else _joined(bounds, all)


def _prefix(path: Path, prefix: str) -> Skipping:
    def test(facts: FileFacts) -> bool:
        if facts.is_all_null(path):
            return False
        low, high = facts.get("minValues", path)[: len(prefix)], facts.get("maxValues", path)[: len(prefix)]
        return low.encode() <= prefix.encode() <= high.encode()

    return Skipping(test, bounded={path})


def _value(found: Any, data_type: str, side: str) -> Any:
    if data_type == "date":
        return instants.parse_date(found)
    if data_type in {"timestamp", "timestamp_ntz"}:
        micros = instants.parse_timestamp(found)
        if micros is None:
            return None
        return min(micros + _MILLISECOND, 2**63 - 1) if side == "maxValues" else micros
    if data_type in {"float", "double"} and isinstance(found, str):
        return None
    if data_type == "double":
        return float(found)
    return struct.unpack("<f", struct.pack("<f", float(found)))[0] if data_type == "float" else found
