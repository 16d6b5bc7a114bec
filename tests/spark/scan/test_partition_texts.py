# SPDX-License-Identifier: Apache-2.0
"""Two parsers read a partition value's text, ours to skip files and Spark's cast to read rows: they must mean the same."""

from __future__ import annotations

import os
import re
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.tables.built import file_of, ids

import bayou
from bayou.plan.predicates.partition_values import to_arrow
from bayou.testing.table_builder import TableBuilder

ZONE = "America/New_York"
TYPES = {
    "byte": "byte",
    "short": "short",
    "int": "integer",
    "long": "long",
    "float": "float",
    "double": "double",
    "small_decimal": "decimal(5,2)",
    "large_decimal": "decimal(38,10)",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "binary": "binary",
    "string": "string",
}

BLANKS = st.sampled_from(["", "", "", " ", "\t", "\n", "\x00", "\x1f", "\x7f", "\xa0", "\u2003"])


def joined(*parts):
    """Texts made of one drawn part after the other; a text stands for itself."""
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)


def some(*texts):
    return st.sampled_from(texts)


def trimmed(texts):
    return joined(BLANKS, texts, BLANKS)


def garbled(texts):
    """A text in which one character is doubled, dropped or another."""
    other = st.text(max_size=1) | st.sampled_from(list("0-+.:eETZ /"))
    return st.tuples(texts, st.integers(0, 40), other).map(lambda drawn: drawn[0][: drawn[1]] + drawn[2] + drawn[0][drawn[1] + 1 :])


SIGN = some("", "", "-", "+")
DIGITS = st.text("0123456789", min_size=1, max_size=24)
BOUND = some(*(str((1 << bits) - 1 + above) for bits in (7, 15, 31, 63) for above in (0, 1, 2)))
WHOLE = joined(SIGN, DIGITS | BOUND | st.integers(0, 2**65).map(str) | st.integers(0, 400).map(str))
NUMBER = joined(
    WHOLE, some("", ".", ".5", ".005", ".4999999999999999999999", ".05"), some("", "e5", "E-3", "e+30", "e-400", "E400")
)
FLOATING = (
    NUMBER
    | st.floats().map(str)
    | st.floats(width=32).map(str)
    | some(
        "NaN", "nan", "-NaN", "Infinity", "-Infinity", "inf", "-INF", "+infinity", "-0.0", "0x1.8p3", "1d", "1.5f", "1e", ".", "1_0"
    )
)
YEAR = some("0000", "0001", "1582", "1883", "1900", "2026", "9999", "10000", "-0001", "+2026", "-2026", "12026", "999999", "26")
DATE = st.dates().map(str) | joined(YEAR, some("", "-1", "-02", "-12", "-13"), some("", "-01", "-3", "-29", "-31", "-32"))
ZONES = some(
    *("", "", "Z", "UTC", "+00:00", "-08:00", "+1:30", "+18:00", "+19:00", "+0530", "GMT+1", " Europe/Paris", "America/New_York"),
    *("EST", "PST", "Z ", "z", "+05", "Mars/Base", "UTC+01:30:15"),
)
CLOCK = joined(
    some("", "00:00", "23:59:59", "05:30:00", "1:2:3", "24:00:00", "12:60", "02:30:00"),
    some("", ".5", ".000001", ".1234567", "."),
)
TIMESTAMP = joined(DATE, some(" ", "T", "t", "  "), CLOCK, ZONES) | DATE | st.datetimes().map(str)
TEXTS = {
    **dict.fromkeys(("byte", "short", "int", "long"), trimmed(WHOLE | NUMBER)),
    **dict.fromkeys(("float", "double"), trimmed(FLOATING)),
    **dict.fromkeys(("small_decimal", "large_decimal"), trimmed(NUMBER | st.decimals(allow_nan=True).map(str))),
    "boolean": trimmed(some("true", "FALSE", "t", "F", "yes", "No", "y", "n", "1", "0", "on", "tRuE", "2", "truth")),
    "date": trimmed(DATE | TIMESTAMP),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), trimmed(TIMESTAMP)),
}
ANYTHING = (
    st.none() | st.text(max_size=40) | some("__HIVE_DEFAULT_PARTITION__", "a/b=c%20", "\x00", "\U0010ffff" * 9, "é", "e\u0301")
)

