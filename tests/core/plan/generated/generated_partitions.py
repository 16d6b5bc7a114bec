# SPDX-License-Identifier: Apache-2.0
"""Generated partition columns as Spark computes them, clocks of all zones, and what a filter says of a row."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from bayou.plan.generated.expressions import Call, Constant, Reference
from bayou.plan.generated.filters import partition_rules
from bayou.plan.generated.truncation import DATE_UNITS
from bayou.plan.predicates.predicate import And, Column, Comparison, In, IsNull, Literal, Or, StartsWith
from bayou.protocol.types.instants import MICROS_PER_DAY, parse_timestamp
from bayou.protocol.types.schema import StructField, StructType

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)
HOUR = 3_600_000_000

# Zones whose clocks were set back over midnight, by half an hour, by a day, and by none at all.
ZONES = ["UTC", "Europe/Paris", "America/St_Johns", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia", "America/Juneau"]
MOMENTS = [
    "2006-10-29 02:31:00",
    "2007-11-04 02:31:00",
    "2018-02-18 02:00:00",
    "2017-10-15 03:00:00",
    "2020-04-04 15:00:00",
    "2020-10-03 15:30:00",
    "2011-12-30 10:00:00",
    "1867-10-19 00:31:13",
    "2021-03-28 01:00:00",
    "2021-10-31 01:00:00",
    "1999-12-31 23:59:59",
    "0050-01-01 00:00:00",
    "9990-12-31 23:00:00",
]


def micros(text):
    return parse_timestamp(text)


NEAR = st.builds(int.__add__, st.sampled_from(list(map(micros, MOMENTS))), st.integers(-30 * HOUR, 30 * HOUR))
INSTANTS = st.one_of(NEAR, st.integers(micros("0050-01-01"), micros("9990-01-01")))
GAPS = st.one_of(
    st.sampled_from([0, 1, -1, HOUR, -HOUR]),
    st.integers(-3 * HOUR, 3 * HOUR),
    st.integers(-400 * MICROS_PER_DAY, 400 * MICROS_PER_DAY),
)
DATES = st.one_of(st.integers(-700_000, 2_900_000), st.integers(17_000, 20_000))
TEXTS = st.text("ab\x00é𝄞z\uffff", max_size=5)
OPERATORS = st.sampled_from(["=", "<=>", "<", "<=", ">", ">="])

COMPARE = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def truth(predicate, row):
    """SQL's truth of a predicate for a row of values by path."""
    match predicate:
        case And(children):
            found = [truth(child, row) for child in children]
            return False if False in found else None if None in found else True
        case Or(children):
            found = [truth(child, row) for child in children]
            return True if True in found else None if None in found else False
        case In(column, values):
            return truth(Or(tuple(Comparison("=", column, each) for each in values)), row)
        case _:
            return leaf_truth(predicate, row[predicate.column.path])


def leaf_truth(leaf, value):
    if isinstance(leaf, IsNull):
        return value is None
    if isinstance(leaf, StartsWith):
        return None if value is None else value.startswith(leaf.prefix)
    if leaf.op == "<=>":
        return value == leaf.literal.value
    return None if value is None or leaf.literal.value is None else COMPARE[leaf.op](value, leaf.literal.value)


def clock(instant, zone):
    return (EPOCH + instant * MICROSECOND).astimezone(ZoneInfo(zone))


def days(moment):
    return moment.toordinal() - EPOCH.toordinal()


def date_of(wall, unit):
    """Spark's trunc of a date."""
    plain = wall.replace(tzinfo=None)
    if unit == "week":
        return days(plain - timedelta(days=plain.weekday()))
    month = {"quarter": plain.month - (plain.month - 1) % 3}.get(unit, plain.month if unit in {"mon", "month", "mm"} else 1)
    return days(plain.replace(month=month, day=1))


CUT = {"microsecond": {}, "second": {"microsecond": 0}}
CUT["minute"] = CUT["second"] | {"second": 0}
CUT["hour"] = CUT["minute"] | {"minute": 0}
CUT["day"] = CUT["dd"] = CUT["hour"] | {"hour": 0}


def stamp_of(wall, unit):
    """Spark's date_trunc of a timestamp, as the wall clock that a partition's text shows."""
    if unit in DATE_UNITS:
        cut = (EPOCH + timedelta(days=date_of(wall, unit))).replace(tzinfo=wall.tzinfo)
    elif unit == "millisecond":
        cut = wall.replace(microsecond=wall.microsecond // 1000 * 1000)
    else:
        cut = wall.replace(**CUT[unit])
    # What a clock that is set forward never shows is moved on.
    return cut.astimezone(timezone.utc).astimezone(wall.tzinfo)


def text_of(wall):
    return wall.replace(tzinfo=None).isoformat(" ", "microseconds")


BASE = Reference(("base",))


def to_date(source=BASE):
    return Call("Cast to date", (source,))


def to_timestamp(source=BASE):
    return Call("Cast to timestamp", (source,))


def date_format(pattern, source=BASE):
    return Call("DateFormatClass", (source, Constant(pattern)))


def trunc(unit, source=None):
    return Call("TruncDate", (source or to_date(), Constant(unit)))


def date_trunc(unit, source=BASE):
    return Call("TruncTimestamp", (Constant(unit), source))


def substring(position, length):
    return Call("Substring", (BASE, Constant(position), Constant(length)))


def rules_for(base_type, *columns):
    """The rules of partition columns, each with its name, its type and its generation expression as Spark resolves it."""
    inner = StructType((StructField("ts", base_type, metadata={"delta.columnMapping.physicalName": "col-ts"}),))
    fields = (StructField(name, kind) for name, kind, _ in columns)
    schema = StructType((StructField("base", base_type), StructField("S", inner), *fields))
    return partition_rules(schema, {name: expression for name, _, expression in columns})


DATE_PARTS = [("y", "integer", Call("Year", (BASE,))), ("m", "integer", Call("Month", (BASE,)))]
DATE_PARTS += [("d", "integer", Call("DayOfMonth", (BASE,)))]
"""A column for each of the year, the month and the day of a date."""

PARTS = [(name, kind, Call(call.name, (to_date(),))) for name, kind, call in DATE_PARTS]
PARTS += [("h", "integer", Call("Hour", (BASE,)))]
"""A column for each of the year, the month, the day and the hour of a timestamp."""


def cut(text, position, length):
    """Spark's substring, by its definition: the characters whose places are in a range, counted from 1."""
    first = position if position > 0 else len(text) + position + 1 if position < 0 else 1
    return "".join(character for place, character in enumerate(text, 1) if first <= place < first + length)


STAMP = [("dt", "date", to_date())]
"""The day of a timestamp."""


def stamp(text, kind="timestamp"):
    return Literal(micros(text), kind)


def leaf(op, value):
    return Comparison(op, Column(("base",)), value)
