# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bayou.errors import InvalidSchemaError
from bayou.protocol.columns.identity_columns import (
    IdentityColumn,
    generation_sql,
    high_water_marks,
    identity_column,
    identity_columns,
    identity_metadata,
    raised_high_water_mark,
    row_number_sql,
    synced_high_water_mark,
    with_high_water_mark,
    with_high_water_marks,
)
from bayou.protocol.types.schema import StructField, StructType

BIGINTS = st.integers(-(2**63), 2**63 - 1)
SMALL = st.integers(-1000, 1000)
STEPS = st.integers(-50, 50).filter(bool)


def field(name="id", physical=None, **metadata):
    parts = {f"delta.identity.{key}": value for key, value in metadata.items()}
    return StructField(name, "long", metadata=parts | ({"delta.columnMapping.physicalName": physical} if physical else {}))


def column(start=1, step=1, mark=None):
    return IdentityColumn("id", "id", start, step, mark)


@given(BIGINTS, BIGINTS.filter(bool), st.booleans(), st.none() | BIGINTS)
def test_a_new_column_is_read_back_with_its_mark(start, step, allowed, mark):
    metadata = identity_metadata(start, step, allow_explicit_insert=allowed)
    assert sorted(metadata) == ["delta.identity.allowExplicitInsert", "delta.identity.start", "delta.identity.step"]
    made = with_high_water_mark(StructField("id", "long", metadata=metadata), mark)
    assert identity_columns(StructType((StructField("x", "long"), made))) == (
        IdentityColumn("id", "id", start, step, mark, allowed),
    )


def test_a_step_of_zero_is_refused():
    with pytest.raises(InvalidSchemaError) as caught:
        identity_metadata(1, 0)
    assert (caught.value.error_class, caught.value.sql_state) == ("DELTA_IDENTITY_COLUMNS_ILLEGAL_STEP", "42611")


@pytest.mark.parametrize("numbers", [(2**63, 1), (1, -(2**63) - 1)])
def test_numbers_beyond_bigint_are_refused(numbers):
    with pytest.raises(InvalidSchemaError):
        identity_metadata(*numbers)


@pytest.mark.parametrize(
    "metadata",
    [
        {"start": 1},
        {"start": 1, "step": 1},
        {"start": 1, "step": 0, "allowExplicitInsert": False},
        {"start": "1", "step": 1, "allowExplicitInsert": False},
        {"start": 1, "step": True, "allowExplicitInsert": False},
        {"start": 1, "step": 1, "allowExplicitInsert": "false"},
        {"start": 1, "step": 1, "allowExplicitInsert": False, "highWaterMark": "9"},
    ],
)
def test_metadata_that_is_not_whole_is_refused(metadata):
    with pytest.raises(InvalidSchemaError) as caught:
        identity_columns(StructType((field(**metadata),)))
    assert caught.value.error_class == "DELTA_IDENTITY_COLUMN_INCONSISTENT_METADATA"


@pytest.mark.parametrize(
    ("start", "step", "mark", "expected"),
    [
        (1, 1, None, 1),
        (1, 1, 7, 8),
        (5, -2, None, 5),
        (5, -2, 1, -1),
        (1, 10, 15, 21),
        (1, 10, -15, 1),
        (0, -10, -15, -20),
        (0, -10, 15, 0),
    ],
)
def test_the_next_number_follows_the_mark(start, step, mark, expected):
    assert column(start, step, mark).next_value == expected


@given(SMALL, STEPS, st.integers(1, 7), st.lists(st.integers(0, 6), min_size=1, max_size=4))
def test_writes_one_after_the_other_never_repeat_a_number(start, step, num_partitions, writes):
    current, seen = column(start, step), set()
    for rows in writes:
        cells = itertools.product(range(num_partitions), range(rows))
        values = [current.next_value + step * (partition + row * num_partitions) for partition, row in cells]
        assert len(set(values)) == len(values)
        assert not seen & set(values)
        assert all((value - start) % step == 0 and (value - start) * step >= 0 for value in values)
        seen |= set(values)
        extreme = None if not values else max(values) if step > 0 else min(values)
        current = column(start, step, raised_high_water_mark(current, [None, extreme]))
        assert not seen or current.high_water_mark == (max(seen) if step > 0 else min(seen))


@given(SMALL, STEPS, st.none() | SMALL, st.none() | SMALL, st.booleans())
def test_a_synced_mark_is_on_the_number_line_and_covers_the_table(start, step, mark, extreme, allow_lower):
    assume(mark is None or (mark - start) % step == 0)
    before = column(start, step, mark)
    after = synced_high_water_mark(before, extreme, allow_lower=allow_lower)
    if extreme is None or (extreme - start) * step < 0:
        assert after == mark
        return
    assert (after - start) % step == 0
    assert (after - extreme) * step >= 0
    if allow_lower:
        assert abs(after - extreme) < abs(step)
    else:
        assert mark is None or (after - mark) * step >= 0
        assert after == mark or abs(after - extreme) < abs(step)


@pytest.mark.parametrize(("start", "step", "mark"), [(1, 1, 2**63 - 1), (1, -1, -(2**63)), (2**63 - 1, 2, 2**63 - 1)])
def test_a_column_that_is_used_up_is_refused(start, step, mark):
    with pytest.raises(InvalidSchemaError) as caught:
        generation_sql(column(start, step, mark), "n")
    assert (caught.value.error_class, caught.value.sql_state) == ("ARITHMETIC_OVERFLOW", "22003")


def test_a_sync_that_rounds_beyond_bigint_is_refused():
    with pytest.raises(InvalidSchemaError):
        synced_high_water_mark(column(0, 10), 2**63 - 1)


def test_the_expression_counts_on_from_the_mark_and_stops_at_the_end_of_bigint():
    stop = "raise_error('The identity column \"id\" has no values left.')"
    assert generation_sql(column(1, -5, -4), "n") == f"coalesce(try_add(-9L, try_multiply(-5L, n)), CAST({stop} AS BIGINT))"
    odd = IdentityColumn("it's", "it's", 1, 1, None)
    assert "raise_error('The identity column has no values left.')" in generation_sql(odd, "n")
    assert row_number_sql(3) == "(spark_partition_id() + (monotonically_increasing_id() & 8589934591L) * 3L)"


def test_a_counting_expression_is_evaluated_once_a_row():
    assert generation_sql(column(), row_number_sql(3)).count("monotonically_increasing_id") == 1


def test_marks_are_merged_by_physical_name_and_never_move_back():
    whole = {"allowExplicitInsert": False}
    schema = StructType(
        (
            field("up", "col-1", start=1, step=1, highWaterMark=10, **whole),
            field("down", "col-2", start=0, step=-1, highWaterMark=-10, **whole),
            field("new", "col-3", start=0, step=1, **whole),
            StructField("plain", "long"),
        )
    )
    assert high_water_marks(schema) == {"col-1": 10, "col-2": -10}
    moved = with_high_water_marks(schema, {"col-1": 12, "col-2": -12, "col-3": 4, "plain": 9, "gone": 1})
    assert high_water_marks(moved) == {"col-1": 12, "col-2": -12, "col-3": 4}
    assert with_high_water_marks(moved, high_water_marks(schema)) == moved
    assert moved.fields[3] == schema.fields[3]


def test_a_mark_can_be_moved_back_on_purpose():
    marked = field(start=1, step=1, allowExplicitInsert=True, highWaterMark=10)
    assert identity_column(with_high_water_mark(marked, 4)).high_water_mark == 4
    assert identity_column(with_high_water_mark(marked, None)).high_water_mark is None
