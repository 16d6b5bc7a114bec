# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from scripts.mutations import mutations


def mutants(source):
    return [mutation.applied(source.encode()).decode() for mutation in mutations(source.encode())]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", ["(a <= b)"]),
        ("a <= b != c", ["(a < b != c)", "(a <= b == c)"]),
        ("a and b", ["(a or b)"]),
        ("a + b", ["(a - b)"]),
        ("a += b", ["a -= b"]),
        ("a = not b", ["a = (b)"]),
        ("a = -b", ["a = (b)"]),
        ("a = True", ["a = False"]),
        ("a = 7", ["a = 8"]),
        ("a = 'v2'", ["a = 'v2x'"]),
        ("f(a)", ["pass"]),
        ("def f(a):\n    return a", ["def f(a):\n    return None"]),
        ("if a:\n    b", ["if (not (a)):\n    b"]),
        ("if a == b:\n    c", ["if (a != b):\n    c"]),
        ("b if a else c", ["b if (not (a)) else c"]),
        ("[a for a in b if a]", ["[a for a in b if (not (a))]"]),
        ("match a:\n    case b if b:\n        c", ["match a:\n    case b if (not (b)):\n        c"]),
    ],
)
def test_each_operator_has_its_fault(source, expected):
    assert mutants(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""What a module is."""',
        "a = 'a sentence for people'",
        "a = f'{b}x'",
        "a: Literal['x']",
        "def f(a: int | None) -> Literal[True]:\n    ...",
        "@decorator(frozen=True)\nclass A:\n    ...",
        "if TYPE_CHECKING:\n    f(1)",
        "__all__ = ['a']",
        "a = zip(b, c, strict=True)",
    ],
)
def test_what_people_and_tools_read_has_no_fault(source):
    assert mutants(source) == []


def test_a_mutation_is_in_its_place_after_letters_of_several_bytes():
    assert mutants("a = 'ü ü'; b = 1\nc = 2") == ["a = 'ü ü'; b = 2\nc = 2", "a = 'ü ü'; b = 1\nc = 3"]


def test_a_mutation_knows_whether_a_call_or_an_import_executes_it():
    found = [(each.line, each.in_function) for each in mutations(b"A = 1\ndef f(a=2):\n    b = 3\nclass C:\n    c = 4\n")]
    assert found == [(1, False), (2, False), (3, True), (5, False)]
