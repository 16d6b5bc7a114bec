# SPDX-License-Identifier: Apache-2.0
"""Random small tables and predicates, chosen by Python's or by hypothesis's random numbers.

Values come from small pools, so that bounds and constants meet often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.support.tables.random_files import DataFile, Row, bayou_stats, foreign_stats

if TYPE_CHECKING:
    from random import Random

from bayou.plan.predicates.predicate import (
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
from bayou.protocol.types.partition_values import to_float32

PARTITION: Path = ("p",)
PATHS: tuple[Path, ...] = (("a",), ("s", "x"), ("s", "t", "y.z"))

_LAST = "\U0010ffff"
_FLOATS = [math.nan, math.nan, -0.0, 0.0, 1.5, -1.5, 0.1, 0.3, 16777.217, math.inf, -math.inf]
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


def any_table(random: Random, *, own_only: bool = False, only: str | None = None) -> Table:
    """Any table; with `own_only` by bayou's writer, with `only` all columns of one type."""
    types = {path: only or random.choice(sorted(POOLS)) for path in (*PATHS, PARTITION)}
    pools = {path: random.choices(POOLS[types[path]], k=3) for path in types}
    files = [_any_file(random, types, pools, own_only=own_only) for _ in range(4)]
    return Table(types, pools, files)


def any_predicate(random: Random, table: Table, depth: int = 2) -> Predicate:
    """Any predicate over the columns."""
    kind = random.randrange(10) if depth else 0
    if kind < 5:
        return _any_leaf(random, table)
    if kind < 7:
        return Not(any_predicate(random, table, depth - 1))
    children = tuple(any_predicate(random, table, depth - 1) for _ in range(random.randrange(4)))
    return And(children) if kind < 8 else Or(children)


def _any_file(random: Random, types: dict[Path, str], pools: dict[Path, list[Any]], *, own_only: bool) -> DataFile:
    partition = random.choice([*pools[PARTITION], None])
    rows: list[Row] = [
        {**{path: random.choice([*pools[path], None]) for path in PATHS}, PARTITION: partition}
        for _ in range(random.randrange(1, 4))
    ]
    deleted = frozenset(random.choices(range(len(rows)), k=2) if random.random() < 0.2 else ())
    tight = False if deleted else random.choice([None, True, False])
    stats = _any_stats(random, rows, {path: types[path] for path in PATHS}, tight=tight, own_only=own_only)
    return DataFile(rows, deleted, stats, partition)


def _any_stats(random: Random, rows: list[Row], types: dict[Path, str], *, tight: bool | None, own_only: bool) -> str | None:
    if own_only or random.random() < 0.4:
        return bayou_stats(rows, types, tight=tight)
    if random.random() < 0.1:
        return random.choice([None, "", "{}", "oops", '{"numRecords":"x"}', "[1]"])
    habits = frozenset(habit for habit in _HABITS if random.random() < 0.2)
    return foreign_stats(rows, types, tight=tight, habits=habits)


def _any_leaf(random: Random, table: Table) -> Predicate:
    path = random.choice((*PATHS, PARTITION))
    column = Column(path)
    kind = random.randrange(14)
    if kind < 8:
        return Comparison(random.choice(_OPERATORS), column, _any_literal(random, table, path))
    if kind < 10:
        values = [_any_literal(random, table, path) for _ in range(random.randrange(5))]
        # Beyond so many values ranges stand for them.
        return In(column, tuple(values * random.choice([1, 1, 40])))
    if kind == 10 and table.types[path] == "string":
        return StartsWith(column, random.choice(_STRINGS))
    if kind < 13:
        return random.choice([IsNull(column), IsNotNull(column)])
    return random.choice([Unknown(), Boolean(True), Boolean(False), Boolean(None)])


def _any_literal(random: Random, table: Table, path: Path) -> Literal:
    data_type = table.types[path]
    pool = table.pools[path] if random.random() < 0.7 else POOLS[data_type]
    return Literal(random.choice(pool) if random.random() < 0.9 else None, data_type)
