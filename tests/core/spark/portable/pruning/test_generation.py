# SPDX-License-Identifier: Apache-2.0
"""Generation expressions without Spark: those from which filters on partitions are derived."""

from __future__ import annotations

import pytest

from bayou.plan.generated.expressions import Call, Constant, Reference
from bayou.protocol.types.schema import StructField, StructType
from bayou.spark.portable.pruning.generation import generation_expression

SOURCES = (StructField("at", "timestamp"), StructField("day", "date"), StructField("name", "string"))
SCHEMA = StructType((*SOURCES, StructField("s", StructType(SOURCES))))
AT, DAY, DAY_OF_S, NAME = Reference(("at",)), Reference(("day",)), Reference(("s", "day")), Reference(("name",))
DATE_OF_AT = Call("Cast to date", (AT,))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CAST(at AS DATE)", DATE_OF_AT),
        ("try_cast(`at` as date)", DATE_OF_AT),
        ("(at)::date", DATE_OF_AT),
        ("date(at)", DATE_OF_AT),
        ("to_date(at)", DATE_OF_AT),
        ("(day)", DAY),
        ("s.day", DAY_OF_S),
        ("trunc(at, 'MM')", Call("TruncDate", (DATE_OF_AT, Constant("MM")))),
        ("TRUNC(CAST(at AS DATE), 'year')", Call("TruncDate", (DATE_OF_AT, Constant("year")))),
        ("date_trunc('hour', at)", Call("TruncTimestamp", (Constant("hour"), AT))),
        (
            "date_trunc('hour', s.day)",
            Call("TruncTimestamp", (Constant("hour"), Call("Cast to timestamp", (DAY_OF_S,)))),
        ),
        ("date_format(at, 'yyyy-MM')", Call("DateFormatClass", (AT, Constant("yyyy-MM")))),
        (
            "date_format(day, 'yyyy')",
            Call("DateFormatClass", (Call("Cast to timestamp", (DAY,)), Constant("yyyy"))),
        ),
        ("year(at)", Call("Year", (DATE_OF_AT,))),
        ("extract(month from at)", Call("Month", (DATE_OF_AT,))),
        ("dayofmonth(to_date(at))", Call("DayOfMonth", (DATE_OF_AT,))),
        ("HOUR(at)", Call("Hour", (AT,))),
        ("substring(name, 1, 2)", Call("Substring", (NAME, Constant(1), Constant(2)))),
        ("substring(name from 1 for 2)", Call("Substring", (NAME, Constant(1), Constant(2)))),
        ("substr(name, -2)", Call("Substring", (NAME, Constant(-2), Constant(2**31 - 1)))),
        ("left(name, 2)", Call("Substring", (NAME, Constant(1), Constant(2)))),
    ],
)
def test_these_are_resolved_as_spark_resolves_them(text, found):
    assert generation_expression(text, SCHEMA) == found


@pytest.mark.parametrize(
    "text",
    [
        "date_add(day, 1)",
        "to_date(at, 'yyyy')",
        "YEAR(at) + 1",
        "upper(name)",
        "cast(at as string)",
        "substring(name, 1, length(name))",
        "date_format(at, name)",
        "trunc(upper(name), 'MM')",
        "year(distinct at)",
        "(((",
        "(select max(day) from t)",
        f"{'lower(' * 250}name{')' * 250}",
    ],
)
def test_others_are_not_understood(text):
    assert generation_expression(text, SCHEMA) is None
