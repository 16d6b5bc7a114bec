# SPDX-License-Identifier: Apache-2.0
"""A predicate that is made of a condition's text is true, false or NULL for the same rows as the condition is in Spark."""

from __future__ import annotations

import random
from datetime import date, datetime, timezone

import pytest
from tests.support.operations.statements import settings

from bayou.plan.predicates.predicate import (
    And,
    Boolean,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Not,
    Or,
    StartsWith,
    Unknown,
)
from bayou.protocol.types.schema import StructField, StructType
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.filters import Table, predicate_of

TYPES = {
    "y": ("byte", ["-128Y", "1Y", "2Y"]),
    "i": ("integer", ["1", "-7", "2147483647"]),
    "l": ("long", ["1L", "3000000000", "9223372036854775807"]),
    "f": ("float", ["cast(0.1 as float)", "1.5F", "16777216F"]),
    "d": ("double", ["0.1D", "1.5D", "16777217D"]),
    "dec": ("decimal(10,2)", ["1.50", "-7.01", "12345678.99"]),
    "wide": ("decimal(38,2)", ["1.50", "999999999999999999999999999999999999.99", "0.01"]),
    "s": ("string", ["'a'", "'ab'", "'2020-01-01'", "''", "'é'", "'1'"]),
    "b": ("boolean", ["true", "false"]),
    "day": ("date", ["date'2020-01-01'", "date'1969-12-31'", "date'2020-03-29'"]),
    "ts": ("timestamp", ["timestamp'2020-01-01 00:00:00'", "timestamp'2020-10-25 02:30:00'", "timestamp'2020-10-25 01:30:00Z'"]),
    "ntz": ("timestamp_ntz", ["timestamp_ntz'2020-01-01 00:00:00'", "timestamp_ntz'2020-03-29 02:30:00.000001'"]),
}
"""The columns with their types and some values. Literals of each type are compared with columns of each type."""
LITERALS = [
    *(
        "1",
        "-7",
        "128",
        "3000000000",
        "16777217",
        "1.5",
        "0.1",
        "1.500",
        "0.1D",
        "1.5F",
        "0.1F",
        "1e1",
        "99999999999999999999",
        "null",
    ),
    *(
        "'a'",
        "'1'",
        "'2020-01-01'",
        "'2020-01-01 00:00:00'",
        "'2020-03-29 02:30:00'",
        "'2020-10-25 02:30:00'",
        "'2020-01-01 00:00:00Z'",
    ),
    *("date'2020-01-01'", "timestamp'2020-01-01'", "timestamp'2020-10-25 02:30:00'", "timestamp_ntz'2020-01-01'", "true", "X'61'"),
    *("cast('2020-01-01' as date)", "cast('2020-01-01' as timestamp)", "timestamp_ltz'2020-10-25 00:30:00Z'"),
]
SCHEMA = StructType(tuple(StructField(name, kind) for name, (kind, _) in TYPES.items()))
SQL_NAMES = {"byte": "tinyint", "integer": "int", "long": "bigint"}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def conditions():
    """Comparisons of each column with each literal."""
    chosen = random.Random(11)
    tests = ("{} = {}", "{1} <= {0}", "{} <=> {}", "{} <> {}", "{} > {}")
    simple = [test.format(name, literal) for name in TYPES for literal in LITERALS for test in tests]
    lists = [
        f"{name} {chosen.choice(['in', 'not in'])} ({', '.join(chosen.sample(LITERALS, chosen.randint(1, 3)))})"
        for name in TYPES
        for _ in range(40)
    ]
    own = [
        f"{name} {test} ({a}, {b})" for name, (_, given) in TYPES.items() for a in given for b in given for test in ("in", "not in")
    ]
    between = [f"{name} between {chosen.choice(LITERALS)} and {chosen.choice(LITERALS)}" for name in TYPES for _ in range(20)]
    others = [
        "s like 'a%'",
        "s like 'a'",
        "startswith(s, 'a')",
        "b",
        "not b",
        "b is true",
        "b is not false",
        "i is null",
        "cast(y as int) > 1",
    ]
    return simple + lists + own + between + others


