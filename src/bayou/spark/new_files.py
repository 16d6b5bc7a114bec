# SPDX-License-Identifier: Apache-2.0
"""The files of one write: written by Spark, then described as `add` actions from their footers."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from bayou.errors import SessionError
from bayou.log.footers import facts_of
from bayou.protocol import paths
from bayou.protocol.actions import AddFile
from bayou.protocol.stats import indexed_leaves
from bayou.spark.footers import read_footers
from bayou.spark.jvm.bridge import Jvm
from bayou.spark.jvm.file_writer import WriteJob, write_files
from bayou.spark.jvm.hadoop import HadoopError, HadoopFiles, host_of
from bayou.spark.partitioning import folder_text, values_of
from bayou.spark.types import contains_void, quoted
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow.parquet as pq
    from pyspark.sql import DataFrame

    from bayou.protocol.schema import StructField
    from bayou.spark.application import Application
    from bayou.spark.jvm.file_writer import WrittenFile
    from bayou.spark.write_target import WriteTarget
    from bayou.spark.writer import WriteRequest


@dataclass(frozen=True, slots=True)
class NewFiles:
    """Files that are written and not yet committed.

    Attributes:
        files: the actions that add them.
        num_rows: the rows in all of them.
        num_bytes: the size of all of them.
    """

    files: list[AddFile]
    num_rows: int
    num_bytes: int


def write_new_files(application: Application, frame: DataFrame, request: WriteRequest, target: WriteTarget) -> NewFiles:
    """Writes rows as new files of a table. Files without rows are deleted again.

    Args:
        application: the Spark application.
        frame: the rows; columns match the schema by name, whatever the case.
        request: with which options.
        target: the table.
    """
    root = qualify(request.path)
    projected = _projected(frame, target)
    written = write_files(
        application.jvm,
        projected,
        WriteJob(root.uri, target.partition_by, request.writer_options, request.storage_options),
    )
    leaves = indexed_leaves(target.schema, target.properties, target.partition_by)
    relatives = [_relative(file, root.uri) for file in written]
    files, empty, rows = [], [], 0
    for file, relative, footer in zip(written, relatives, _footers(application, request, relatives, written), strict=True):
        facts = facts_of(footer, leaves)
        if facts.num_records == 0:
            empty.append(relative)
            continue
        rows += facts.num_records
        values = values_of(relative.rpartition("/")[0], target.partition_by)
        files.append(
            AddFile(
                path=paths.encode(relative),
                partition_values=values,
                size=file.size,
                modification_time=file.modification_time,
                data_change=True,
                stats=facts.stats,
            )
        )
    _delete(request, empty)
    return NewFiles(files, rows, sum(file.size for file in files))


def _footers(
    application: Application, request: WriteRequest, relatives: Sequence[str], written: Sequence[WrittenFile]
) -> list[pq.FileMetaData]:
    places = [(f"{request.path}/{relative}", file.size) for relative, file in zip(relatives, written, strict=True)]
    footers = read_footers(application.jvm, places, request.storage_options)
    for footer in footers:
        if isinstance(footer, OSError):
            _delete(request, relatives)
            raise footer
    return footers


def _relative(file: WrittenFile, root_uri: str) -> str:
    """A file's path under the table's root, decoded. Hadoop adds the host where the root names none."""
    absolute, root = _without_host(unquote(file.uri)), _without_host(root_uri)
    return absolute[len(root) + 1 :]


def _without_host(uri: str) -> str:
    return "/" + uri[len(host_of(uri)) :].lstrip("/")


def _projected(frame: DataFrame, target: WriteTarget) -> DataFrame:
    """The rows with the table's columns in the table's order, partition values as the texts of their folders.

    Rows that have them so already are written as they are: another plan would take longer than writing one row.
    """
    kept = [column.name for column in target.schema.fields if not contains_void(column.type)]
    if kept == frame.columns and not target.partition_by:
        return frame
    partitioned = {name.lower() for name in target.partition_by}
    given = {name.lower(): name for name in frame.columns}
    expressions = []
    for column in target.schema.fields:
        name = given.get(column.name.lower())
        if name is None or contains_void(column.type):
            continue
        source = quoted(name)
        value = folder_text(source, _kind(column)) if column.name.lower() in partitioned else source
        expressions.append(f"{value} as {quoted(column.name)}")
    return frame.selectExpr(*expressions)


def _kind(column: StructField) -> str:
    return column.type if isinstance(column.type, str) else "string"


def delete_files(request: WriteRequest, files: Iterable[AddFile]) -> None:
    """Deletes files whose commit is certainly not in the log; what cannot be deleted stays, and VACUUM finds it."""
    _delete(request, [paths.decode(file.path) for file in files])


def _delete(request: WriteRequest, relatives: Sequence[str]) -> None:
    root = qualify(request.path)
    if root.local is None:
        jvm = Jvm.running()
        if relatives and jvm is not None:
            with contextlib.suppress(HadoopError, SessionError):
                HadoopFiles.of(jvm, root.uri, request.storage_options).delete_all([f"{root.uri}/{each}" for each in relatives])
        return
    for relative in relatives:
        with contextlib.suppress(OSError):
            os.remove(os.path.join(root.local, relative))  # noqa: PTH107, PTH118  (the parts are no paths of their own)
