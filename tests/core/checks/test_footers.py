# SPDX-License-Identifier: Apache-2.0
"""Footers by the names of their columns: a name may contain a dot, and columns of arrays and maps are left out."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
from tests.core.checks.building import field, found, metadata, parquet, protocol, struct, with_file

from bayou.checks.footers import read_footer

NESTED = {
    "a.b": pa.array([1, 2, None], pa.int64()),
    "a": pa.array([{"b": 10, "c.d": {"e": "x"}}, None, {"b": 20, "c.d": None}]),
    "l": pa.array([[{"b": 5}], [], None]),
    "m": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
    "last": pa.array([7, 8, 9], pa.int32()),
}


def footer_of(columns, **options):
    return read_footer(pq.read_metadata(io.BytesIO(parquet(columns, **options))))


def test_a_name_with_a_dot_is_not_a_path():
    values = footer_of(NESTED).values
    assert {path: (each.low, each.high, each.nulls) for path, each in values.items()} == {
        ("a.b",): (1, 2, 1),
        ("a", "b"): (10, 20, 1),
        ("a", "c.d", "e"): ("x", "x", 2),
        ("last",): (7, 9, 0),
    }


def test_row_groups_count_together():
    values = footer_of(NESTED, row_group_size=1).values
    assert (values["last",].low, values["last",].high, values["a.b",].nulls) == (7, 9, 1)


def test_timestamps_of_96_bits_are_named_wherever_they_are():
    times = pa.array([1], pa.timestamp("us", "UTC"))
    columns = {"t": times, "s": pa.StructArray.from_arrays([times], ["t"]), "l": pa.ListArray.from_arrays([0, 1], times)}
    assert footer_of(columns).int96 == ()
    assert footer_of(columns, use_deprecated_int96_timestamps=True).int96[:2] == ("t", "s.t")
    assert len(footer_of(columns, use_deprecated_int96_timestamps=True).int96) == 3


def test_statistics_of_a_column_whose_name_has_a_dot_are_compared_with_its_values():
    content = parquet({each: NESTED[each] for each in ("a.b", "a")})
    columns = field("a.b"), field("a", struct(field("b"), field("c.d", struct(field("e", "string")))))
    stats = {"numRecords": 3, "minValues": {"a.b": 1, "a": {"b": 10}}, "maxValues": {"a.b": 2, "a": {"b": 20}}}
    stats["nullCount"] = {"a.b": 1, "a": {"b": 1}}
    mapped = {"first": [protocol(), metadata(*columns)]}
    sound = found(with_file(content, stats=stats, **mapped), footers=True)
    assert [each.rule for each in sound.findings if each.rule.startswith("footer")] == []
    wrong = found(with_file(content, stats=stats | {"minValues": {"a.b": 1, "a": {"b": 11}}}, **mapped), footers=True)
    assert [each.rule for each in wrong.findings if each.rule.startswith("footer")] == ["footer-min-max"]
