# SPDX-License-Identifier: Apache-2.0
"""Trees of expressions as SQL text: reading the text gives the tree again."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal

import pytest

from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.tree import Literal, UnreadableTextError
from bayou.spark.portable.text.written import written

SAME = [
    "`a` = 1",
    "(`a`.`b c` > 1L) and (`c` is null)",
    "not (`a` in (1, 2, 3))",
    "`a` between 1 and -`b`",
    "lower(`a`) like 'x%'",
    "cast(`a` as bigint) <=> 1.5D",
    "(`a` or `b`) and `c`",
    "`a` is not null",
    "`a` < TIMESTAMP'2024-01-01 12:00:00'",
    "`a` < DATE'2024-01-01' - 1",
    "`a` < timestamp_ntz'2024-01-01' + interval '1' day",
    "`a` like all ('a%', '%b')",
    "`a` not ilike any ('a%', '%b')",
    "`a` is distinct from 5 div 2",
    "`a` = - (-1)",
    "`a` = - - `b`",
]


@pytest.mark.parametrize("text", SAME)
def test_the_text_has_the_same_tree(text):
    tree = read_expression(text)
    assert read_expression(written(tree)) == tree


LITERALS = {
    Literal(None, "void"): "NULL",
    Literal(True, "boolean"): "TRUE",
    Literal(5, "short"): "5S",
    Literal(float("inf"), "double"): "CAST('inf' AS double)",
    Literal(Decimal("1.50"), "decimal(3,2)"): "CAST('1.50' AS decimal(3,2))",
    Literal(b"\xff", "binary"): "X'ff'",
    Literal(date(2024, 1, 2), "date"): "DATE '2024-01-02'",
    Literal(datetime(2024, 1, 2, 3, tzinfo=timezone.utc), "timestamp"): "TIMESTAMP '2024-01-02 03:00:00+00:00'",
    Literal("it's", "string"): "decode(X'69742773', 'UTF-8')",
}


@pytest.mark.parametrize("literal", LITERALS, ids=str)
def test_literals_keep_their_types(literal):
    assert written(literal) == LITERALS[literal]


REFUSED = [
    "exists(a, x -> x > 1)",
    "a[0] = 1",
    "(select 1) = 1",
    "cast(a as array<int>) is null",
    "a like 'x/%' escape '/'",
    "a < date'\\\\'",
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_text_is_refused(text):
    with pytest.raises(UnreadableTextError):
        written(read_expression(text))
