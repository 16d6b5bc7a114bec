# SPDX-License-Identifier: Apache-2.0
"""The texts of errors: bounded whatever they quote, without secrets, and made in linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou import errors
from bayou.error_texts import LONGEST_TEXT, redact_text, sample, shortened
from bayou.log.events import HookFailedEvent

CLASSES = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.DeltaError)]
LONG = 40_000
TIMES = 10
LONG_TEXTS = {
    "one word": "x" * LONG,
    "digits": "7" * LONG,
    "words": "word " * (LONG // 5),
    "blanks": " " * LONG,
    "schemes": "s3a:" * (LONG // 4),
    "almost a URI": "a+b-c." * (LONG // 6) + ":/",
    "URIs": "s3a://key:secret@bucket/x " * (LONG // 26),
    "passwords without an end": "s3a://" + "k:s/@" * (LONG // 5),
    "users": "s3a://" + "@" * LONG,
    "a schema": '{"name":"a","type":"long"},' * (LONG // 27),
    "a path": "folder/" * (LONG // 7),
}


@pytest.mark.parametrize("text", LONG_TEXTS.values(), ids=LONG_TEXTS)
def test_a_long_text_costs_linear_time(text):
    """Quadratic time would be minutes. The bound is generous because the machine may be busy."""
    text *= TIMES
    start = time.process_time()
    errors.DeltaError(text, next_step=text, table=text, file=text)
    HookFailedEvent(table="t", version=1, hook="h", error=text)
    assert time.process_time() - start < 10


@pytest.mark.parametrize("text", LONG_TEXTS.values(), ids=LONG_TEXTS)
@pytest.mark.parametrize("cls", CLASSES)
def test_every_error_cuts_what_it_quotes(cls, text):
    error = cls(f"the field has the wrong type: {text}", next_step=f"look at {text}", table=text, file=text)
    assert len(error.message) <= LONGEST_TEXT
    assert error.message.startswith("the field has the wrong type: ")
    assert len(str(error)) <= 4 * LONGEST_TEXT + 200


def test_the_attributes_hold_a_long_value_whole():
    path = "folder/" * 1000
    error = errors.CorruptLogError("broken", file=path, found=path)
    assert (error.file, error.found) == (path, path)


def test_a_path_of_a_usual_length_is_not_cut():
    path = "/".join(["a-folder-of-a-table"] * 20)
    assert path in str(errors.CorruptLogError(f"{path} is gone", file=path))


@given(st.text(alphabet="ab :/@?s3.\n", max_size=30), st.integers(0, 3000))
def test_a_shortened_text_stays_as_it_is(text, times):
    once = shortened(text * times)
    assert len(once) <= LONGEST_TEXT
    assert shortened(once) == once


@pytest.mark.parametrize("before", ["", "1", "x=", "a" * 40, "(" * 600])
@pytest.mark.parametrize("length", [1, 500, 5000])
def test_a_secret_is_taken_out_before_a_text_is_cut(before, length):
    secret = "SECRET" * length
    for text in (f"{before}s3a://key:{secret}@bucket/t", f"{before}https://host/t?sig={secret}", f"{before}s3a://k:{secret}/x@b/t"):
        assert "SECRET" not in str(errors.DeltaError(f"cannot read {text}"))
        assert "SECRET" not in redact_text(text)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], "none"),
        ([1], "1"),
        ([1, 2, 3, 4, 5], "1, 2, 3, 4, 5"),
        (range(7), "0, 1, 2, 3, 4 and 2 more"),
    ],
)
def test_a_sample_says_how_many_it_leaves_out(values, text):
    assert sample(values) == text


def test_a_sample_of_a_known_number_takes_only_what_it_shows():
    assert sample(iter(range(10)), total=10**30) == f"0, 1, 2, 3, 4 and {10**30 - 5} more"


def test_a_reason_is_without_the_place_of_the_error_that_it_is_from():
    inner = errors.CorruptLogError("the file is empty", table="t", file="f", next_step="Restore it.")
    assert errors.reason(inner) == "the file is empty"
    assert errors.reason(OSError("disk")) == "disk"
    assert errors.reason(KeyError()) == "KeyError"
