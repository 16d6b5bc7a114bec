# SPDX-License-Identifier: Apache-2.0
"""Columns of random tables: what they hold, what they are set to, and conditions on them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column: its value by a row's number `n`, values of other types, values to set, and conditions; `{t}` names the row."""

    type: str
    value: str
    others: tuple[str, ...]
    sets: tuple[str, ...]
    conditions: tuple[str, ...]


COLUMNS = {
    "id": Column("BIGINT", "id", ("cast(id as int)",), ("{t}id + 100", "{t}id * -1", "7"), ("{t}id < 4", "{t}id in (1, 5, null)")),
    "k": Column(
        "INT",
        "n % 3",
        ("cast(n % 3 as string)", "cast(n % 3 as bigint)"),
        ("{t}k + 1", "null", "2L", "'5'", "concat('x', {t}id)", "7 / {t}k"),
        ("{t}k = 1", "{t}k is null", "not ({t}k = 1)", "{t}k in (0, 2)", "{t}k <=> null"),
    ),
    "v": Column(
        "BIGINT",
        "n * 10",
        ("n", "cast(n as double)", "cast(n as decimal(20, 0))", "'x'"),
        ("{t}v + 1", "{t}id", "null", "1.7", "cast({t}k as string)"),
        ("{t}v > 20", "{t}v is null or {t}v < 10", "{t}v + {t}id > 30", "{t}v = {t}id * 10"),
    ),
    "t": Column(
        "STRING",
        "concat('t/ ', n % 4)",
        ("n", "cast('t' as char(3))"),
        ("concat({t}t, '+')", "''", "null", "{t}id", "'a=b'"),
        ("{t}t like '%1'", "{t}t is not null", "{t}t >= 't/ 2'", "upper({t}t) = 'T/ 3'"),
    ),
    "d": Column(
        "DECIMAL(8,2)",
        "cast(n * 1.25 as decimal(8, 2))",
        ("cast(n as decimal(10, 0))", "n", "cast(n / 3 as decimal(20, 4))"),
        ("{t}d * 2", "1.239", "null", "{t}id * 1000000"),
        ("{t}d > 2.5", "{t}d = 1.25"),
    ),
    "f": Column(
        "DOUBLE",
        "if(n = 3, double('NaN'), n / 2)",
        ("n", "cast(n as float)"),
        ("{t}f + 1", "double('NaN')", "null", "-0.0D"),
        ("{t}f > 1", "{t}f != 0", "isnan({t}f)", "{t}f <= double('NaN')"),
    ),
    "day": Column(
        "DATE",
        "date_add(date'2024-01-30', n)",
        ("cast(date_add(date'2024-01-30', n) as string)", "timestamp'2024-01-02 03:04:05'"),
        ("date_add({t}day, 1)", "'2020-02-02'", "null", "concat('x', {t}id)"),
        ("{t}day >= '2024-02-02'", "month({t}day) = 2", "{t}day is null"),
    ),
    "s": Column(
        "STRUCT<a: INT, b: STRING>",
        "if(n % 5 = 4, null, named_struct('a', n, 'b', if(n % 2 = 0, null, concat('b', n))))",
        (
            "named_struct('b', 'other', 'a', n)",
            "named_struct('a', n)",
            "named_struct('a', n, 'b', 'x', 'c', n)",
            "named_struct('a', cast(n as bigint), 'b', 'y')",
        ),
        ("null", "named_struct('a', 5, 'b', 'set')", "named_struct('b', 'swapped', 'a', 6)", "{t}s", "named_struct('a', 1)"),
        ("{t}s.a > 2", "{t}s is null", "{t}s.b = 'b1'", "{t}s.b is null"),
    ),
    "l": Column(
        "ARRAY<INT>",
        "if(n = 2, array(), array(n, null))",
        ("array(cast(n as bigint))", "array('1')"),
        ("null", "array(1, 2)", "array(7L)", "concat({t}l, array(9))"),
        ("size({t}l) > 1", "{t}l[0] = 1", "array_contains({t}l, 3)"),
    ),
    "m": Column(
        "MAP<STRING, STRUCT<x: INT>>",
        "map('x', named_struct('x', n), concat('n', coalesce(n, 0)), null)",
        ("map('x', named_struct('x', cast(n as bigint)))", "map('x', named_struct('x', n, 'y', 1))"),
        ("null", "map('y', named_struct('x', 1))", "map()"),
        ("{t}m['x'].x = 1", "{t}m['n2'] is null", "size({t}m) = 2"),
    ),
    "ls": Column(
        "ARRAY<STRUCT<a: INT, b: STRING>>",
        "array(named_struct('a', n, 'b', 'q'), null)",
        ("array(named_struct('b', 'q', 'a', n))", "array(named_struct('a', n, 'b', 'q', 'c', 1D))", "array(named_struct('a', n))"),
        ("null", "array(named_struct('b', 'z', 'a', 1))", "slice({t}ls, 1, 1)"),
        ("{t}ls[0].a = 1", "{t}ls is null"),
    ),
}
