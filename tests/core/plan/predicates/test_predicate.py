# SPDX-License-Identifier: Apache-2.0
"""Lists of filters become predicates over physical names, with values of the columns' types."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from tests.support.cases import in_one_test

from bayou.errors import InvalidOptionError
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
    columns,
    from_dnf,
    is_never_true,
    literal,
)
from bayou.protocol.types.schema import ArrayType, StructField, StructType

SCHEMA = StructType(
    (
        StructField("id", "long", metadata={"delta.columnMapping.physicalName": "col-1"}),
        StructField("s", StructType((StructField("x", "string", metadata={"delta.columnMapping.physicalName": "col-2"}),))),
        StructField("a.b", "integer"),
        StructField("l", ArrayType("integer")),
        StructField("c", "string", metadata={"__COLLATIONS": {"c": "spark.UTF8_LCASE"}}),
        *(StructField(name, name) for name in ("float", "double", "date", "timestamp", "timestamp_ntz", "boolean", "binary")),
        StructField("decimal", "decimal(10,2)"),
        StructField("byte", "byte"),
    )
)
ID = Column(("col-1",))


def one(*entry):
    return from_dnf([entry], SCHEMA).children[0]


@pytest.mark.parametrize(("written", "op"), [("==", "="), ("=", "="), ("<", "<"), ("<=", "<="), (">", ">"), (">=", ">=")])
def test_a_comparison_names_the_physical_column(written, op):
    assert one("id", written, 5) == Comparison(op, ID, Literal(5, "long"))


def test_other_operators_become_predicates():
    assert one("id", "!=", 5) == Not(Comparison("=", ID, Literal(5, "long")))
    assert one("id", "in", [1, None]) == In(ID, (Literal(1, "long"), Literal(None, "long")))
    assert one("id", "NOT  IN", {1}) == Not(In(ID, (Literal(1, "long"),)))
    assert one("id", "is null") == IsNull(ID)
    assert one("id", "is not null", None) == IsNotNull(ID)


def test_one_list_means_all_and_lists_of_lists_mean_one_of_them():
    first, second = ("id", "=", 1), ("byte", "=", 2)
    both = from_dnf([first, second], SCHEMA)
    assert isinstance(both, And)
    assert len(both.children) == 2
    either = from_dnf([[first], [second]], SCHEMA)
    assert isinstance(either, Or)
    assert from_dnf([], SCHEMA) == And(())


def test_columns_are_found_without_case_in_structs_and_with_dots_in_their_names():
    assert one("S.X", "=", "v").column == Column(("s", "col-2"))
    assert one("`s`.`x`", "=", "v").column == Column(("s", "col-2"))
    assert one("a.b", "=", 1).column == Column(("a.b",))
    assert one("`a.b`", "=", 1).column == Column(("a.b",))


def test_a_comparison_of_collated_strings_is_not_understood():
    assert one("c", "=", "v") == Unknown()
    assert one("c", "is null") == IsNull(Column(("c",)))


DAY = 86_400_000_000
NAIVE = datetime.fromisoformat


@in_one_test(
    ("column", "value", "expected"),
    [
        ("float", 0.1, 0.10000000149011612),
        ("double", 1, 1.0),
        ("double", Decimal("0.5"), 0.5),
        ("byte", 5.0, 5),
        ("date", date(1970, 1, 2), 1),
        ("date", "10000-01-01", 2_932_897),
        ("timestamp", NAIVE("1970-01-02"), DAY),
        ("timestamp", datetime(1970, 1, 2, tzinfo=timezone(timedelta(hours=1))), DAY - 3_600_000_000),
        ("timestamp", "1970-01-02T00:00:00Z", DAY),
        ("timestamp_ntz", NAIVE("1970-01-02"), DAY),
        ("timestamp_ntz", "1970-01-02", DAY),
        ("boolean", False, False),
        ("binary", bytearray(b"x"), b"x"),
        ("decimal", "1.5", Decimal("1.5")),
        ("decimal", 5, Decimal(5)),
    ],
)
def test_values_become_those_of_the_column(column, value, expected):
    constant = one(column, "=", value).literal
    assert constant.value == expected
    assert type(constant.value) is type(expected)


@in_one_test(
    ("column", "value"),
    [
        ("id", "5"),
        ("id", 1.5),
        ("id", True),
        ("id", 2**63),
        ("id", float("nan")),
        ("byte", 128),
        ("double", "1"),
        ("double", 10**400),
        ("date", NAIVE("1970-01-01")),
        ("date", "x"),
        ("timestamp", date(1970, 1, 1)),
        ("timestamp_ntz", datetime(1970, 1, 1, tzinfo=timezone.utc)),
        ("decimal", "x"),
        ("decimal", 0.1),
        ("decimal", 1.0),
        ("decimal", Decimal("sNaN")),
        ("double", Decimal("sNaN")),
        ("long", Decimal("sNaN")),
        ("decimal", float("inf")),
        ("boolean", 1),
        ("binary", "x"),
        ("s.x", b"x"),
        ("id", None),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_column(column, value):
    with pytest.raises(InvalidOptionError):
        one(column, "=", value)


@in_one_test(
    "filters",
    [
        "id = 1",
        [("id", "=", 1), [("id", "=", 1)]],
        [("id",)],
        [("id", "=")],
        [("id", "!=")],
        [("id", "in")],
        [("id", "not in")],
        [("id", "is null", 1)],
        {"id": 1},
        {("id", "=", 1)},
        5,
        None,
        (("id", "=", 1) for _ in range(1)),
        [("id", "=", 1, 2)],
        [(1, "=", 1)],
        [("nothing", "=", 1)],
        [("s.nothing", "=", 1)],
        [("id.x", "=", 1)],
        [("id", "~", 1)],
        [("id", "in", "abc")],
        [("id", "in", 5)],
        [("l", "=", 1)],
        [("s", "=", 1)],
    ],
)
def test_what_is_no_filter_is_refused(filters):
    with pytest.raises(InvalidOptionError) as caught:
        from_dnf(filters, SCHEMA)
    assert caught.value.next_step


@pytest.mark.parametrize("name", ["missing", "s.missing", "id.x", "`id", "s.", "id, boolean", ""])
def test_a_name_of_no_column_is_refused_with_the_columns_that_there_are(name):
    with pytest.raises(InvalidOptionError, match=r"Column .* does not exist; the columns are: id, s, a\.b,"):
        one(name, "=", 1)


def test_the_columns_of_a_predicate_are_those_of_its_leaves():
    other = Column(("s", "x"))
    predicate = And((Or((Comparison("=", ID, Literal(1, "long")), Unknown())), Not(StartsWith(other, "a")), Boolean(True)))
    assert columns(predicate) == {ID.path, other.path}


def test_null_is_a_constant_of_every_type():
    assert literal(None, "date") == Literal(None, "date")


def test_what_is_never_true_is_told_apart_from_what_depends_on_the_rows():
    depends, never = IsNull(Column(("a",))), Boolean(value=False)
    assert all(map(is_never_true, (never, Boolean(None), And((depends, never)), Or((never, Boolean(None))), Or(()))))
    assert not any(map(is_never_true, (depends, Boolean(value=True), And(()), Or((depends, never)), Unknown(), Not(depends))))