# In every column, whatever its type.
EDGES = [
    *(
        None,
        "",
        " ",
        "0",
        "-0",
        "+0",
        "00",
        "-0.0",
        "1.5",
        "127",
        "-128",
        "-129",
        "1e2",
        ".",
        "-",
        "NaN",
        "Infinity",
        "-inf",
        "true",
    ),
    *(
        "0001-01-01",
        "0000-01-01",
        "-0001-12-31",
        "9999-12-31",
        "10000-01-01",
        "+12026-05-05",
        "1582-10-10",
        "1900-02-29",
        "2024-02-29",
    ),
    *("2026-01-02 03:04:05", "2026-01-02T03:04:05.123456Z", "2026-01-02 03:04:05.1234567+05:30", "2025-11-02 01:30:00"),
    *("2025-03-09 02:30:00", "1883-11-18 12:00:00", "0001-01-01 00:00:00Z", "9999-12-31 23:59:59.999999", "2026-01-02 25:00:00"),
    *("-290308-12-21 19:59:05.224192Z", "294247-01-10T04:00:54.775807Z", "294247-01-10T04:00:54.775808Z", "5881580-07-11"),
    *(
        "2026",
        "+2026",
        "-2026",
        "2026-01",
        "2026-1-2",
        "2026-01-02 Z",
        "12:30:00",
        "T12:30:00Z",
        "2026-01-02 03:04:05 America/New_York",
    ),
    *(
        "999.994",
        "999.995",
        "1000",
        "99999999999999999999999999999999999999",
        "9223372036854775808",
        "1e-45",
        "1e39",
        "4.9e-324",
        "1e400",
    ),
]


def drawn(name, count):
    """That many texts for a column: the edges, the sort that its type takes, damaged ones and any."""
    texts = list(EDGES)
    strategy = TEXTS[name] | TEXTS[name] | garbled(TEXTS[name]) | ANYTHING if name in TEXTS else ANYTHING

    @settings(max_examples=count, phases=[Phase.generate])
    @given(strategy)
    def draw(text):
        texts.append(text)

    draw()
    return texts[:count] + [None] * (count - len(texts))


class Typed(NamedTuple):
    """A table partitioned by all types.

    Attributes:
        values: for each column its texts, what Python makes of them and what Spark reads, aligned.
        table: the table.
        read: the rows that Spark reads of it, from no file.
    """

    values: dict[str, tuple[list, list, list]]
    table: DataFrame
    read: DataFrame


@pytest.fixture(scope="module")
def typed(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("texts"))
    count = min(max(4 * settings().max_examples, 400), 5_000)  # enough that each type gets values, in one table
    columns = {name: drawn(name, count) for name in TYPES}
    builder = TableBuilder(path).create({"number": "long", "id": "long", **TYPES}, partition_by=["number", *TYPES])
    first = file_of(path, "0.parquet", {"id": [0]})
    for number in range(1, count):
        os.link(Path(path, "0.parquet"), Path(path, f"{number}.parquet"))
    files = [
        {
            **first["add"],
            "path": f"{n}.parquet",
            "partitionValues": {"number": str(n), **{name: columns[name][n] for name in TYPES}},
        }
        for n in range(count)
    ]
    builder.commit(*({"add": file} for file in files))
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", ZONE)
    frame = bayou.read(bayou.enable(session), path)
    read = frame.toArrow().sort_by("number")  # the one job
    texts = bayou.open(path).snapshot().partition_texts()
    order = pa.chunked_array(texts["number"]).cast(pa.int64())
    assert read["number"].to_pylist() == list(range(count))
    values = {}
    for name, kind in TYPES.items():
        rows = pa.table({"number": order, "text": texts[name], "python": to_arrow(texts[name], kind, time_zone=ZONE)}).sort_by(
            "number"
        )
        assert rows["text"].to_pylist() == columns[name]
        values[name] = (rows["text"].to_pylist(), plain(rows["python"]), plain(read[name]))
    return Typed(values, frame, session.createDataFrame(read, frame.schema).cache())


