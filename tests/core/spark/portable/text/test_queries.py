# SPDX-License-Identifier: Apache-2.0
"""The tables that a query reads are found with their places. A test with a session compares them with Spark's parser."""

from __future__ import annotations

import pytest
from tests.core.spark.portable.text.query_texts import QUERIES
from tests.support.cases import in_one_test

from bayou.spark.portable.text.queries import tables_in
from bayou.spark.portable.text.tree import UnreadableTextError


def shown(text, found):
    return [".".join(table.parts) or f"({table.computed.text})" for table in found]


@in_one_test(("text", "names"), list(QUERIES.items()))
def test_the_tables_of_a_query_are_found(text, names):
    found = tables_in(text)
    assert shown(text, found) == names
    for table in found:
        written = text[table.start : table.end].replace("`", "").upper()
        assert written.startswith(".".join(table.parts).replace("`", "").upper() or "IDENTIFIER")


def test_a_reference_can_be_replaced_with_its_clauses():
    text = "select * from delta.`/a b` version as of 3 x join t timestamp as of current_date() - interval 1 day with (`k` = 'v') y"
    first, second = tables_in(text)
    assert (first.path, first.travel.kind, first.travel.value.text) == ("/a b", "version", "3")
    assert (second.path, second.travel.kind, second.travel.value.text) == (None, "timestamp", "current_date() - interval 1 day")
    assert (second.options.text, first.options) == ("`k` = 'v'", None)
    assert f"{text[: first.start]}P{text[first.end : second.start]}Q{text[second.end :]}" == "select * from P x join Q y"
    for part in (first.travel.value, second.travel.value, second.options):
        assert text[part.start : part.end] == part.text


def test_a_part_of_a_text_is_searched_with_names_from_outside():
    text = "delete from t where a in (select b from s) and exists (table u)"
    begin = text.index("where") + len("where")
    assert shown(text, tables_in(text, place=(begin, len(text)), is_query=False, without=["S"])) == ["u"]
    assert shown(text, tables_in("a > (select max(b) from t) and extract(day from d) = 1", is_query=False)) == ["t"]


@in_one_test(
    "text",
    [
        *("insert into t select 1", "from t insert into u select *", "select * from stream t", "select * from (", "select * from"),
        *(
            "select * from t@v",
            "select * from t@20260101000000000",
            "select 1; select 2",
            "with t as select 1 select 2",
            "select * from t changes from version 1",
            "select 1)",
        ),
        *("select (1", "select * from t /* x", "with insert into t select 1", "select * from 'a'"),
    ],
)
def test_other_texts_are_not_read(text):
    with pytest.raises(UnreadableTextError):
        tables_in(text)


def test_a_deep_nesting_is_an_error():
    with pytest.raises(UnreadableTextError):
        tables_in("select * from " + "(select * from " * 5_000 + "t" + ")" * 5_000)
