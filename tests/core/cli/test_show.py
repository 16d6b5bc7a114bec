# SPDX-License-Identifier: Apache-2.0
"""`bayou show`: the first rows of a table, without a JVM."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.core.arrow.tables import built

from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType

SCHEMA = StructType(
    (
        StructField("id", "long"),
        StructField("day", "date"),
        StructField("price", "decimal(10,2)"),
        StructField("open", "boolean"),
        StructField("name", "string"),
        StructField("tags", ArrayType("string")),
        StructField("more", MapType("string", "timestamp")),
    )
)
LATE = pa.scalar(3_000_000, pa.int32()).cast(pa.date32())  # the year 10183
MOMENT = dt.datetime(2024, 1, 2, tzinfo=dt.timezone.utc)


@pytest.fixture
def rows_table(tmp_path):
    rows = pa.table(
        {
            "id": [1, 2, 3],
            "day": pa.array([LATE.cast(pa.int32()).as_py(), None, 0], pa.int32()).cast(pa.date32()),
            "price": pa.array([Decimal("1.50"), None, Decimal("-2.00")], pa.decimal128(10, 2)),
            "open": [True, False, None],
            "name": ["a\x1b[31m", "two words", ""],
            "tags": [["x"], [], None],
            "more": pa.array([[("k", MOMENT)], [], None], pa.map_(pa.string(), pa.timestamp("us", "UTC"))),
        }
    )
    built(SCHEMA, [rows], root=tmp_path / "t")
    return str(tmp_path / "t")


def test_it_prints_the_first_rows(bayou_command, rows_table):
    header, *rows = bayou_command("show", rows_table, "--limit", "2").lines
    assert header.split() == ["id", "day", "price", "open", "name", "tags", "more"]
    assert len(rows) == 2
    assert rows[0].split()[:5] == ["1", "10183-09-21", "1.50", "true", r"a\x1b[31m"]
    assert rows[1].split()[:4] == ["2", "-", "-", "false"]


def test_json_has_exact_values(bayou_command, rows_table):
    result = bayou_command("show", rows_table, "--json", "--columns", "price,day,tags,more,OPEN")
    assert '"price": 1.50,' in result.lines[0]
    first, second, third = result.json
    assert first["more"]["k"].startswith("2024-01-02 00:00:00")
    assert (second["tags"], second["more"], third["tags"], third["more"]) == ([], {}, None, None)
    assert list(first) == ["price", "day", "tags", "more", "open"]


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        (["id >= 2"], [2, 3]),
        (["id>1", "id != 3"], [2]),
        (["day = 1970-01-01"], [3]),
        (["price < 0"], [3]),
        (["open = true"], [1]),
        (["name = 'two words'"], [2]),
        (["name = two words"], [2]),
        (["tags IS NULL"], [3]),
        (["price is not null"], [1, 3]),
    ],
    ids=str,
)
def test_where_keeps_matching_rows(bayou_command, rows_table, where, ids):
    options = [part for each in where for part in ("--where", each)]
    assert [row["id"] for row in bayou_command("show", rows_table, "--json", "--columns", "id", *options).json] == ids


@pytest.mark.parametrize(
    "options",
    [["--where", "id"], ["--where", "id > x"], ["--where", "nothing = 1"], ["--columns", "nothing"], ["--where", "day = soon"]],
    ids=str,
)
def test_a_wrong_option_is_one_line(bayou_command, rows_table, options):
    result = bayou_command("show", rows_table, *options)
    assert (result.code, result.out, len(result.err.splitlines())) == (1, "", 1)


def test_the_help_to_try_is_a_sentence_of_its_own(bayou_command, rows_table):
    told = bayou_command("show", rows_table, "--where", "id").err
    assert told.endswith("or 'day is null'. Try 'bayou show --help'.\n")
    told = bayou_command("show", rows_table, "--limit", "-1").err
    assert told.endswith("x>=0. Try 'bayou show --help'.\n")


def test_a_limit_of_nothing_prints_the_header(bayou_command, rows_table):
    assert len(bayou_command("show", rows_table, "--limit", "0").lines) == 1


def test_a_terminal_shows_the_columns_that_fit(bayou_command, rows_table, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    lines = bayou_command("show", rows_table).lines
    assert "not shown: tags, more; --wide shows all" in lines[-1]
    assert "10183-09-21" in lines[1]
