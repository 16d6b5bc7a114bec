# SPDX-License-Identifier: Apache-2.0
"""Data Files, Consistency Between Table Metadata and Data Files: whether the files are what the log says of them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bayou.checks.footers import Footer, Values, as_bound, fits, is_adjusted
from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Found, Reads, Section, in_action, in_rows
from bayou.checks.schema_json import COLUMN_ID, Column
from bayou.checks.timeline import Epoch, Part

_FILES = Section("Data Files", "data-file", Reads.FILES)
_FOOTERS = Section("Consistency Between Table Metadata and Data Files", "footer", Reads.FOOTERS)
SECTIONS = (_FILES, _FOOTERS)

_CHANGE_TYPE = "_change_type"
_MATERIALIZED = ("delta.rowTracking.materializedRowIdColumnName", "delta.rowTracking.materializedRowCommitVersionColumnName")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A live data file: its action, its number among the live files, and its footer."""

    row: dict[str, Any]
    place: int
    footer: Footer

    def found(self, log: RawLog, detail: str) -> Found:
        """Return a finding at the action of the file."""
        return _found(log, self.row, f"{self.row['path']}: {detail}")


def _found(log: RawLog, row: dict[str, Any], detail: str) -> Found:
    return Found(detail, log.files[row["file"]], row["line"], row["kind"])


def _rows(log: RawLog) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = log.live_files.select(["file", "version", "line", "kind", "path", "size", "vectorId"]).to_pylist()
    return rows


@_FILES.broken("exists", "The data file of each live add exists.")
def data_files_exist(log: RawLog) -> Iterator[Found]:
    missing = pc.is_null(log.stored_sizes)
    yield from in_rows(log, log.live_files.filter(missing), "{path} does not exist")


@_FILES.broken("size", "A data file has the size that its add states.")
def data_files_have_their_size(log: RawLog) -> Iterator[Found]:
    files = log.live_files.append_column("stored", log.stored_sizes)
    differs = pc.not_equal(files["stored"], files["size"])
    yield from in_rows(log, files.filter(differs), "{path} has {stored} bytes, and its add states {size}")


@_FILES.broken("rows", "An engine can read the rows of all live files.", Reads.ROWS)
def rows_can_be_read(log: RawLog) -> Iterator[Found]:
    epoch, problem = log.latest, log.row_counts.problem
    if problem is not None and epoch is not None and epoch.metadata is not None:
        yield in_action(epoch.metadata, problem)


@_FOOTERS.broken("readable", "A data file is a Parquet file.")
def data_files_are_parquet(log: RawLog) -> Iterator[Found]:
    for row in _rows(log):
        why = log.folder.footer(row["path"])
        if isinstance(why, str):
            yield _found(log, row, f"{row['path']}: {why}")


def data_files(log: RawLog) -> Iterator[DataFile]:
    """Yield the live files whose footers can be read."""
    for place, row in enumerate(_rows(log)):
        footer = log.folder.footer(row["path"])
        if isinstance(footer, Footer):
            yield DataFile(row, place, footer)


def _stored(epoch: Epoch) -> Iterator[tuple[tuple[str, ...], Column]]:
    """Yield the columns outside arrays and maps by the names that they have in files."""
    for column in epoch.columns:
        if not column.in_list:
            yield column.physical_path if epoch.is_mapped else column.path, column


@_FOOTERS.risky("columns", "A column of a data file is a column of the table.")
def columns_are_of_the_table(log: RawLog) -> Iterator[Found]:
    epoch = log.latest
    # With column mapping files keep the columns that were dropped.
    if epoch is None or epoch.is_mapped:
        return
    known = {path[0].lower() for path, _ in _stored(epoch)} | {_CHANGE_TYPE}
    known |= {epoch.configuration.get(each, "").lower() for each in _MATERIALIZED}
    for file in data_files(log):
        odd = [path[0] for path in file.footer.columns if len(path) == 1 and path[0].lower() not in known]
        if odd:
            yield file.found(log, f"the table has no column {odd[0]!r}")


@_FOOTERS.broken("types", "A column of a data file has the type of its column, or a narrower one.")
def columns_have_their_types(log: RawLog) -> Iterator[Found]:
    for file in data_files(log):
        for path, column in _stored(log.latest) if log.latest else ():
            found = file.footer.columns.get(path)
            if found is not None and not fits(found.kind, column.type):
                yield file.found(log, f"{column.name} is {found.kind}, and its column is {column.type!r:.40}")


