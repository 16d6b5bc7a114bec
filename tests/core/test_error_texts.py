# SPDX-License-Identifier: Apache-2.0
"""The texts of errors: bounded whatever they quote, without secrets, and made in linear time."""

from __future__ import annotations

import ast
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test
from tests.support.sources import FILES, SOURCE, nodes_in, nodes_of

from bayou import errors
from bayou.errors.texts import LONGEST_TEXT, redact_text, sample, shortened
from bayou.log.events import HookFailedEvent
from bayou.protocol.types.paths import TableRules

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


@in_one_test("cls", CLASSES)
@in_one_test("name", LONG_TEXTS)
def test_every_error_cuts_what_it_quotes(cls, name):
    text = LONG_TEXTS[name][: 2 * LONGEST_TEXT]
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


@in_one_test("before", ["", "1", "x=", "a" * 40, "(" * 600])
@in_one_test("length", [1, 500, 5000])
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


OWN_BASES = {cls.__name__ for cls in CLASSES}
BUILTIN_BASES = {base.__name__ for cls in CLASSES for base in cls.__mro__ if issubclass(base, (OSError, ValueError, RuntimeError))}
ROOMS = ("log", "protocol", "plan", "storage", "cli")


def handlers():
    """Each `except` of the log engine that puts what it caught into a text, with the `try` that it belongs to."""
    for file in FILES:
        if file.relative_to(SOURCE).parts[0] not in ROOMS:
            continue
        for node in nodes_of(file):
            for handler in getattr(node, "handlers", []):
                shown = {
                    value.value.id
                    for each in nodes_in(handler)
                    if isinstance(each, ast.JoinedStr)
                    for value in each.values
                    if isinstance(value, ast.FormattedValue) and isinstance(value.value, ast.Name)
                }
                if handler.name in shown:
                    yield f"{file.relative_to(SOURCE)}:{handler.lineno}", node, handler


def caught(handler):
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {getattr(kind, "attr", getattr(kind, "id", "")) for kind in kinds}


def test_no_text_of_an_error_quotes_an_error_of_bayou_whole():
    """Its place and its next step would be there twice; `reason` leaves them out."""
    found = list(handlers())
    assert [where for where, _, handler in found if caught(handler) & OWN_BASES] == []
    assert found


def test_no_error_is_caught_where_it_is_raised():
    """Many errors are ValueError or OSError, too: one that is raised within such a `try` would quote itself."""
    wrong = [
        where
        for where, node, handler in handlers()
        if caught(handler) & BUILTIN_BASES
        and any(isinstance(each, ast.Raise) for statement in node.body for each in ast.walk(statement))
    ]
    assert wrong == []


def test_an_error_takes_its_table_and_version_from_what_it_is_about():
    error = errors.InvalidOptionError("no", at=TableRules("s3a://key:secret@bucket/t", 3))
    assert (error.table, error.version) == (redact_text("s3a://key:secret@bucket/t"), 3)
    assert str(error) == str(errors.InvalidOptionError("no", table="s3a://key:secret@bucket/t", version=3))
    assert errors.InvalidOptionError("no", at=None, table="/t").table == "/t"
