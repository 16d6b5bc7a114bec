# SPDX-License-Identifier: Apache-2.0
"""Partition texts become typed Arrow arrays."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from bayou.errors import InvalidSchemaError
from bayou.plan.predicates.partition_values import arrow_type, to_arrow


def typed(texts, data_type, **options):
    return to_arrow(pa.chunked_array([pa.array(texts, pa.string())]), data_type, **options)


@pytest.mark.parametrize(
    ("data_type", "texts", "values", "target"),
    [
        ("integer", ["1", "x", "1", ""], [1, None, 1, None], pa.int32()),
        ("byte", ["127", "128"], [127, None], pa.int8()),
        ("long", ["9223372036854775807"], [2**63 - 1], pa.int64()),
        ("float", ["0.1"], [0.10000000149011612], pa.float32()),
        ("boolean", ["yes", "0"], [True, False], pa.bool_()),
        ("binary", ["ü"], ["ü".encode()], pa.binary()),
        ("decimal(5,2)", ["1.005", "1e3"], [Decimal("1.01"), None], pa.decimal128(5, 2)),
        ("decimal(5,0)", ["7.5"], [Decimal(8)], pa.decimal128(5, 0)),
        ("decimal(38,38)", ["0.5"], [Decimal("0.5")], pa.decimal128(38, 38)),
        ("string", ["a", "", None, " "], ["a", None, None, " "], pa.string()),
        ("varchar(3)", ["a"], ["a"], pa.string()),
        ("void", ["a"], [None], pa.null()),
    ],
)
def test_texts_become_values_of_the_type(data_type, texts, values, target):
    found = typed(texts, data_type)
    assert found.type == target
    assert found.to_pylist() == values


def test_instants_are_integers_beyond_the_years_of_python():
    dates = typed(["10000-01-01", "1970-01-02"], "date")
    assert dates.type == pa.date32()
    assert dates.cast(pa.int32()).to_pylist() == [2_932_897, 1]
    stamps = typed(["294247-01-10T04:00:54.775807Z", "1970-01-01 01:00:00"], "timestamp", time_zone="Europe/Paris")
    assert stamps.type == pa.timestamp("us", "UTC")
    assert stamps.cast(pa.int64()).to_pylist() == [2**63 - 1, 0]
    assert typed(["1970-01-01 01:00:00"], "timestamp_ntz").type == pa.timestamp("us")


def test_several_chunks_and_dictionaries_are_one_array():
    chunks = pa.chunked_array([pa.array(["1", "2"]), pa.array(["2", None])])
    assert to_arrow(chunks, "integer").to_pylist() == [1, 2, 2, None]
    assert to_arrow(chunks.dictionary_encode(), "integer").to_pylist() == [1, 2, 2, None]
    assert to_arrow(chunks.dictionary_encode(), "string").to_pylist() == ["1", "2", "2", None]
    assert to_arrow(pa.chunked_array([], pa.string()), "integer").to_pylist() == []


def test_nulls_alone_are_nulls():
    assert to_arrow(pa.nulls(3, pa.string()), "date").to_pylist() == [None] * 3


@pytest.mark.parametrize("data_type", ["variant", "decimal(40,2)", "interval"])
def test_other_types_cannot_partition(data_type):
    with pytest.raises(InvalidSchemaError):
        arrow_type(data_type)
