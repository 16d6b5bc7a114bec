# SPDX-License-Identifier: Apache-2.0
"""Partition values are written as Spark writes them, so that everybody reads them back."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.protocol.drawn_values import QUICK

from bayou.errors import SchemaMismatchError
from bayou.protocol.types.partition_values import parse, serialise, to_float32

INT64 = st.integers(-(2**63), 2**63 - 1)


@QUICK
@given(INT64)
def test_timestamps_are_written_as_utc_and_read_back_in_any_zone(value):
    text = serialise(value, "timestamp")
    assert text.endswith("Z")
    assert parse(text, "timestamp", time_zone="Asia/Kolkata") == value
    assert parse(serialise(value, "timestamp_ntz"), "timestamp_ntz") == value


@QUICK
@given(st.floats())
def test_doubles_are_read_back(value):
    found = parse(serialise(value, "double"), "double")
    assert str(found) == str(value)


@QUICK
@given(st.floats(width=32))
def test_floats_are_read_back(value):
    found = parse(serialise(value, "float"), "float")
    assert str(found) == str(value)


@QUICK
@given(st.integers(1 - 10**38, 10**38 - 1))
def test_decimals_are_read_back(unscaled):
    value = Decimal(f"{unscaled}e-10")
    assert parse(serialise(value, "decimal(38,10)"), "decimal(38,10)") == value


@QUICK
@given(st.text(min_size=1))
def test_strings_and_binary_are_read_back(value):
    assert parse(serialise(value, "string"), "string") == value
    assert parse(serialise(value.encode(), "binary"), "binary") == value.encode()


@pytest.mark.parametrize(
    ("value", "data_type", "text"),
    [
        (None, "integer", None),
        ("", "string", None),
        (b"", "binary", None),
        (7, "byte", "7"),
        (True, "boolean", "true"),
        (False, "boolean", "false"),
        (0, "date", "1970-01-01"),
        (0, "timestamp", "1970-01-01T00:00:00.000000Z"),
        (123_456, "timestamp", "1970-01-01T00:00:00.123456Z"),
        (-1, "timestamp_ntz", "1969-12-31 23:59:59.999999"),
        (Decimal("1E-7"), "decimal(10,8)", "0.00000010"),
        (Decimal(5), "decimal(10,2)", "5.00"),
        (1.0, "double", "1.0"),
        (100.0, "double", "100.0"),
        (1e7, "double", "1.0E7"),
        (0.001, "double", "0.001"),
        (1.25e-5, "double", "1.25E-5"),
        (-0.0, "double", "-0.0"),
        (math.nan, "double", "NaN"),
        (-math.inf, "float", "-Infinity"),
        (to_float32(0.1), "float", "0.1"),
        (to_float32(3.4028235e38), "float", "3.4028235E38"),
        ("ü", "varchar(3)", "ü"),
    ],
)
def test_values_are_written_as_spark_writes_them(value, data_type, text):
    assert serialise(value, data_type) == text


def test_binary_that_is_no_text_is_refused():
    with pytest.raises(SchemaMismatchError, match="UTF-8"):
        serialise(b"\xff", "binary")