def combined(leaves):
    """Random combinations of some conditions."""
    chosen = random.Random(12)
    return [
        f"{chosen.choice(['', 'not '])}({chosen.choice(leaves)}) {chosen.choice(['and', 'or'])} not ({chosen.choice(leaves)})"
        for _ in range(400)
    ]


def plain(value, kind):
    """A value from Spark in the form of constants."""
    if isinstance(value, datetime):
        shifted = value.astimezone(timezone.utc) if kind == "timestamp" else value.replace(tzinfo=timezone.utc)
        return int((shifted - EPOCH).total_seconds()) * 1_000_000 + shifted.microsecond
    return value.toordinal() - EPOCH.toordinal() if isinstance(value, date) else value


def truth(predicate, row):  # noqa: PLR0911  (one return for each kind of predicate)
    """The truth of a predicate for a row: true, false, None, or Ellipsis if it is not known."""
    match predicate:
        case Unknown():
            return ...
        case Boolean(value):
            return value
        case Not(child):
            found = truth(child, row)
            return found if found in (None, ...) else not found
        case And(children) | Or(children):
            decisive = isinstance(predicate, Or)
            found = [truth(child, row) for child in children]
            return decisive if decisive in found else ... if ... in found else None if None in found else not decisive
    value = row[predicate.column.path[0]]
    match predicate:
        case IsNull():
            return value is None
        case IsNotNull():
            return value is not None
        case StartsWith(_, prefix):
            return None if value is None else value.startswith(prefix)
        case In(_, literals):
            found = [compare("=", value, each.value) for each in literals]
            return True if True in found else None if None in found else False
        case Comparison(op, _, literal):
            return compare(op, value, literal.value)


def compare(op, value, other):
    if op == "<=>":
        return value is None and other is None if None in (value, other) else value == other
    if value is None or other is None:
        return None
    if isinstance(value, str):
        value, other = value.encode(), other.encode()
    return {"=": value == other, "<": value < other, "<=": value <= other, ">": value > other, ">=": value >= other}[op]


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_a_predicate_is_true_for_the_rows_for_which_spark_says_so(spark, ansi, zone):
    with settings(spark, {"spark.sql.ansi.enabled": ansi, "spark.sql.session.timeZone": zone}):
        check(spark, zone)


def check(spark, zone):
    chosen = random.Random(3)
    rows = [
        ", ".join(
            f"cast({'null' if chosen.random() < 0.15 else chosen.choice(values)} as {SQL_NAMES.get(kind, kind)}) {name}"
            for name, (kind, values) in TYPES.items()
        )
        for _ in range(25)
    ]
    frame = spark.sql(" union all ".join(f"select {row}" for row in rows)).coalesce(1).cache()
    table = Table(SCHEMA)
    leaves = {text: predicate_of(read_expression(text), table, time_zone=zone) for text in conditions()}
    texts = {text: found for text, found in leaves.items() if found not in (Unknown(), Not(Unknown()))}
    assert len(texts) > 500
    texts |= {text: predicate_of(read_expression(text), table, time_zone=zone) for text in combined(list(texts))}
    # Instants as numbers, since Python's own zone is not the session's.
    values = [f"unix_micros({name}) {name}" if kind == "timestamp" else name for name, (kind, _) in TYPES.items()]
    given = [
        {name: plain(value, TYPES[name][0]) for name, value in row.asDict().items()} for row in frame.selectExpr(*values).collect()
    ]
    known = list(texts.items())
    for begin in range(0, len(known), 400):
        part = known[begin : begin + 400]
        sparks = frame.selectExpr(*(f"({text}) c{place}" for place, (text, _) in enumerate(part))).collect()
        for row, found in zip(given, sparks, strict=True):
            for (text, predicate), expected in zip(part, found, strict=True):
                ours = truth(predicate, row)
                assert ours is ... or ours == expected, (text, predicate, row, ours, expected)
    frame.unpersist()
