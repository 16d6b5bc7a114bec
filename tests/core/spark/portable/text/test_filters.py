# SPDX-License-Identifier: Apache-2.0
"""Conditions become predicates that prune files, or Unknown. A test with a session compares their meaning with Spark's."""

from __future__ import annotations

from decimal import Decimal

from tests.support.cases import in_one_test

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
    StartsWith,
    Unknown,
)
from bayou.protocol.types.schema import StructField, StructType
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.filters import Table, predicate_of

_TYPES = {
    "i": "integer",
    "l": "long",
    "f": "float",
    "d": "double",
    "s": "string",
    "b": "boolean",
    "day": "date",
    "ts": "timestamp",
    "ntz": "timestamp_ntz",
    "bin": "binary",
    "dec": "decimal(10,2)",
    "wide": "decimal(38,2)",
    "v": "string",
    "st": StructType((StructField("X", "integer", metadata={"delta.columnMapping.physicalName": "px"}),)),
}
SCHEMA = StructType(
    (
        *(StructField(name, kind) for name, kind in _TYPES.items()),
        StructField("c", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}),
        StructField("k", "string collate UTF8_LCASE"),
        StructField("a b", "long", metadata={"delta.columnMapping.physicalName": "col-1"}),
    )
)
TABLE = Table(SCHEMA, {("t",), ("db", "t")})
INTEGERS, STRINGS = Column(("i",)), Column(("s",))
DAY = 18262  # 2020-01-01
MICROS = DAY * 86_400_000_000


def compared(column, op, value, kind):
    return Comparison(op, Column((column,)), Literal(value, kind))


def predicate(text, table=TABLE, zone="UTC"):
    return predicate_of(read_expression(text), table, time_zone=zone)


@in_one_test(
    ("text", "expected"),
    [
        ("i = 1", compared("i", "=", 1, "integer")),
        ("1 < I", compared("i", ">", 1, "integer")),
        ("t.i >= 3000000000", compared("i", ">=", 3_000_000_000, "long")),
        ("db.t.`i` <=> null", compared("i", "<=>", None, "integer")),
        (
            "i != 1 and (s = 'x' or l < -2)",
            And(
                (Not(compared("i", "=", 1, "integer")), Or((compared("s", "=", "x", "string"), compared("l", "<", -2, "integer"))))
            ),
        ),
        ("cast(i as bigint) between 1 and 2L", And((compared("i", ">=", 1, "integer"), compared("i", "<=", 2, "long")))),
        ("i not in (1, null)", Not(In(INTEGERS, (Literal(1, "integer"), Literal(None, "integer"))))),
        ("s is null or i is not null", Or((IsNull(STRINGS), IsNotNull(INTEGERS)))),
        ("s like 'ab%'", StartsWith(STRINGS, "ab")),
        ("s like 'ab'", compared("s", "=", "ab", "string")),
        ("startswith(v, 'x')", StartsWith(Column(("v",)), "x")),
        ("b and not b", And((compared("b", "=", True, "boolean"), Not(compared("b", "=", True, "boolean"))))),
        ("b is not false", Not(compared("b", "<=>", False, "boolean"))),
        ("true or null", Or((Boolean(True), Boolean(None)))),
        (
            "st.x = 1 and T.st.X = 2",
            And(
                (
                    Comparison("=", Column(("st", "px")), Literal(1, "integer")),
                    Comparison("=", Column(("st", "px")), Literal(2, "integer")),
                )
            ),
        ),
        ("st['x'] = 1 and (st).x = 1", And((Comparison("=", Column(("st", "px")), Literal(1, "integer")),) * 2)),
        ("`a b` > 1", compared("col-1", ">", 1, "integer")),
        ("d > 1.5 and f < 2", And((compared("d", ">", 1.5, "double"), compared("f", "<", 2.0, "double")))),
        (
            "dec = 1.555 or dec > 3",
            Or((compared("dec", "=", Decimal("1.555"), "decimal(4,3)"), compared("dec", ">", Decimal(3), "decimal(10,0)"))),
        ),
        (
            "day = '2020-01-01' or day < date '2020-01-01'",
            Or((compared("day", "=", DAY, "date"), compared("day", "<", DAY, "date"))),
        ),
        ("ts > cast('2020-01-01' as date)", compared("ts", ">", MICROS, "timestamp")),
        ("ts > '2020-01-01 01:00:00+01:00'", compared("ts", ">", MICROS, "timestamp")),
        ("ntz > timestamp_ntz '2020-01-01 00:00:00.5'", compared("ntz", ">", MICROS + 500_000, "timestamp_ntz")),
        ("i is distinct from 1", Not(compared("i", "<=>", 1, "integer"))),
    ],
)
def test_what_is_certain_becomes_a_predicate(text, expected):
    assert predicate(text) == expected


@in_one_test(
    "text",
    [
        *(
            "i = '1'",
            "i = 1.5",
            "s = 1",
            "b = 'true'",
            "bin = X'1F'",
            "c = 'x'",
            "k = 'x'",
            "day > '2020-1-1'",
            "day = timestamp '2020-01-01'",
        ),
        *(
            "ts in ('2020-01-01', '2020-01-02')",
            "ts = timestamp_ntz '2020-01-01'",
            "ntz = timestamp '2020-01-01'",
            "day = '2020-02-30'",
        ),
        *(
            "i + 1 = 2",
            "i = l",
            "abs(i) = 1",
            "missing = 1",
            "u.i = 1",
            "st = 1",
            "st.y = 1",
            "st is null",
            "i in (1, 2.5)",
            "i in (select 1)",
        ),
        *(
            "s like '%a'",
            "s like 'a_'",
            r"s like 'a\\%'",
            "s like 'a%' escape '/'",
            "s rlike 'a'",
            "s like ''",
            "i like '1%'",
            "d = '1.5'",
        ),
        *(
            "f = 0.1F",
            "f > 16777217",
            "wide = 0.001",
            "dec in (1.000000000000000000000000000000000001, 10)",
            "current_date = day",
            "i",
        ),
        *(
            "cast(i as smallint) = 1",
            "cast(i as string) = '1'",
            "cast(i as double) = 1",
            "case when b then true end",
            ":p = i",
            "exists(select 1)",
        ),
        *("i between 1 and 2.5", "ts > timestamp '1900-01-01'"),
    ],
)
def test_anything_else_is_unknown(text):
    found = predicate(text, zone="Europe/Berlin")
    assert found == Unknown() or found == Not(Unknown()), found


def test_a_literal_that_needs_a_zone_is_unknown_without_it():
    assert predicate("ts > '2020-01-01'", zone=None) == Unknown()
    assert predicate("ts > '2020-01-01 00:00:00Z'", zone=None) == compared("ts", ">", MICROS, "timestamp")
    assert predicate("ts > '2020-01-01'", zone="Europe/Berlin") == compared("ts", ">", MICROS - 3_600_000_000, "timestamp")


def test_beside_another_table_only_qualified_columns_are_the_tables():
    table = Table(SCHEMA, {("t",)}, is_alone=False)
    assert predicate("t.i = 1 and i = 2", table) == And((compared("i", "=", 1, "integer"), Unknown()))


def test_a_deep_nesting_is_unknown():
    assert predicate("not " * 20_000 + "b") == Unknown()
