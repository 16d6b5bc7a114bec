# SPDX-License-Identifier: Apache-2.0
"""The expressions of a Spark Connect client become the trees of the same expressions in SQL."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal

import pytest
from pyspark.sql.types import StringType
from tests.support.cases import in_one_test

from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.facts import facts_of
from bayou.spark.portable.text.protobufs import attribute_parts, expression_of
from bayou.spark.portable.text.tree import Item, Lambda, Literal, Name, Opaque, UnreadableTextError

functions = pytest.importorskip("pyspark.sql.connect.functions", exc_type=ImportError)


def a():
    return functions.col("a")


def b():
    return functions.col("b.`c.d`")


def tree(column):
    return expression_of(column.to_plan(None))


SAME = {
    "a = 1 and b.`c.d` <=> 'x' and a < 2": lambda: (a() == 1) & b().eqNullSafe("x") & (a() < 2),
    "not (a = 1) or a >= 1.5D": lambda: (a() != 1) | (a() >= 1.5),
    "not a": lambda: ~a(),
    "a is null or b.`c.d` is not null": lambda: a().isNull() | b().isNotNull(),
    "a in (1, 'x', null)": lambda: a().isin(1, "x", None),
    "a >= 1 and a <= 2": lambda: a().between(1, 2),
    "a like 'x%' and a rlike 'y' and a ilike 'z'": lambda: a().like("x%") & a().rlike("y") & a().ilike("z"),
    "startsWith(a, 'x')": lambda: a().startswith("x"),
    "-(a + 1 - b.`c.d` * 2 / 3 % 4)": lambda: -(a() + 1 - b() * 2 / 3 % 4),
    "a & 1 | 2 ^ 3": lambda: a().bitwiseAND(1).bitwiseOR(functions.lit(2).bitwiseXOR(3)),
    "cast(a as bigint) = try_cast(a as decimal(3,1))": lambda: a().cast("bigint") == a().try_cast("decimal(3,1)"),
    "cast(a as string collate UTF8_LCASE) = cast(a as string)": lambda: (
        a().cast(StringType("UTF8_LCASE")) == a().cast(StringType())
    ),
    "coalesce(a, b.`c.d`) = max(a)": lambda: functions.coalesce(a(), b()) == functions.max(a()),
    "a[0] = a['x']": lambda: a()[0] == a().getItem("x"),
    "a = 1 or a = 2": lambda: functions.expr("a = 1 or a = 2"),
    "a = true and a = 9223372036854775807L": lambda: (a() == functions.lit(True)) & (a() == 2**63 - 1),
    "count(distinct a)": lambda: functions.count_distinct(a()),
    "my.f(a)": lambda: functions.call_function("my.f", a()),
}


@in_one_test(("text", "column"), list(SAME.items()))
def test_a_column_is_the_tree_of_the_same_text(text, column):
    assert tree(column()) == read_expression(text)


def test_constants_have_their_types():
    assert tree(functions.lit(date(2024, 1, 31))) == Literal(date(2024, 1, 31), "date")
    assert tree(functions.lit(Decimal("1.50"))) == Literal(Decimal("1.50"), "decimal(10,2)")
    assert tree(functions.lit(None)) == Literal(None, "void")
    assert tree(functions.lit(b"\x00")) == Literal(b"\x00", "binary")
    moment = datetime(2024, 1, 31, 12, tzinfo=timezone.utc)
    assert tree(functions.lit(moment)) == Literal(moment, "timestamp")


def test_stars_lambdas_windows_and_aliases_are_found():
    assert str(tree(functions.col("*"))) == "Star(start=0, end=0, parts=())"
    transformed = tree(functions.transform(a(), lambda x: x + a()))
    assert isinstance(transformed.arguments[1], Lambda)
    assert facts_of(transformed, "").parsed.columns == {("a",)}
    assert tree(a().alias("x")).names == ("x",)
    assert tree(a().getField("x")) == Item(Name(("a",)), Literal("x", "string"))
    assert tree(a().desc()) == Name(("a",))


def test_what_is_not_known_is_opaque():
    assert isinstance(tree(a().withField("x", functions.lit(1))), Opaque)
    assert not facts_of(tree(a().withField("x", functions.lit(1))), "").is_deterministic


@in_one_test(
    ("text", "parts"),
    [("a", ("a",)), ("a b.c-d", ("a b", "c-d")), ("`a.b`.`c``d`", ("a.b", "c`d")), ("select", ("select",)), ("`a`.b", ("a", "b"))],
)
def test_the_names_of_dataframes_need_few_quotes(text, parts):
    assert attribute_parts(text) == parts


@in_one_test("text", ["", "a.", ".a", "a..b", "`a", "a`b`", "`a`b", "``"])
def test_other_names_are_errors(text):
    with pytest.raises(UnreadableTextError):
        attribute_parts(text)
