# SPDX-License-Identifier: Apache-2.0
"""Partition values that are numbers, booleans or texts are read as Spark casts them.

Partition values are written as Spark writes them, so that everybody reads them back.
"""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test
from tests.support.drawing import QUICK

from bayou.errors import SchemaMismatchError
from bayou.protocol.types.partition_values import decimal_type, is_string_type, parse, serialise, to_float32

ALL_TYPES = ["byte", "short", "integer", "long", "float", "double", "decimal(10,2)", "boolean", "date", "timestamp"]
ALL_TYPES += ["timestamp_ntz", "string", "binary", "varchar(5)", "void"]


@in_one_test("data_type", ALL_TYPES)
def test_nothing_and_the_empty_text_are_null_for_every_type(data_type):
    assert parse(None, data_type) is None
    assert parse("", data_type) is None


@in_one_test("text", ["x", " ", "1-", "--1", "0x", "ü", "\x00", "__HIVE_DEFAULT_PARTITION__", "1 2", "\u0661"])
@in_one_test("data_type", [each for each in ALL_TYPES if not is_string_type(each) and each != "binary"])
def test_what_cannot_be_cast_is_null(text, data_type):
    assert parse(text, data_type) is None


@in_one_test(
    ("text", "data_type", "value"),
    [
        ("7", "integer", 7),
        (" 7 ", "integer", 7),
        ("\t\n7\x7f\x00", "integer", 7),
        ("+5", "byte", 5),
        ("-0", "long", 0),
        ("007", "short", 7),
        ("1.5", "integer", 1),
        ("-1.9", "integer", -1),
        ("1.", "integer", 1),
        (".9", "integer", 0),
        (".", "integer", 0),
        ("1.x", "integer", None),
        ("1e3", "integer", None),
        ("+", "integer", None),
        ("-", "integer", None),
        ("127", "byte", 127),
        ("128", "byte", None),
        ("-128", "byte", -128),
        ("32768", "short", None),
        ("2147483648", "integer", None),
        ("-9223372036854775808", "long", -(2**63)),
        ("9223372036854775808", "long", None),
        ("0" * 6_000 + "1", "long", 1),
        ("9" * 6_000, "long", None),
    ],
)
def test_integers_are_cast_as_spark_does(text, data_type, value):
    assert parse(text, data_type) == value


@pytest.mark.parametrize("text", ["t", "true", "TRUE", " y ", "yes", "1"])
def test_many_words_are_true(text):
    assert parse(text, "boolean") is True


@pytest.mark.parametrize("text", ["f", "False", "n", "no", "0"])
def test_many_words_are_false(text):
    assert parse(text, "boolean") is False


@pytest.mark.parametrize("text", ["2", "on", "truee", "1.0"])
def test_other_words_are_no_boolean(text):
    assert parse(text, "boolean") is None


@in_one_test(
    ("text", "value"),
    [
        ("1.5", 1.5),
        (" 1.5 ", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("1d", 1.0),
        ("1F", 1.0),
        ("0x1p3", 8.0),
        ("-0x.8p1", -1.0),
        ("1e400", math.inf),
        ("-1e400", -math.inf),
        ("inf", math.inf),
        ("+INF", math.inf),
        ("-Infinity", -math.inf),
        ("infinityd", None),
        ("1_000", None),
        ("1e", None),
        ("e1", None),
        (".", None),
        ("d", None),
        ("0x1", None),
        ("1dd", None),
    ],
)
def test_doubles_are_cast_as_spark_does(text, value):
    assert parse(text, "double") == value


@pytest.mark.parametrize("text", ["NaN", "nan", "NAN", "+NaN", "-NaN", " NaN "])
def test_nan_has_many_spellings(text):
    assert math.isnan(parse(text, "double"))
    assert math.isnan(parse(text, "float"))


def test_floats_are_rounded_to_32_bits():
    assert parse("0.1", "float") == 0.10000000149011612
    assert parse("1e39", "float") == math.inf
    assert str(parse("-0.0", "float")) == "-0.0"


@in_one_test(
    ("text", "data_type", "value"),
    [
        ("1.5", "decimal(10,2)", "1.50"),
        ("1.005", "decimal(10,2)", "1.01"),
        ("-1.005", "decimal(10,2)", "-1.01"),
        ("1.0049999", "decimal(10,2)", "1.00"),
        ("99999999.995", "decimal(10,2)", None),
        ("99999999.994", "decimal(10,2)", "99999999.99"),
        ("1e2", "decimal(10,2)", "100.00"),
        ("1E-2", "decimal(10,2)", "0.01"),
        ("1e-400", "decimal(10,2)", "0.00"),
        ("1e400", "decimal(10,2)", None),
        ("0e400", "decimal(10,2)", None),
        ("1e99999999999", "decimal(10,2)", None),
        (" 5 ", "decimal(10,0)", "5"),
        ("+5.", "decimal(10,0)", "5"),
        (".5", "decimal(10,0)", "1"),
        ("1e", "decimal(10,2)", None),
        ("1d", "decimal(10,2)", None),
        ("NaN", "decimal(10,2)", None),
        ("9" * 38, "decimal(38,0)", "9" * 38),
        ("-" + "9" * 28 + "." + "9" * 10, "decimal(38,10)", "-" + "9" * 28 + "." + "9" * 10),
        ("9" * 39, "decimal(38,0)", None),
        ("0." + "1" * 5_000, "decimal(3,2)", "0.11"),
        ("7", "decimal", "7"),
    ],
)
def test_decimals_are_cast_as_spark_does(text, data_type, value):
    found = parse(text, data_type)
    assert (None if found is None else str(found)) == value


def test_strings_and_binary_are_the_text_itself():
    for data_type in ("string", "char(3)", "varchar(10)", "string collate UNICODE"):
        assert parse(" ü ", data_type) == " ü "
    assert parse("ü\x01", "binary") == "ü\x01".encode()


def test_a_type_that_cannot_partition_is_refused():
    with pytest.raises(SchemaMismatchError, match="variant"):
        serialise(1, "variant")
    assert parse("1", "variant") is None


def test_types_are_recognised():
    assert decimal_type("decimal(10,2)") == (10, 2)
    assert decimal_type("decimal( 10 , 2 )") == (10, 2)
    assert decimal_type("double") is None
    assert is_string_type("CHAR(5)")
    assert not is_string_type("binary")


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


@in_one_test(
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
