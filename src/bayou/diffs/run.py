# SPDX-License-Identifier: Apache-2.0
"""Compare two versions of a table, or two tables, by their logs."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from bayou.diffs.difference import FILES_SCHEMA, Change, Difference, Side
from bayou.errors import InvalidTimestampError, TableNotFoundError, redact_uri
from bayou.log.actions.keys import canonical_paths, vector_ids
from bayou.log.delta_log import DeltaLog, open_log
from bayou.log.segment.history import HistoryPart
from bayou.log.segment.time_travel import split_path, to_milliseconds
from bayou.log.snapshot.partition_columns import physical_names
from bayou.protocol.features.features import table_features
from bayou.protocol.types.partition_values import NULL_FOLDER
from bayou.protocol.types.schema import StructType, simple_type

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot

Place: TypeAlias = "int | str | dt.datetime | dt.date | os.PathLike[str]"
"""A version, a timestamp, or the path of a table, which may end in `@v12`."""


def diff(
    path: str | os.PathLike[str],
    first: Place,
    second: Place | None = None,
    *,
    storage_options: Mapping[str, str] | None = None,
) -> Difference:
    """Compare two versions of a table, or two tables, by their logs, without Spark. No data file is read.

    Example:
        bayou.diff("/data/orders", 3, 7).partitions

    Args:
        path: the table's path or URI.
        first: a version of the table, a timestamp, or the path of another table.
        second: the same for the other side. If left out, the latest version of the table is the other side: the second one if
            `first` is a version or a timestamp, and the first one if it is a table.
        storage_options: credentials and settings of the stores.

    Raises:
        TableNotFoundError: a path has no Delta log.
        VersionNotFoundError, TimestampOutOfRangeError: a version cannot be read.
    """
    table = open_log(path, storage_options)
    one = _side(table, first, storage_options)
    if second is not None:
        sides = one, _side(table, second, storage_options)
    else:
        latest = table, table.update()
        sides = (one, latest) if one[0] is table else (latest, one)
    return _difference(*sides)


def _side(table: DeltaLog, place: Place, options: Mapping[str, str] | None) -> tuple[DeltaLog, Snapshot]:
    if isinstance(place, int):
        return table, table.snapshot(place)
    if isinstance(place, str) and place.isascii() and place.isdigit():
        return table, table.snapshot(int(place))
    if isinstance(place, os.PathLike):
        return _other(os.fspath(place), options)
    try:
        to_milliseconds(place)
    except InvalidTimestampError:
        if not isinstance(place, str):
            raise
        return _other(place, options)
    return table, table.snapshot(timestamp=place)


def _other(path: str, options: Mapping[str, str] | None) -> tuple[DeltaLog, Snapshot]:
    log = open_log(path, options)
    try:
        return log, log.update()
    except TableNotFoundError:
        travel = split_path(path)
        if travel is None:
            raise
    log = open_log(travel.path, options)
    return log, log.snapshot(travel.version, travel.timestamp)


def _difference(first: tuple[DeltaLog, Snapshot], second: tuple[DeltaLog, Snapshot]) -> Difference:
    (log, before), (other, after) = first, second
    changes = [
        Change(part, name, old.get(name), new.get(name))
        for (part, old), (_, new) in zip(_facts(before), _facts(after), strict=True)
        for name in sorted({**old, **new})
        if old.get(name) != new.get(name)
    ]
    sides = [
        Side(redact_uri(each.table_uri), snapshot.version, each.committed_at(snapshot))
        for each, snapshot in ((log, before), (other, after))
    ]
    low, high = sorted((before.version, after.version))
    part = HistoryPart(first=low + 1, last=high)
    operations = log.history(version=high, part=part) if log.table_uri == other.table_uri and low < high else ()
    return Difference(sides[0], sides[1], tuple(changes), _files(before, after), tuple(operations))


def _facts(snapshot: Snapshot) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the parts of a table, and the values of their facts by name."""
    metadata, protocol = snapshot.metadata, snapshot.protocol
    yield "schema", dict(_columns(snapshot.schema, ()))
    texts = {"partitionColumns": ", ".join(snapshot.partition_columns), "name": metadata.name, "description": metadata.description}
    yield "metadata", {name: each for name, each in texts.items() if each}
    yield "properties", dict(snapshot.properties)
    versions = {"minReaderVersion": protocol.min_reader_version, "minWriterVersion": protocol.min_writer_version}
    features = {f"feature {each}": "supported" for each in table_features(protocol)}
    yield "protocol", {**{name: str(each) for name, each in versions.items()}, **features}
    yield "domains", {name: each.configuration for name, each in snapshot.domain_metadata.items()}


