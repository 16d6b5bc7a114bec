# SPDX-License-Identifier: Apache-2.0
"""JSON that keeps the digits of numbers, and that every parser accepts."""

from __future__ import annotations

import copy
import json
import math
import pickle
from decimal import Decimal

import pyarrow as pa
import pyarrow.json as pj
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.protocol.actions.exact_json import dumps, loads

SURROGATES = st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF, categories=["Cs"])
TEXTS = st.text(st.one_of(st.characters(), SURROGATES))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.binary()),
    lambda children: st.lists(children) | st.dictionaries(TEXTS, children),
)


def strict(text):
    def refuse(word):
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


@given(VALUES)
def test_what_is_written_is_one_line_of_valid_json_in_ascii(document):
    text = dumps(document)
    assert text.isascii()
    assert text.isprintable()
    assert "\\ud8" not in text or strict(text) is not None
    json.dumps(strict(text), ensure_ascii=False).encode("utf-8")


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_numbers_keep_their_digits(number):
    digits = str(number).replace("E+", "e")
    assert dumps(loads(f'{{"x":{digits}}}')) == f'{{"x":{digits}}}'


@pytest.mark.parametrize(
    "digits", ["1e400", "-1E-400", "12345678901234567890.123456789012345678", "0.10", "-0.0", "1" * 5_000, "1" * 5_000 + ".5"]
)
def test_numbers_that_no_float_holds_keep_their_digits(digits):
    assert dumps(loads(digits)) == digits


def test_numbers_are_floats_and_integers_all_the_same():
    assert loads("[1.5, 2]") == [1.5, 2]
    assert math.isinf(loads("1e400"))
    assert Decimal(loads("0.10").digits) == Decimal("0.1")
    assert f"{loads('0.10')} {loads('[1e400]')}" == "0.10 [1e400]"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda number: pickle.loads(pickle.dumps(number))])
def test_a_copy_of_a_number_keeps_its_digits(again):
    assert dumps(again(loads("[0.10, 1e400]"))) == "[0.10,1e400]"


@pytest.mark.parametrize(("word", "text"), [("NaN", '"NaN"'), ("Infinity", '"Infinity"'), ("-Infinity", '"-Infinity"')])
def test_words_that_are_no_json_become_strings(word, text):
    assert dumps(loads(f"[{word}]")) == f"[{text}]"


def test_halves_of_a_pair_are_joined_and_others_are_spelled():
    assert strict(dumps("\ud83d\ude00 \udc80 \ude00\ud83d")) == "\U0001f600 \\udc80 \\ude00\\ud83d"


@pytest.mark.parametrize("depth", [10, 300, 900])
def test_nesting_that_is_read_is_written(depth):
    text = "[" * depth + "]" * depth
    assert dumps(loads(text)) == text


def test_another_parser_reads_it():
    text = dumps({"a": float("nan"), "b": "\udc80", "c": b"\xff"}).encode()
    assert pj.read_json(pa.BufferReader(text)).to_pylist() == [{"a": "NaN", "b": "\\udc80", "c": "\\xff"}]


@pytest.mark.parametrize("value", [{1, 2}, object(), {1: 2}, Decimal(1)])
def test_what_has_no_json_is_refused(value):
    with pytest.raises(TypeError, match="JSON"):
        dumps(value)