@_FOOTERS.risky("utc", "A timestamp in a data file is adjusted to UTC, and a timestamp_ntz is not.")
def timestamps_are_adjusted(log: RawLog) -> Iterator[Found]:
    wanted = {"timestamp": True, "timestamp_ntz": False}
    for file in data_files(log):
        for path, column in _stored(log.latest) if log.latest else ():
            found = file.footer.columns.get(path)
            adjusted = is_adjusted(found.kind) if found is not None else None
            if adjusted is not None and column.is_leaf and wanted.get(column.type, adjusted) != adjusted:
                yield file.found(log, f"{column.name} is {found and found.kind}, and its column is {column.type}")


@_FOOTERS.broken("variant", "A variant is a struct of value and metadata, and is shredded only if variantShredding is supported.")
def variants_are_structs(log: RawLog) -> Iterator[Found]:
    epoch = log.latest
    variants = [(path, each) for path, each in _stored(epoch) if each.type == "variant"] if epoch else []
    for file in data_files(log) if variants else ():
        for path, column in variants:
            members = {each[-1] for each in file.footer.columns if each[:-1] == path}
            is_shredded = "typed_value" in members
            allowed = bool(epoch and epoch.supports("variantShredding"))
            if path in file.footer.columns and (
                "metadata" not in members or (is_shredded and not allowed) or (not is_shredded and "value" not in members)
            ):
                yield file.found(log, f"{column.name} has the members {', '.join(sorted(members))}")


@_FOOTERS.broken("field-ids", "In the mode id of column mapping the columns of a data file have the ids of the schema.")
def columns_have_their_ids(log: RawLog) -> Iterator[Found]:
    epoch = log.latest
    if epoch is None or epoch.mapping_mode != "id":
        return
    for file in data_files(log):
        for path, column in _stored(epoch):
            found = file.footer.columns.get(path)
            if found is not None and found.field_id != column.metadata.get(COLUMN_ID):
                yield file.found(log, f"{path[-1]} has the id {found.field_id}, and its column {column.metadata.get(COLUMN_ID)!r}")


@_FOOTERS.broken("num-records", "numRecords is the number of rows of the data file.")
def counts_are_right(log: RawLog) -> Iterator[Found]:
    for file, _, records in _with_statistics(log):
        if records is not None and records != file.footer.rows:
            yield file.found(log, f"it has {file.footer.rows} rows, and numRecords is {records}")


@_FOOTERS.broken("null-count", "nullCount is the number of nulls in the data file.")
def null_counts_are_right(log: RawLog) -> Iterator[Found]:
    for file, leaves, _ in _with_statistics(log):
        for path, _, _, _, nulls in leaves:
            values = file.footer.values.get(path)
            # With a deletion vector the statistics may count the rows that are left.
            if values is not None and nulls is not None and values.nulls not in {None, nulls} and file.row["vectorId"] is None:
                yield file.found(log, f"{'.'.join(path)} has {values.nulls} nulls, and nullCount is {nulls}")


@_FOOTERS.broken("min-max", "minValues and maxValues include all values of the data file.")
def bounds_include_all_values(log: RawLog) -> Iterator[Found]:
    for file, leaves, _ in _with_statistics(log):
        for path, column, low, high, _ in leaves if file.row["vectorId"] is None else ():
            values = file.footer.values.get(path)
            stored = file.footer.columns.get(path)
            is_single = stored is not None and stored.kind == pa.float32()
            bounds = (_single(low), _single(high)) if is_single else (low, high)
            for why in _narrower(bounds, values, column.type) if values else ():
                yield file.found(log, f"{'.'.join(path)} {why}")


def _narrower(bounds: tuple[Any, Any], values: Values, kind: str) -> Iterator[str]:
    least, most = (as_bound(each, kind) for each in (values.low, values.high))
    if least is not None and bounds[0] is not None and bounds[0] > least:
        yield f"has {least!r:.40}, and minValues is {bounds[0]!r:.40}"
    if most is not None and bounds[1] is not None and bounds[1] < most:
        yield f"has {most!r:.40}, and maxValues is {bounds[1]!r:.40}"


def _single(value: float | None) -> float | None:
    """Round to the precision of a float, as its column does."""
    try:
        return None if value is None else float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return None


def _with_statistics(log: RawLog) -> Iterator[tuple[DataFile, list[tuple[tuple[str, ...], Column, Any, Any, Any]], int | None]]:
    """Yield each file with the statistics of its columns: path in the file, column, minimum, maximum, number of nulls."""
    epoch = log.latest
    if epoch is None:
        return
    part = Part(epoch, log.live_files)
    records = part.statistics.records.to_pylist()
    leaves = [
        (
            each.column.physical_path if epoch.is_mapped else each.column.path,
            each.column,
            *(values.to_pylist() for values in (each.low, each.high, each.nulls)),
        )
        for each in part.statistics.leaves
    ]
    for file in data_files(log):
        at = file.place
        yield file, [(path, column, low[at], high[at], nulls[at]) for path, column, low, high, nulls in leaves], records[at]
