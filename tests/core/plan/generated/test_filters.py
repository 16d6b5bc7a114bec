# SPDX-License-Identifier: Apache-2.0
"""Filters on generated partition columns never lose a row, whatever the value, the zone and the filter are.

Filters of several parts on a generated partition column never lose a row, however they are put together.
"""

from __future__ import annotations

from datetime import timedelta, timezone
from zoneinfo import ZoneInfo

from hypothesis import example, given
from hypothesis import strategies as st
from tests.core.plan.generated.generated_partitions import (
    BASE,
    DATE_PARTS,
    DATES,
    EPOCH,
    GAPS,
    INSTANTS,
    OPERATORS,
    PARTS,
    STAMP,
    TEXTS,
    ZONES,
    clock,
    cut,
    date_format,
    date_of,
    date_trunc,
    days,
    leaf,
    micros,
    rules_for,
    stamp_of,
    substring,
    text_of,
    to_date,
    to_timestamp,
    trunc,
    truth,
)

from bayou.plan.generated.filters import derived_filter, partition_rules
from bayou.plan.generated.truncation import DATE_UNITS, TIMESTAMP_UNITS
from bayou.plan.predicates.predicate import And, Column, Comparison, In, IsNull, Literal, Or, StartsWith
from bayou.protocol.types.char_varchar import DECLARED_TYPE
from bayou.protocol.types.instants import MICROS_PER_DAY, parse_timestamp
from bayou.protocol.types.schema import StructField, StructType


def stamp_columns(unit, date_unit):
    """Partition columns over a timestamp, each with a function that computes its value from the clock."""
    return [
        (("dt", "date", to_date()), days),
        (("f7", "string", date_format("yyyy-MM")), lambda wall: f"{wall:%Y}".zfill(4) + f"{wall:-%m}"),
        (("f10", "string", date_format("yyyy-MM-dd")), lambda wall: f"{wall:%Y}".zfill(4) + f"{wall:-%m-%d}"),
        (("f13", "string", date_format("yyyy-MM-dd-HH")), lambda wall: f"{wall:%Y}".zfill(4) + f"{wall:-%m-%d-%H}"),
        (("td", "date", trunc(date_unit)), lambda wall: date_of(wall, date_unit)),
        (("tt", "timestamp", date_trunc(unit)), lambda wall: text_of(stamp_of(wall, unit))),
        (PARTS[0], lambda wall: wall.year),
        (PARTS[1], lambda wall: wall.month),
        (PARTS[2], lambda wall: wall.day),
        (PARTS[3], lambda wall: wall.hour),
    ]


@given(
    INSTANTS,
    GAPS,
    OPERATORS,
    st.sampled_from(sorted(TIMESTAMP_UNITS)),
    st.sampled_from(sorted(DATE_UNITS)),
    st.tuples(st.sampled_from(ZONES), st.sampled_from(ZONES)),
)
# In Newfoundland clocks went from 00:01 back to 23:01 of the day before: a later time had the earlier date.
@example(micros("2006-10-29 02:30:30"), 60_000_000, "<=", "day", "month", ("America/St_Johns", "America/St_Johns"))
@example(micros("2006-10-29 02:31:30"), -60_000_000, ">=", "day", "month", ("America/St_Johns", "America/St_Johns"))
def test_no_timestamp_is_lost_whatever_the_zones_of_writer_and_reader(value, gap, op, unit, date_unit, zones):
    writer, reader = zones
    columns = stamp_columns(unit, date_unit)
    rules = rules_for("timestamp", *(column for column, _ in columns))
    assert {rule.partition.path[0] for rule in rules} == {"dt", "f7", "f10", "f13", "td", "tt", "y"}
    wall = clock(value, writer)
    row = {("base",): value} | {(column[0],): compute(wall) for column, compute in columns}
    row["tt",] = parse_timestamp(row["tt",], reader)
    predicate = Comparison(op, Column(("base",)), Literal(value + gap, "timestamp"))
    if truth(predicate, row):
        for rule in rules:
            assert truth(derived_filter(predicate, [rule]), row) is True, rule


