# SPDX-License-Identifier: Apache-2.0
"""Column Mapping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Found, Section, first, in_action
from bayou.checks.schema_json import COLUMN_ID, PHYSICAL_NAME, Column
from bayou.checks.timeline import Epoch

_MAPPING = Section("Column Mapping", "mapping")
SECTIONS = (_MAPPING,)

_MODE = "delta.columnMapping.mode"
_MAX_ID = "delta.columnMapping.maxColumnId"
_INT32 = 1 << 31


def _id_of(column: Column) -> int | None:
    found = column.metadata.get(COLUMN_ID)
    return found if type(found) is int and 0 <= found < _INT32 else None


def _mapped(log: RawLog) -> Iterator[Epoch]:
    yield from (each for each in log.epochs if each.metadata and each.is_mapped)


@_MAPPING.broken("mode", "delta.columnMapping.mode is id, name or none.")
def modes_are_known(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        mode = epoch.configuration.get(_MODE, "none")
        if epoch.metadata and mode.lower() not in {"none", "id", "name"}:
            yield in_action(epoch.metadata, f"the mode is {mode!r}")


@_MAPPING.risky("feature", "A table with a mode of column mapping supports columnMapping; otherwise readers ignore the mode.")
def modes_need_their_feature(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        mode = epoch.configuration.get(_MODE, "none")
        supported = "columnMapping" in epoch.writer_features and "columnMapping" in epoch.reader_features
        if epoch.metadata and mode.lower() in {"id", "name"} and not supported:
            yield in_action(epoch.metadata, f"the mode is {mode}, and the protocol lacks columnMapping")


@_MAPPING.broken("physical-name", "With column mapping each column has a physical name.")
def columns_have_physical_names(log: RawLog) -> Iterator[Found]:
    for epoch in _mapped(log):
        lacking = [each for each in epoch.columns if not isinstance(each.metadata.get(PHYSICAL_NAME), str)]
        yield from first(in_action(epoch.metadata, f"{each.name} has no {PHYSICAL_NAME}") for each in lacking if epoch.metadata)


@_MAPPING.broken("id", "With column mapping each column has a 32-bit integer as its id.")
def columns_have_ids(log: RawLog) -> Iterator[Found]:
    for epoch in _mapped(log):
        lacking = [each for each in epoch.columns if _id_of(each) is None]
        shown = ((each, each.metadata.get(COLUMN_ID)) for each in lacking)
        yield from first(
            in_action(epoch.metadata, f"the id of {each.name} is {found!r:.40}") for each, found in shown if epoch.metadata
        )


@_MAPPING.broken("unique-physical-name", "With column mapping physical names are unique.")
def physical_names_are_unique(log: RawLog) -> Iterator[Found]:
    for epoch in _mapped(log):
        counts = Counter(each.physical_path for each in epoch.columns)
        twice = [".".join(path) for path, count in counts.items() if count > 1]
        yield from first(in_action(epoch.metadata, f"two columns have the name {name}") for name in twice if epoch.metadata)


@_MAPPING.broken("unique-id", "With column mapping the ids of columns are unique.")
def ids_are_unique(log: RawLog) -> Iterator[Found]:
    for epoch in _mapped(log):
        counts = Counter(found for each in epoch.columns if (found := _id_of(each)) is not None)
        twice = [number for number, count in counts.items() if count > 1]
        yield from first(in_action(epoch.metadata, f"two columns have the id {number}") for number in twice if epoch.metadata)


@_MAPPING.risky("max-id", "delta.columnMapping.maxColumnId is the highest id that was ever assigned.")
def highest_ids_are_tracked(log: RawLog) -> Iterator[Found]:
    for epoch in _mapped(log):
        highest = max((found for each in epoch.columns if (found := _id_of(each)) is not None), default=0)
        stated = epoch.configuration.get(_MAX_ID)
        if epoch.metadata and (stated is None or not stated.isdecimal() or int(stated) < highest):
            yield in_action(epoch.metadata, f"{_MAX_ID} is {stated!r}, and the highest id is {highest}")


@_MAPPING.risky("max-id-grows", "delta.columnMapping.maxColumnId never falls.")
def highest_ids_never_fall(log: RawLog) -> Iterator[Found]:
    before: tuple[object, int] | None = None
    for epoch in _mapped(log):
        stated = epoch.configuration.get(_MAX_ID, "")
        if not epoch.metadata or not stated.isdecimal():
            continue
        table = epoch.metadata.value.get("id")
        if before and before[0] == table and int(stated) < before[1]:
            yield in_action(epoch.metadata, f"it was {before[1]} and is {stated}")
        before = table, int(stated)


@_MAPPING.broken("static-physical-name", "The physical name of a column does not change.")
def physical_names_do_not_change(log: RawLog) -> Iterator[Found]:
    known: dict[int, tuple[str, ...]] = {}
    table: object = None
    for epoch in _mapped(log):
        if epoch.metadata and epoch.metadata.value.get("id") != table:
            known, table = {}, epoch.metadata.value.get("id")
        for column in epoch.columns:
            number = _id_of(column)
            before = number is not None and known.setdefault(number, column.physical_path)
            if before and before != column.physical_path and epoch.metadata:
                yield in_action(epoch.metadata, f"{column.name} with the id {number} was {before[-1]!r} in files")
