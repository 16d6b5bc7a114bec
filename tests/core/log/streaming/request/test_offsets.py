# SPDX-License-Identifier: Apache-2.0
"""Offsets as a checkpoint holds them; the exact texts are those that delta-spark's DeltaSourceOffsetSuite expects."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test

from bayou.errors import StreamingSourceError
from bayou.log.streaming.request.offsets import (
    BASE_INDEX,
    END_INDEX,
    METADATA_CHANGE_INDEX,
    POST_METADATA_CHANGE_INDEX,
    SourceOffset,
    check_order,
)

ID = "b6a1f3f0-5f5b-4d4e-9d3e-0f1a2b3c4d5e"
INDICES = st.one_of(st.integers(0, 1 << 40), st.sampled_from([BASE_INDEX, METADATA_CHANGE_INDEX, POST_METADATA_CHANGE_INDEX]))
OFFSETS = st.builds(SourceOffset, st.just(ID), st.integers(0, 1 << 40), INDICES, st.booleans())


def parse(text):
    return SourceOffset.parse(text, ID, "/t")


def document(**changes):
    known = {"sourceVersion": 1, "reservoirId": ID, "reservoirVersion": 1, "index": 1, "isStartingVersion": True}
    return json.dumps({name: value for name, value in {**known, **changes}.items() if value is not None})


def error_class(text):
    with pytest.raises(StreamingSourceError) as raised:
        parse(text)
    assert raised.value.next_step
    return raised.value.error_class


@given(OFFSETS)
def test_what_is_written_is_read_back(offset):
    assert parse(offset.to_json()) == offset


@given(OFFSETS, OFFSETS)
def test_offsets_are_ordered_by_version_and_index(one, other):
    assert (one < other) == ((one.version, one.index) < (other.version, other.index))
    assert (one <= other) == (not other < one)
    assert (one > other) == (other < one)
    assert (one >= other) == (not one < other)


@pytest.mark.parametrize(
    ("offset", "text"),
    [
        (SourceOffset(ID, 3), '{"sourceVersion":1,"reservoirId":"%s","reservoirVersion":3,"index":-1,"isStartingVersion":false}'),
        (
            SourceOffset(ID, 7, METADATA_CHANGE_INDEX),
            '{"sourceVersion":3,"reservoirId":"%s","reservoirVersion":7,"index":-20,"isStartingVersion":false}',
        ),
        (
            SourceOffset(ID, 7, POST_METADATA_CHANGE_INDEX),
            '{"sourceVersion":3,"reservoirId":"%s","reservoirVersion":7,"index":-19,"isStartingVersion":false}',
        ),
        (
            SourceOffset(ID, 9, 23, is_starting_version=True),
            '{"sourceVersion":1,"reservoirId":"%s","reservoirVersion":9,"index":23,"isStartingVersion":true}',
        ),
    ],
)
def test_an_offset_is_written_as_delta_spark_writes_it(offset, text):
    assert offset.to_json() == text % ID


def test_the_end_of_a_version_is_written_as_the_beginning_of_the_next_one():
    assert parse(SourceOffset(ID, 3, END_INDEX).to_json()) == SourceOffset(ID, 4)


def test_indented_texts_with_fields_in_any_order_are_read():
    text = (
        '\n{\n  "reservoirId": "%s",\n  "sourceVersion": 3, "index": -100,\n "isStartingVersion": false, "reservoirVersion": 7}\n'
    )
    assert parse(text % ID) == SourceOffset(ID, 7)


def test_a_later_source_version_is_refused():
    assert error_class(document(sourceVersion=4, reservoirId=None)) == "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION"


@pytest.mark.parametrize("version", [None, 0, 2, -1])
def test_a_missing_or_reserved_source_version_is_refused(version):
    assert error_class(document(sourceVersion=version)) == "DELTA_INVALID_SOURCE_VERSION"


@in_one_test(
    "text",
    [
        "",
        "{",
        "[]",
        '{"sourceVersion": 23x}',
        document(sourceVersion="foo"),
        document(sourceVersion=True),
        document(index=None),
        document(index="1"),
        document(index=END_INDEX),
        document(sourceVersion=3, index=-1),
        document(reservoirVersion=None),
        document(isStartingVersion=None),
        document(isStartingVersion="true"),
    ],
)
def test_what_is_no_offset_is_refused(text):
    assert error_class(text) == "DELTA_INVALID_SOURCE_OFFSET_FORMAT"


@pytest.mark.parametrize("found", [None, "another"])
def test_an_offset_of_another_table_is_refused(found):
    with pytest.raises(StreamingSourceError) as raised:
        parse(document(reservoirId=found))
    assert raised.value.error_class == "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"
    assert (raised.value.new_id, raised.value.old_id) == (ID, str(found))


@pytest.mark.parametrize(
    ("current", "what"),
    [
        (SourceOffset(ID, 4, 10, is_starting_version=True), "'isInitialSnapshot' flipped incorrectly"),
        (SourceOffset(ID, 1, 10), "'reservoirVersion' moved back"),
        (SourceOffset(ID, 4, 9), "'index' moved back"),
    ],
)
def test_an_offset_may_not_go_back(current, what):
    with pytest.raises(StreamingSourceError, match=what):
        check_order(SourceOffset(ID, 4, 10), current, "/t")


@pytest.mark.parametrize("current", [SourceOffset(ID, 4, 10), SourceOffset(ID, 5, 1), SourceOffset(ID, 5)])
def test_an_offset_may_stay_or_go_on(current):
    check_order(SourceOffset(ID, 4, 10), current, "/t")


def test_an_offset_of_spark_connect_is_refused():
    with pytest.raises(StreamingSourceError, match="of a query on Spark Connect") as raised:
        SourceOffset.parse('{"logOffset":3}', ID, "/t")
    assert raised.value.error_class == "DELTA_INVALID_SOURCE_OFFSET_FORMAT"