@given(
    DATES,
    st.one_of(st.integers(-40, 40), st.integers(-100_000, 100_000)),
    OPERATORS,
    st.sampled_from(sorted(DATE_UNITS)),
    st.sampled_from(ZONES),
)
def test_no_date_is_lost(value, gap, op, unit, zone):
    columns = [
        ("dt", "date", BASE),
        ("f7", "string", date_format("yyyy-MM", to_timestamp())),
        ("td", "date", trunc(unit.upper(), BASE)),
        ("tt", "timestamp", date_trunc(unit, to_timestamp())),
        *DATE_PARTS,
    ]
    rules = rules_for("date", *columns)
    assert len(rules) == 5
    wall = EPOCH + timedelta(days=value)
    start = wall.replace(tzinfo=ZoneInfo(zone)).astimezone(timezone.utc).astimezone(ZoneInfo(zone))
    row = {("base",): value, ("dt",): value, ("td",): date_of(wall, unit), ("f7",): f"{wall:%Y}".zfill(4) + f"{wall:-%m}"}
    row |= {("tt",): parse_timestamp(text_of(stamp_of(start, unit)), zone)}
    row |= {("y",): wall.year, ("m",): wall.month, ("d",): wall.day}
    predicate = Comparison(op, Column(("base",)), Literal(value + gap, "date"))
    if truth(predicate, row):
        for rule in rules:
            assert truth(derived_filter(predicate, [rule]), row) is not False, rule


@given(TEXTS, TEXTS, OPERATORS, st.integers(-6, 6), st.integers(-1, 7))
@example("abc", "abc", "=", -4, 3)
def test_no_string_is_lost(value, other, op, position, length):
    rules = rules_for("string", ("sub", "string", substring(position, length)), ("same", "string", BASE))
    assert len(rules) == 2
    row = {("base",): value, ("sub",): cut(value, position, length) or None, ("same",): value or None}
    leaves = [Comparison(op, Column(("base",)), Literal(other, "string")), StartsWith(Column(("base",)), other)]
    for each in leaves:
        derived = derived_filter(each, rules)
        assert not truth(each, row) or derived is None or truth(derived, row) is True


LEAVES = st.one_of(
    st.builds(leaf, OPERATORS, st.builds(Literal, st.integers(0, 5 * MICROS_PER_DAY), st.just("timestamp"))),
    st.just(leaf("=", Literal(None, "timestamp"))),
    st.just(leaf("<=>", Literal(None, "timestamp"))),
    st.just(IsNull(Column(("base",)))),
    st.lists(st.builds(Literal, st.integers(0, 5 * MICROS_PER_DAY) | st.none(), st.just("timestamp")), max_size=3).map(
        lambda values: In(Column(("base",)), tuple(values))
    ),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(*(st.lists(inner, max_size=3).map(lambda found, kind=kind: kind(tuple(found))) for kind in (And, Or))),
)


@given(TREES, st.none() | st.integers(0, 5 * MICROS_PER_DAY))
def test_no_row_is_lost_by_predicates_that_are_put_together(predicate, value):
    row = {("base",): value, ("dt",): None if value is None else value // MICROS_PER_DAY}
    derived = derived_filter(predicate, rules_for("timestamp", *STAMP))
    assert not truth(predicate, row) or derived is None or truth(derived, row) is True


def test_a_char_has_no_rule_because_it_is_stored_padded():
    schema = StructType((StructField("base", "string"), StructField("p", "string", metadata={DECLARED_TYPE: "char(5)"})))
    assert not partition_rules(schema, {"p": substring(1, 5)})
    unpadded = StructType((*schema.fields[:1], StructField("p", "string", metadata={DECLARED_TYPE: "varchar(5)"})))
    assert partition_rules(unpadded, {"p": substring(1, 5)})
