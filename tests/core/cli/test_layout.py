# SPDX-License-Identifier: Apache-2.0
"""Tables on a terminal: they fit 80 columns, words stay whole, and a note names what is left out."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.cli.conftest import SCHEMA, add

from bayou.cli.layout import GAP, Column, fitting_widths, shortened, wrapped

NAME = "part-00000-3f2a9c1e-5b7d-4e8f-9a0b-1c2d3e4f5a6b-c000.snappy.parquet"
VECTOR = {"storageType": "u", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 2}
METRICS = {
    "numOutputRows": "123456789",
    "numTargetRowsUpdated": "123456",
    "executionTimeMs": "12345",
    "numOutputBytes": "987654321",
}


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def real_table(writer):
    """A table with the names and metrics that engines write."""
    writer.create()
    writer.commit(
        1,
        add(f"day=2026-01-01/{NAME}", deletionVector=VECTOR),
        operation="CREATE OR REPLACE TABLE AS SELECT",
        operationParameters={"mode": "Append", "partitionBy": '["day"]', "predicate": "day >= '2026-01-01' AND id < 10"},
        operationMetrics=METRICS,
        engineInfo="Apache-Spark/4.0.0 Delta-Lake/4.0.0",
    )
    return writer.path


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("command", ["history", "files", "log", "schema"])
def test_a_table_fits_a_terminal_of_80_columns(terminal, bayou_command, real_table, command):
    assert max(len(line.rstrip()) for line in plain(bayou_command(command, real_table).out).splitlines()) <= 80


def test_words_of_the_history_stay_whole_and_left_out_columns_are_named(terminal, bayou_command, real_table):
    printed = plain(bayou_command("history", real_table).out)
    assert "CREATE OR REPLACE TABLE AS SELECT" in printed
    assert "partitionBy" in printed
    assert "not shown: metrics, engine; --wide shows all" in printed
    wide = plain(bayou_command("history", real_table, "--wide").out)
    assert "numTargetRowsUpdated=123456" in wide
    assert "Delta-Lake/4.0.0" in wide
    assert "not shown" not in wide


def test_sizes_and_ages_are_for_people(terminal, bayou_command, real_table):
    assert "2.0 KiB" in plain(bayou_command("files", real_table).out)
    assert re.search(r" (0 s|\d+ (s|min)) ago", plain(bayou_command("log", real_table).out))
    detail = plain(bayou_command("detail", real_table).out)
    assert re.search(r"sizeInBytes +2\.0 KiB", detail)
    assert re.search(r"createdAt +2020-09-13 12:26:40\.000 \(\d+ years ago\)", detail)


def test_json_has_exact_values_on_a_terminal(terminal, bayou_command, real_table):
    (row,) = bayou_command("detail", real_table, "--json").json
    assert row["sizeInBytes"] == 2048
    assert row["createdAt"] == "2020-09-13T12:26:40.000Z"


def test_a_long_path_keeps_its_beginning_and_its_end(terminal, bayou_command, real_table):
    printed = plain(bayou_command("files", real_table).out)
    assert re.search(r"day=2026\S+…\S+snappy\.parquet", printed), printed


@given(st.text(), st.integers(min_value=3, max_value=60))
def test_a_shortened_text_fits_or_is_whole(text, width):
    found = shortened(text, width)
    assert found == text or (len(found) <= len(text) and "…" in found)


WORDS = st.lists(st.text("ab", min_size=1, max_size=12), max_size=8).map(" ".join)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=5), st.integers(min_value=20, max_value=120))
def test_a_column_is_as_wide_as_its_longest_word_if_the_terminal_has_the_room(rows, width):
    columns = [Column("a"), Column("b", wraps=True, is_extra=True), Column("c", wraps=True, is_extra=True)]
    widths = fitting_widths(columns, rows, width)
    longest = {index: max(len(word) for row in rows for word in row[index].split(" ")) for index in widths}
    total = sum(widths.values()) + GAP * (len(widths) - 1)
    if 1 in widths:
        assert widths[1] >= longest[1]
        assert total <= width
    assert fitting_widths(columns, rows, None) == {index: max(1, *(len(row[index]) for row in rows)) for index in range(3)}


@given(WORDS, st.integers(min_value=3, max_value=30))
def test_wrapped_lines_fit_and_have_each_word(text, width):
    lines = wrapped(text, width)
    assert all(len(line) <= width for line in lines)
    assert " ".join(lines).split() == [shortened(word, width) for word in text.split()]
    first, *_ = wrapped(text, width + 4, "to: ")
    assert first.startswith("to: ")
    assert len(first) <= width + 4


def test_a_sentence_gets_room_before_a_path_does():
    columns = [Column("path", shortens=True), Column("reason", wraps=True)]
    assert fitting_widths(columns, [("p" * 70, "the data file does not exist")], 80) == {0: 50, 1: 28}


def test_a_check_that_does_not_fit_has_a_line_for_each_long_value(terminal, bayou_command, writer):
    writer.create()
    writer.commit(1, add(f"day=2026-01-01/{NAME}", size=-1, stats=None), engineInfo="Apache-Spark/4.0.0 Delta-Lake/4.0.0")
    printed = plain(bayou_command("check", writer.path).out).splitlines()
    at = printed.index("broken  file-size  add")
    assert printed[at + 1 : at + 3] == [f"  _delta_log/{1:020d}.json:2", "  written by Apache-Spark/4.0.0 Delta-Lake/4.0.0"]
    assert re.search(
        r"the size of day=2026-01-01/part-00000\S*…\S*-c000\.snappy\.parquet is -1", " ".join(" ".join(printed).split())
    )
    assert max(map(len, printed)) <= 80
    wide = plain(bayou_command("check", writer.path, "--wide").out).splitlines()
    assert wide[0].split() == ["severity", "rule", "place", "action", "writer", "finding"]


def test_a_check_that_fits_is_a_table(terminal, bayou_command, writer, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    writer.create().commit(1, add("a", size=-1))
    first, *_ = plain(bayou_command("check", writer.path).out).splitlines()
    assert first.split() == ["severity", "rule", "place", "action", "writer", "finding"]


def test_a_difference_that_does_not_fit_shows_both_values_below_each_other(terminal, bayou_command, writer):
    long = ", ".join(f"column_number_{number}" for number in range(9))
    writer.create(**{"delta.dataSkippingStatsColumns": "id", "a.property.with.a.long.name.indeed": "1"})
    metadata = {"id": "8a7c", "format": {"provider": "parquet"}, "partitionColumns": ["day"], "schemaString": json.dumps(SCHEMA)}
    writer.commit(1, {"metaData": {**metadata, "configuration": {"delta.dataSkippingStatsColumns": long.replace(" ", "")}}})
    printed = plain(bayou_command("diff", writer.path, "0", "1").out).splitlines()
    at = printed.index("properties  delta.dataSkippingStatsColumns  changed")
    assert printed[at + 1] == "  - id"
    assert printed[at + 2].startswith("  + column_number_0,")
    assert "…" in printed[at + 2]
    assert max(map(len, printed)) <= 80
    assert long.replace(" ", "") in plain(bayou_command("diff", writer.path, "0", "1", "--wide").out)
