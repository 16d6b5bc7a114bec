# SPDX-License-Identifier: Apache-2.0
"""Per-file Statistics, Partition Value Serialization, Consistency Between Table Metadata and Data Files."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Z85_CHARACTER, Found, Section, first, in_rows
from bayou.checks.statistics import Leaf
from bayou.checks.timeline import Part
from bayou.errors import DeltaError
from bayou.protocol.types.partition_values import parse

_STATISTICS = Section("Per-file Statistics", "stats")
_PARTITIONS = Section("Partition Value Serialization", "partition")
SECTIONS = (_STATISTICS, _PARTITIONS)


def _chunked(mask: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([pc.fill_null(mask, False)])


@_STATISTICS.risky("json", "Statistics are JSON, and their values have the types of their columns.")
def statistics_are_valid(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        yield from first(_in_part(log, part, row, why) for row, why in part.statistics.problems)


def _in_part(log: RawLog, part: Part, row: int, why: str) -> Found:
    place = part.adds.select(["file", "line", "path"]).slice(row, 1).to_pylist()[0]
    return Found(f"{why}, of {place['path']}", log.files[place["file"]], place["line"], "add")


@_STATISTICS.broken("num-records", "numRecords is not negative.")
def counts_are_not_negative(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        negative = _chunked(pc.less(part.statistics.records, 0))
        yield from in_rows(log, part.adds.filter(negative), "numRecords of {path} is negative")


@_STATISTICS.broken("null-count", "A nullCount is between 0 and numRecords.")
def null_counts_fit(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        for leaf in part.statistics.leaves:
            nulls = leaf.nulls.cast(pa.int64())
            odd = pc.or_kleene(pc.less(nulls, 0), pc.greater(nulls, part.statistics.records))
            yield from in_rows(
                log, part.adds.filter(_chunked(odd)), f"nullCount of {_shown(leaf)} does not fit numRecords, of {{path}}"
            )


@_STATISTICS.broken("min-max", "A minimum is not greater than its maximum.")
def minima_are_not_greater(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        for leaf in part.statistics.leaves:
            if leaf.low.type == leaf.high.type and not pa.types.is_null(leaf.low.type) and leaf.column.type != "variant":
                odd = pc.greater(leaf.low, leaf.high)
                yield from in_rows(log, part.adds.filter(_chunked(odd)), f"minValues of {_shown(leaf)} is greater, of {{path}}")


@_STATISTICS.risky("variant", "A minimum and a maximum of a variant are Z85 text.")
def variant_bounds_are_z85(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        for leaf in (each for each in part.statistics.leaves if each.column.type == "variant"):
            for name, bounds in (("minValues", leaf.low), ("maxValues", leaf.high)):
                # The text may end in a part of a block, as the example of the protocol does.
                odd = pc.invert(pc.match_substring_regex(bounds.cast(pa.string()), f"^{Z85_CHARACTER}+$"))
                yield from in_rows(log, part.adds.filter(_chunked(odd)), f"{name} of {_shown(leaf)} is not Z85 text, of {{path}}")


@_STATISTICS.risky("all-null", "A column without values has no minimum and no maximum.")
def null_columns_have_no_bounds(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        tight = pc.fill_null(part.statistics.tight, True)
        for leaf in part.statistics.leaves:
            is_null = pc.and_(
                pc.equal(leaf.nulls.cast(pa.int64()), part.statistics.records), pc.greater(part.statistics.records, 0)
            )
            bounded = pc.or_(pc.is_valid(leaf.low), pc.is_valid(leaf.high))
            odd = _chunked(pc.and_kleene(pc.and_kleene(is_null, bounded), tight))
            yield from in_rows(log, part.adds.filter(odd), f"{_shown(leaf)} of {{path}} has only nulls, and a bound")


def _shown(leaf: Leaf) -> str:
    return leaf.column.name.replace("{", "{{").replace("}", "}}")


@_PARTITIONS.broken("keys", "partitionValues has each partition column, by its physical name, and no other name.")
def partition_values_have_all_columns(log: RawLog) -> Iterator[Found]:
    for part in (each for each in log.parts if each.epoch.metadata):
        wanted = set(part.epoch.partition_keys)
        for rows in (part.adds, part.changes):
            for keys, chosen in _by_keys(rows):
                if keys != wanted:
                    shown = ", ".join(sorted(keys)) or "empty"
                    expected = ", ".join(sorted(wanted)) or "none"
                    text = f"the keys of {{path}} are {_plain(shown)}, and the partition columns {_plain(expected)}"
                    yield from in_rows(log, chosen, text)


def _by_keys(rows: pa.Table) -> Iterator[tuple[set[str], pa.Table]]:
    """Yield the rows by the set of their partition columns. Nearly always there is one set."""
    rows = rows.filter(pc.is_valid(rows["partitionValues"])).combine_chunks()
    if not rows.num_rows:
        return
    maps = rows["partitionValues"].chunk(0)
    lengths = pc.list_value_length(maps.cast(pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))))
    keys = maps.keys
    size = lengths[0].as_py()
    expected = keys.slice(0, size)
    if pc.all(pc.equal(lengths, size)).as_py() and all(
        pc.all(pc.equal(keys.take(pa.array(range(at, len(keys), size), pa.int64())), expected[at])).as_py() for at in range(size)
    ):
        yield set(expected.to_pylist()), rows
        return
    sets = [frozenset(name for name, _ in each) for each in maps.to_pylist()]
    for each in dict.fromkeys(sets):
        yield set(each), rows.filter(pa.array([other == each for other in sets], pa.bool_()))


def _plain(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


@_PARTITIONS.broken("value", "A partition value is the text of a value of its column's type.")
def partition_values_can_be_parsed(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        for name, key in zip(part.epoch.partition_columns, part.epoch.partition_keys, strict=True):
            column = part.epoch.top_columns.get(name)
            if column is not None and column.is_leaf:
                yield from _wrong_values(log, part, key, column.type)


def _wrong_values(log: RawLog, part: Part, key: str, kind: str) -> Iterator[Found]:
    rows = part.rows.filter(pc.is_valid(part.rows["partitionValues"]))
    if not rows.num_rows or kind in {"string", "binary"}:
        return
    values = pc.map_lookup(rows["partitionValues"], key, "first")
    wrong = [each for each in pc.unique(values).to_pylist() if each and not _is_valid(each, kind)]
    for value in wrong:
        text = f"{_plain(key)} of {{path}} is {_plain(repr(value))}, and the column is {kind}"
        yield from in_rows(log, rows.filter(pc.fill_null(pc.equal(values, value), False)), text)


def _is_valid(text: str, kind: str) -> bool:
    try:
        return parse(text, kind) is not None
    except (DeltaError, ValueError, ArithmeticError):
        return False
