# SPDX-License-Identifier: Apache-2.0
"""The catalogue of errors: each site gives the facts that its row names, each row has a site, and its texts are sentences."""

from __future__ import annotations

import ast
import re
from collections import Counter

import pytest
from tests.support.sources import FILES, SOURCE, nodes_of

from bayou import errors
from bayou.errors.catalogue import AREAS, Row, rows, rows_of, shown
from bayou.protocol.properties import PROPERTIES
from bayou.protocol.types.paths import TableRules

ROWS = rows()
PLACE = {"table", "version", "file"}
OF_ERRORS = {*dir(errors.DeltaError("x")), "args", "at"} - {"file", "error_class"}
"""Names that no fact can have."""


def sites():
    """Each call of `failed`, with the expressions of its key and the facts that it names."""
    for file in FILES:
        imported = {each.name for node in nodes_of(file) if isinstance(node, ast.ImportFrom) for each in node.names}
        for node in nodes_of(file) if "failed" in imported else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "failed":
                place = f"{file.relative_to(SOURCE)}:{node.lineno}"
                key = node.args[0] if len(node.args) == 1 else None
                yield place, [key.body, key.orelse] if isinstance(key, ast.IfExp) else [key], {each.arg for each in node.keywords}


SITES = [
    (place, getattr(key, "value", None), facts | (PLACE - {"file"} if "at" in facts else set()))
    for place, keys, facts in sites()
    for key in keys
]


def test_each_site_names_a_row_by_its_text():
    assert [(place, key) for place, key, _ in SITES if key not in ROWS] == []


def test_each_site_gives_the_facts_that_its_row_names():
    assert [(place, lacking) for place, key, facts in SITES if (lacking := ROWS[key].facts - facts)] == []


def test_no_fact_hides_an_attribute_of_the_error():
    taken = OF_ERRORS - {"table", "version", "next_step", "at"}
    assert [(place, facts & taken) for place, _, facts in SITES if facts & taken] == []


def test_each_row_has_a_site():
    assert ROWS.keys() - {key for _, key, _ in SITES} == set()


def test_each_key_has_one_row():
    keys = Counter(row.key for text in AREAS.values() for row in rows_of(text))
    assert [key for key, count in keys.items() if count > 1] == []


def test_each_row_makes_an_error():
    wrong = [row.key for row in ROWS.values() if not issubclass(getattr(errors, row.exception), errors.DeltaError)]
    assert wrong == []


OF_DELTA = {
    "DELTA_CDC_READ_NULL_RANGE_BOUNDARY",
    "DELTA_CLUSTERING_COLUMN_MISSING_STATS",
    "DELTA_EXCEED_CHAR_VARCHAR_LIMIT",
    "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION",
    "DELTA_INVALID_PARTITION_PATH",
    "DELTA_SOURCE_IGNORE_DELETE",
    "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
    "DELTA_STREAMING_METADATA_EVOLUTION",
    "DELTA_TABLE_ONLY_OPERATION",
    "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP",
    "DELTA_UNSUPPORTED_EXPRESSION",
    "DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA",
    "DELTA_UNSUPPORTED_VACUUM_SPECIFIC_PARTITION",
}
"""Keys of messages that are several sentences in delta-spark."""


def is_sentence(text):
    """Whether a text is one sentence; one that begins or ends with a fact takes a part of it from there."""
    return bool(re.match(r"[A-Z{'`]|bayou ", text)) and text.endswith((".", "}")) and not re.search(r"\w[.!?] [A-Z]", text)


@pytest.mark.parametrize("part", ["message", "next_step"])
def test_each_text_is_one_sentence(part):
    texts = [getattr(row, part) for row in ROWS.values() if row.key not in OF_DELTA or part == "next_step"]
    assert [text for text in texts if text and not is_sentence(text)] == []


def test_each_table_property_in_a_text_is_known():
    texts = [text for row in ROWS.values() for text in (row.message, row.next_step)]
    named = {name for text in texts for name in re.findall(r"(?<![\w.])delta\.[\w.]*\w", text)} - {"delta.feature"}
    assert named - PROPERTIES.keys() == set()


def test_a_list_of_facts_is_a_tuple():
    assert errors.failed("file-outside-table", columns=["a"]).columns == ("a",)


def test_an_error_has_the_text_of_its_row_and_its_facts():
    error = errors.failed("DELTA_ILLEGAL_OPTION/storage-account", table="s3a://key:secret@bucket/t", account="a", option="b")
    assert isinstance(error, errors.InvalidOptionError)
    assert str(error) == (
        "[DELTA_ILLEGAL_OPTION] The path names the storage account 'a', but the storage option b names another one. "
        "(table: s3a://bucket/t) Next: Leave the option out, or correct the path."
    )
    assert (error.account, error.option, error.facts) == ("a", "b", {"account": "a", "option": "b"})


def test_an_error_takes_its_place_from_what_it_is_about():
    error = errors.failed("file-outside-table", at=TableRules("/t", 3), file="f")
    assert (error.table, error.version, error.file, error.error_class) == ("/t", 3, "f", None)


def test_a_site_can_give_the_next_step_and_the_error_class():
    error = errors.failed("file-outside-table", next_step="{x}", error_class="DELTA_FILE_NOT_FOUND")
    assert (error.next_step, error.error_class) == ("{x}", "DELTA_FILE_NOT_FOUND")


@pytest.mark.parametrize(
    ("template", "facts", "text"),
    [
        ("{names!r} and {size:,}", {"names": ["a", "b"], "size": 1000}, "'a', 'b' and 1,000"),
        ("Without {names}.", {"names": ()}, "Without none."),
        ("It failed: {reason}.", {"reason": "it is full."}, "It failed: it is full."),
        ("It failed: {reason}.", {"reason": "and so on..."}, "It failed: and so on...."),
    ],
)
def test_facts_are_shown(template, facts, text):
    assert shown(template, facts) == text


def test_a_row_is_read():
    text = (
        "DELTA_A.B/c DeltaError\n    One\n    {x}.\n    Next: Two {y}.\n    Parameters: a={x} b=c\nplain StorageError\n    {table}."
    )
    row, plain = rows_of(text)
    assert row == Row("DELTA_A.B/c", "DeltaError", "One {x}.", "Two {y}.", (("a", "{x}"), ("b", "c")))
    assert (row.error_class, row.facts) == ("DELTA_A.B", {"x", "y"})
    assert (plain.error_class, plain.next_step) == (None, "")
