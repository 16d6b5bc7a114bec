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
    "at": Column(
        "TIMESTAMP",
        "timestamp'2024-01-31 23:59:59.25' + make_dt_interval(n)",
        ("cast(timestamp'2024-01-31 00:00:00' + make_dt_interval(n) as string)", "date_add(date'2024-02-01', n)"),
        ("{t}at + interval 1 hour", "'1969-12-31 23:59:59.999999'", "null", "date'2024-02-02'", "concat('x', {t}id)"),
        ("{t}at >= '2024-02-02'", "{t}at = timestamp'2024-02-01 23:59:59.25'", "day({t}at) = 2", "{t}at is null"),
    ),
    "local": Column(
        "TIMESTAMP_NTZ",
        "timestamp_ntz'2024-01-31 12:00:00.5' + make_dt_interval(0, n * 12)",
        ("cast(timestamp_ntz'2024-01-31 12:00:00' + make_dt_interval(0, n) as string)", "date_add(date'2024-02-01', n)"),
        ("{t}local + interval 1 second", "'0001-01-01 00:00:00'", "null", "timestamp_ntz'2024-02-02 03:04:05'"),
        ("{t}local > timestamp_ntz'2024-02-02 00:00:00'", "hour({t}local) = 12", "{t}local is not null"),
    ),
    "ok": Column(
        "BOOLEAN",
        "n % 2 = 0",
        ("cast(n % 2 as int)", "if(n % 2 = 0, 'true', 'no')"),
        ("not {t}ok", "null", "{t}id > 3", "'yes'", "true"),
        ("{t}ok", "not {t}ok", "{t}ok is null", "{t}ok = true", "{t}ok <=> false"),
    ),
    "raw": Column(
        "BINARY",
        "cast(concat('r', n) as binary)",
        ("concat('r', n)",),
        ("cast('z' as binary)", "null", "concat({t}raw, x'41')", "x''"),
        ("{t}raw = cast('r1' as binary)", "length({t}raw) = 2", "{t}raw > x'7232'", "{t}raw is null"),
    ),
    "r": Column(
        "FLOAT",
        "cast(n / 4 as float)",
        ("n", "n / 4", "cast(n as decimal(4, 1))"),
        ("{t}r * 2", "1.5", "null", "float('NaN')", "1e30D * {t}id"),
        ("{t}r > 0.5", "{t}r = float(1)", "{t}r <> 0.25D", "isnan({t}r)"),
    ),
    "i": Column(
        "SMALLINT",
        "cast(n * 100 as smallint)",
        ("n", "cast(n as tinyint)", "cast(n as string)"),
        ("{t}i + 1", "40000", "null", "{t}id", "cast(3 as tinyint)"),
        ("{t}i >= 300", "{t}i in (100, 200)", "{t}i = 100L", "{t}i between 1 and 250"),
    ),
    "c": Column(
        "CHAR(4)",
        "concat('c', n)",
        ("n", "concat('c', n, '  ')", "concat('long', n)"),
        ("'ab'", "'much too long'", "null", "concat(trim({t}c), 'x')", "'abcd  '"),
        ("{t}c = 'c1'", "{t}c like 'c%'", "{t}c > 'c2'", "{t}c is null", "length({t}c) = 4"),
    ),
    "vc": Column(
        "VARCHAR(4)",
        "concat('v ', n)",
        ("n", "concat('v', n, '    ')", "concat('long', n)"),
        ("'ab '", "'much too long'", "null", "concat({t}vc, 'x')", "{t}id"),
        ("{t}vc = 'v 1'", "{t}vc like '%2'", "{t}vc is null", "{t}vc in ('v 1', 'ab ')"),
    ),
}
