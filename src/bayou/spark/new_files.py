# SPDX-License-Identifier: Apache-2.0
"""The files of one write: written by Spark, then described as `add` actions from their footers."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from bayou.errors import StorageError
from bayou.log.footers import read_facts
from bayou.protocol import paths
from bayou.protocol.actions import AddFile
from bayou.protocol.stats import indexed_leaves
from bayou.spark.jvm.file_writer import WriteJob, write_files
from bayou.spark.partitioning import folder_text, values_of
from bayou.spark.types import contains_void, quoted
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    if root.local is None:
        raise StorageError(f"Writing to {root.scheme}: is not supported yet.", table=request.path)
    projected = _projected(frame, target)
    written = write_files(
        application.jvm,
        projected,
        WriteJob(root.uri, target.partition_by, request.writer_options, request.storage_options),
    )
    leaves = indexed_leaves(target.schema, target.properties, target.partition_by)
    files, rows = [], 0
    for file in written:
        relative = _relative(file, root.uri)
        local = os.path.join(root.local, relative)  # noqa: PTH118  (the parts are no paths of their own)
        facts = read_facts(local, leaves)
        if facts.num_records == 0:
            os.remove(local)  # noqa: PTH107
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
    return NewFiles(files, rows, sum(file.size for file in files))


def _relative(file: WrittenFile, root_uri: str) -> str:
    """A file's path under the table's root, decoded."""
    absolute = "/" + unquote(file.uri).partition(":")[2].lstrip("/")
    root = "/" + root_uri.partition(":")[2].lstrip("/")
    return absolute[len(root) + 1 :]


def _projected(frame: DataFrame, target: WriteTarget) -> DataFrame:
    """The rows with the table's columns in the table's order, partition values as the texts of their folders."""
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


def delete_files(table_uri: str, files: Iterable[AddFile]) -> None:
    """Deletes files whose commit is certainly not in the log."""
    root = qualify(table_uri).local
    for file in files:
        if root is not None:
            with contextlib.suppress(OSError):
                os.remove(os.path.join(root, paths.decode(file.path)))  # noqa: PTH107, PTH118