def plain(values):
    """Values that compare: instants as integers, because Python's end with the year 9999, and floats by their text."""
    if pa.types.is_date(values.type):
        return values.cast(pa.int32()).to_pylist()
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.int64()).to_pylist()
    return [str(value) if isinstance(value, float) else value for value in values.to_pylist()]


@pytest.mark.parametrize("name", TYPES)
def test_python_and_spark_read_the_same_value_from_a_partition_text(typed, name):
    texts, ours, theirs = typed.values[name]
    different = {text: (mine, other) for text, mine, other in zip(texts, ours, theirs, strict=True) if mine != other}
    different = {text: values for text, values in different.items() if values[0] is not None or not is_left_to_spark(text, name)}
    assert different == {}
    values = {value for value in theirs if value is not None}
    assert len(values) > (1 if name == "boolean" else 10)
    assert name in ("string", "binary") or None in [value for text, value in zip(texts, theirs, strict=True) if text]


def is_left_to_spark(text, name):
    """What Python takes for no value, and Spark for one."""
    if name == "timestamp":  # Spark takes today for the date, which means nothing in a log
        return re.match(r"[\s\x00-\x1f]*T?\d{1,2}:", text) is not None
    if name.endswith("decimal"):  # a zero of great exponent is NULL on Spark 3.5 and 4.2, and zero on 4.0 and 4.3
        return re.match(r"[\s\x00-\x1f]*[+-]?0*\.?0*E", text, re.IGNORECASE) is not None
    return False


ALONE = [
    *(
        ("timestamp", text)
        for text in ("2026-01", "2026-01-02 03:04:05", "2026-01-02 03:04:05Z", "2026-01-02 03:04:05 Europe/Paris")
    ),
    ("decimal(5,2)", "0E37"),
    ("float", "16777217"),
    ("timestamp", "-2026"),
    ("timestamp", "+2026"),
    ("timestamp", "T12:30:00Z"),
    ("timestamp", "12:30:00+01:00"),
    ("decimal(5,2)", "0E38"),
    ("float", "400149999.99999999999999999999"),
]


@pytest.mark.parametrize(("kind", "text"), ALONE)
def test_a_filter_finds_the_value_that_spark_reads_where_it_is_the_only_one(spark, table_path, kind, text):
    """Alone in its table, because one text that names no zone makes that no file is skipped for its timestamp."""
    builder = TableBuilder(table_path).create({"id": "long", "v": kind}, partition_by=["v"])
    builder.commit(file_of(table_path, "a.parquet", {"id": [1]}, partitionValues={"v": text}))
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", ZONE)
    frame = bayou.read(bayou.enable(session), table_path)
    (row,) = frame.selectExpr("cast(v as string) as v").collect()
    assert row.v is not None
    for operator in ("is not null", *(f"{sign} cast('{row.v}' as {kind})" for sign in ("=", ">=", "<="))):
        assert ids(frame.where(f"v {operator}").select("id")) == [1], operator


@pytest.mark.parametrize("name", ["int", "float", "small_decimal", "boolean", "date", "timestamp", "timestamp_ntz", "string"])
def test_filters_leave_the_rows_that_they_leave_of_the_values_read(typed, name):
    """Files are skipped by Python's values, and partition filters applied by Spark's: judged on the values themselves."""
    texts, _, read = typed.values[name]
    column, kind = F.col(name), typed.read.schema[name].dataType
    chosen = [text for text, value in zip(texts, read, strict=True) if value is not None]
    first, other = (F.lit(chosen[len(chosen) * place // 3]).try_cast(kind) for place in (1, 2))
    conditions = [column.isNull(), column.eqNullSafe(first), column != other, column < first, column >= other]
    marked = [
        reduce(DataFrame.union, (frame.where(c).select(F.lit(n), "number") for n, c in enumerate(conditions))).coalesce(2)
        for frame in (typed.table, typed.read)
    ]
    found, expected = (sorted(map(tuple, frame.collect())) for frame in marked)
    assert found == expected
