# SPDX-License-Identifier: Apache-2.0
"""Random small tables and predicates. Values come from small pools, so that bounds and constants meet often."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from tests.core.plan.writers import DataFile, Row, bayou_stats, foreign_stats

from bayou.plan.predicate import (
    And,
    Boolean,
    Column,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    Or,
    Path,
    Predicate,
    StartsWith,
    Unknown,
)
from bayou.protocol.partition_values import to_float32

PARTITION: Path = ("p",)
PATHS: tuple[Path, ...] = (("a",), ("s", "x"), ("s", "t", "y.z"))

_LAST = "\U0010ffff"
_FLOATS = [math.nan, math.nan, math.nan, math.nan, -0.0, 0.0, 1.5, -1.5, 0.1, 0.3, 16777.217, math.inf, -math.inf]
_STRINGS = ["", "a", "ab", "abc", "b", "é", "\uffff", _LAST, "x" * 31, "x" * 32, "x" * 33, "x" * 32 + "y"]
_STRINGS += ["x" * 32 + "é", "x" * 32 + _LAST, "x" * 31 + _LAST * 3, _LAST * 33, _LAST * 70, "x" * 40, 'quote"\n\\']
_WIDE = [Decimal(text) for text in ("0", "1.5", "-1.5", "9007199254740993.0000000001", "9007199254740992.9999999999")]
_WIDE += [Decimal(sign + "9" * 28 + "." + "9" * 10) for sign in ("", "-")]
_WIDE += [Decimal(f"12345678901234567890.12345{last:05d}") for last in (67890, 67891, 67889, 0)]
_MILLISECOND = 1_000
_TIMESTAMPS = [
    base + offset
    for base in (0, 1_700_000_000_123_000, -5_000, 253_402_300_800_000_000)
    for offset in (-1, 0, 1, 999, _MILLISECOND)
] + [-(2**63), 2**63 - 1, 2**63 - 1_500]

POOLS: dict[str, list[Any]] = {
    "byte": [-128, -1, 0, 1, 5, 127],
    "integer": [-(2**31), -1, 0, 1, 5, 6, 2**31 - 1],
    "long": [-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1],
    "float": [to_float32(value) for value in _FLOATS],
    "double": _FLOATS,
    "decimal(10,2)": [Decimal(text) for text in ("0.00", "-0.01", "0.01", "1.50", "99999999.99", "-99999999.99")],
    "decimal(38,10)": [Decimal(value).quantize(Decimal("1e-10")) if abs(value) < 100 else value for value in _WIDE],
    "string": _STRINGS,
    "date": [-719_529, -1, 0, 1, 19_000, 2_932_896, 2_932_897, 10_000_000],
    "timestamp": _TIMESTAMPS,
    "timestamp_ntz": _TIMESTAMPS,
}

_HABITS = ("micros", "doubles", "whole", "no_nulls", "no_bounds", "no_rows")
_OPERATORS = ("=", "<", "<=", ">", ">=", "<=>")


@dataclass(frozen=True)
class Table:
    """Files over the columns of `PATHS` and a partition column.

    Attributes:
        types: of the columns, the partition column included.
        pools: the values that occur in each column.
        files: the files.
    """

    types: dict[Path, str]
    pools: dict[Path, list[Any]]
    files: list[DataFile]


@st.composite
def tables(draw: st.DrawFn, *, own_only: bool = False, only: str | None = None) -> Table:
    """Any table; with `own_only` by bayou's writer, with `only` all columns of one type."""
    types = {path: only or draw(st.sampled_from(sorted(POOLS))) for path in (*PATHS, PARTITION)}
    pools = {path: draw(st.lists(st.sampled_from(POOLS[types[path]]), min_size=2, max_size=4)) for path in types}
    files = [draw(_files(types, pools, own_only=own_only)) for _ in range(draw(st.integers(1, 4)))]
    return Table(types, pools, files)


@st.composite
def predicates(draw: st.DrawFn, table: Table, depth: int = 2) -> Predicate:
    """Any predicate over the columns."""
    kind = draw(st.integers(0, 9)) if depth else 0
    if kind < 5:
        return draw(_leaves(table))
    if kind < 7:
        return Not(draw(predicates(table, depth - 1)))
    children = tuple(draw(predicates(table, depth - 1)) for _ in range(draw(st.integers(0, 3))))
    return And(children) if kind < 8 else Or(children)


@st.composite
def _files(draw: st.DrawFn, types: dict[Path, str], pools: dict[Path, list[Any]], *, own_only: bool) -> DataFile:
    partition = draw(st.sampled_from([*pools[PARTITION], None]))
    rows: list[Row] = [
        {**{path: draw(st.sampled_from([*pools[path], None])) for path in PATHS}, PARTITION: partition}
        for _ in range(draw(st.integers(1, 3)))
    ]
    deleted = draw(st.sets(st.integers(0, len(rows) - 1))) if draw(st.integers(0, 4)) == 3 else set()
    data_types = {path: types[path] for path in PATHS}
    tight = False if deleted else draw(st.sampled_from([None, True, False]))
    if own_only or draw(st.booleans()):
        stats: str | None = bayou_stats(rows, data_types, tight=tight)
    else:
        habits = frozenset(habit for habit in _HABITS if draw(st.integers(0, 5)) == 4)
        stats = foreign_stats(rows, data_types, tight=tight, habits=habits)
    if not own_only and draw(st.integers(0, 9)) == 7:
        stats = draw(st.sampled_from([None, "", "{}", "oops", '{"numRecords":"x"}', "[1]"]))
    return DataFile(rows, frozenset(deleted), stats, partition)


@st.composite
def _leaves(draw: st.DrawFn, table: Table) -> Predicate:
    path = draw(st.sampled_from((*PATHS, PARTITION)))
    data_type = table.types[path]
    column = Column(path)
    pool = table.pools[path] if draw(st.integers(0, 3)) else POOLS[data_type]
    constants = st.sampled_from(pool).map(lambda value: Literal(value, data_type))
    kind = draw(st.integers(0, 12))
    if kind < 7:
        literal = draw(constants) if draw(st.integers(0, 9)) else Literal(None, data_type)
        return Comparison(draw(st.sampled_from(_OPERATORS)), column, literal)
    if kind < 9:
        values = draw(st.lists(constants | st.just(Literal(None, data_type)), max_size=4))
        # Beyond so many values ranges stand for them.
        return In(column, tuple(values * draw(st.sampled_from([1, 1, 40]))))
    if kind == 9 and data_type == "string":
        return StartsWith(column, draw(st.sampled_from(_STRINGS)))
    if kind < 11:
        return draw(st.sampled_from([IsNull(column), IsNotNull(column)]))
    return draw(st.sampled_from([Unknown(), Boolean(True), Boolean(False), Boolean(None)]))