def _columns(struct: StructType, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield each column with its type, whether it may be NULL, and its metadata. Fields of a struct follow it."""
    for field in struct.fields:
        path = (*above, field.name)
        kind = "struct" if isinstance(field.type, StructType) else simple_type(field.type)
        more = "".join(f", {name}={value}" for name, value in sorted(field.metadata.items()))
        yield ".".join(path), f"{kind}{'' if field.nullable else ' NOT NULL'}{more}"
        if isinstance(field.type, StructType):
            yield from _columns(field.type, path)


def _files(before: Snapshot, after: Snapshot) -> pa.Table:
    """Return the files that differ. Files of one path and one deletion vector are the same."""
    roots = (before.table_uri, after.table_uri)
    old, new = (_described(each, roots) for each in (before, after))
    both = old.join(new, "key", join_type="full outer", left_suffix="Before", right_suffix="After", coalesce_keys=True)
    is_old, is_new = pc.is_valid(both["pathBefore"]), pc.is_valid(both["pathAfter"])
    same = pc.and_(pc.and_(is_old, is_new), pc.fill_null(pc.equal(both["vectorBefore"], both["vectorAfter"]), False))
    both = both.append_column("isOld", is_old).append_column("isNew", is_new).filter(pc.invert(same))
    columns = {
        **{name: both[name] for name in ("sizeBefore", "sizeAfter", "rowsBefore", "rowsAfter")},
        "change": pc.if_else(both["isOld"], pc.if_else(both["isNew"], "changed", "removed"), "added"),
        "path": pc.coalesce(both["pathAfter"], both["pathBefore"]),
        "partition": pc.coalesce(both["partitionAfter"], both["partitionBefore"]),
    }
    found = pa.Table.from_arrays([columns[name] for name in FILES_SCHEMA.names], schema=FILES_SCHEMA)
    return found.sort_by([("partition", "ascending"), ("path", "ascending")])


def _described(snapshot: Snapshot, roots: tuple[str, str]) -> pa.Table:
    """Return the live files by their path, which is relative for files of both tables."""
    files = snapshot.files(["path", "size", "deletion_vector"])
    key = files["path"]
    for root in dict.fromkeys(roots):
        key = canonical_paths(key, root)
    return pa.table(
        {
            "key": key,
            "path": files["path"],
            "size": files["size"],
            "rows": pa.chunked_array([snapshot.live_rows(pa.array(range(files.num_rows), pa.int64()))]),
            "vector": pc.fill_null(vector_ids(files["deletion_vector"]), ""),
            "partition": _partitions(snapshot, files.num_rows),
        }
    )


def _partitions(snapshot: Snapshot, number: int) -> pa.ChunkedArray:
    """Return the partition of each file, such as `day=2026-01-01, country=NZ`; empty without partition columns."""
    texts = snapshot.partition_texts()
    names = physical_names(snapshot.schema, snapshot.partition_columns)
    values = [
        pc.binary_join_element_wise(pa.scalar(f"{name}="), pc.fill_null(texts[physical], NULL_FOLDER), "")
        for name, physical in names.items()
    ]
    if not values:
        return pa.chunked_array([pa.repeat("", number)])
    return pc.binary_join_element_wise(*values, ", ")
