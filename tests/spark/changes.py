# SPDX-License-Identifier: Apache-2.0
"""What a commit did to rows, as tests look at it: the change data feed, row ids, actions and history, and files on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow.parquet as pq

import bayou
from bayou.log.rows.vector_reader import read_vectors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.log.segment.history import HistoryEntry


def feed(spark: SparkSession, path: str, *columns: str, start: int = 1, end: int | None = None) -> list[tuple[Any, ...]]:
    """The rows of the change data feed with their kinds, sorted; columns `id` and `v` where none are named."""
    frame = bayou.read(spark, path, changes=(start, end))
    return sorted((tuple(row) for row in frame.select(*(columns or ("id", "v")), "_change_type").collect()), key=repr)


def actions(path: str, kind: str, version: int = 1) -> list[dict[str, Any]]:
    """The actions of one kind in a commit."""
    lines = Path(path, "_delta_log", f"{version:020d}.json").read_text(encoding="utf-8").splitlines()
    return [found[kind] for line in lines if kind in (found := json.loads(line))]


def files(path: str, pattern: str = "*") -> set[str]:
    """The files of data, of change rows and of deletion vectors that are in a table's folder, by their paths in it."""
    return {str(file.relative_to(path)) for file in Path(path).rglob(pattern) if file.is_file() and "_delta_log" not in file.parts}


def parquet_files(path: str) -> set[str]:
    """Those of data and of change rows."""
    return files(path, "*.parquet")


def data_files(path: str) -> set[str]:
    """The same by their whole paths."""
    return {str(Path(path, file)) for file in parquet_files(path)}


def last(path: str) -> HistoryEntry:
    """What the history says of the latest commit."""
    return next(iter(bayou.open(path).history()))


def metrics(path: str) -> dict[str, str]:
    """What it counted."""
    return dict(last(path).operation_metrics or {})


def without_statistics(path: str) -> None:
    """Takes the statistics out of a table's only commit."""
    log = Path(path, "_delta_log", f"{0:020}.json")
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for each in lines:
        each.get("add", {}).pop("stats", None)
    log.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    for each in [*log.parent.glob("*.crc"), *log.parent.glob(".*.crc")]:
        each.unlink()


def tracked_rows(path: str) -> list[tuple[Any, int, int]]:
    """The column `id`, the row id and the version of each row, as the protocol has readers find them."""
    snapshot = bayou.open(path).snapshot()
    configuration = snapshot.metadata.configuration
    names = [configuration[f"delta.rowTracking.materialized{what}ColumnName"] for what in ("RowId", "RowCommitVersion")]
    column = snapshot.schema.field("id").physical_name
    files = snapshot.files()
    vectors = read_vectors(snapshot, files["deletion_vector"].combine_chunks())
    found = []
    for file, vector in zip(files.to_pylist(), vectors, strict=True):
        rows = pq.ParquetFile(Path(path, unquote(file["path"]))).read()
        held = [rows[name].to_pylist() if name in rows.column_names else [None] * rows.num_rows for name in names]
        deleted = set() if vector is None else set(vector.to_list())
        for number, (key, row_id, version) in enumerate(zip(rows[column].to_pylist(), *held, strict=True)):
            if number not in deleted:
                known = file["base_row_id"] + number if row_id is None else row_id
                found.append((key, known, file["default_row_commit_version"] if version is None else version))
    return found


def tracked(path: str) -> dict[Any, tuple[int, int]]:
    """The row id and the version of each row by its column `id`."""
    return {key: (row_id, version) for key, row_id, version in tracked_rows(path)}
