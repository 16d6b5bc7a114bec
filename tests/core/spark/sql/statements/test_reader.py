# SPDX-License-Identifier: Apache-2.0
"""What statements of Delta's are read as, and where a wrong one is wrong.

Each file of `fixtures` has the texts of one statement: `read` by what they are read as, `wrong` by what their error says, its
place and its class, and under `sparks` what begins like the statement and is left to Spark. Of a value only what is not a default
is written.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from tests.core.spark.sql.statements.fixture_words import reader_of

from bayou.errors import SqlSyntaxError
from bayou.spark.sql.statements.kinds import STATEMENTS, read_statement

FIXTURES = sorted(Path(__file__).with_name("fixtures").glob("*.json"))


def read(text):
    return read_statement(reader_of(text))


def written(value):
    """A value as the fixtures have it."""
    if dataclasses.is_dataclass(value):
        parts = {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if has_part(value, each)}
        return {"is": type(value).__name__} | {name: written(part) for name, part in parts.items()}
    return [written(each) for each in value] if isinstance(value, tuple) else value


def has_part(value, field):
    default = None if field.default is dataclasses.MISSING else field.default
    return getattr(value, field.name) != default


@pytest.mark.parametrize("file", FIXTURES, ids=[file.stem for file in FIXTURES])
def test_statements_are_read_as_the_fixtures_have_them(file):
    cases = json.loads(file.read_text())
    for text, value in cases.get("read", {}).items():
        assert written(read(text)) == value, text
    for text in cases.get("sparks", []):
        assert read(text) is None, text
    for text, place in cases.get("wrong", {}).items():
        with pytest.raises(SqlSyntaxError) as caught:
            read(text)
        error = caught.value
        assert place["says"] in str(error), text
        assert error.error_class == place.get("class", "PARSE_SYNTAX_ERROR"), text
        assert (error.facts["line"], error.facts["position"]) == (place["line"], place["position"]), text
        assert f"{'-' * place['position']}^^^" in str(error), text


def test_every_statement_has_fixtures():
    texts = [text.upper().split() for file in FIXTURES for text in json.loads(file.read_text()).get("read", {})]
    for kind in STATEMENTS:
        beginnings = [each.split(" ... ")[0].split() for each in kind.begins]
        assert any(text[: len(words)] == words for words in beginnings for text in texts), kind


def test_the_values_of_properties_are_not_shown():
    with pytest.raises(SqlSyntaxError) as caught:
        read("create table c clone t tblproperties ('fs.key' = 'se''cret', x = \"other\") locaton '/p'")
    assert "cret" not in str(caught.value)
    assert "other" not in str(caught.value)
    assert "'/p'" in str(caught.value)
