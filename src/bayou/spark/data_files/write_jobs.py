# SPDX-License-Identifier: Apache-2.0
"""Run the Spark job that writes rows into the folder of a table, and convert its failures.

The error of a failed job shows the file system's message, or the partition value that has no string. Spark's own message also
contains the traces of the task and of the driver.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from bayou.errors import DeltaError, failed
from bayou.protocol import properties
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.backend import ENCRYPTION_FACTORY, SHREDS_VARIANTS, WriteJob
from bayou.spark.data_files.partitioning import refused_value
from bayou.spark.scan.footers import read_footers
from bayou.spark.session.settings import bins_of
from bayou.storage import qualify, without_host

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow.parquet as pq
    from pyspark.sql import DataFrame

    from bayou.spark.backend import Backend, FileTasks, WriteFailure, WrittenFile, WrittenRows
    from bayou.spark.data_files.request import WriteOptions, WriteRequest
    from bayou.spark.data_files.target import WriteTarget
    from bayou.spark.session.application import Application

_MORE_THAN_TWO_FILES: Final = 3
"""The maximum of open files. Spark's writer sorts the remaining rows once it has as many open."""
_MOST_CHARACTERS: Final = 300
"""How many characters of the file system's message an error shows."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The folders of a table that a job writes into.

    Attributes:
        folder: the folder under the table's root; empty for the root itself.
        split_by: a boolean column before the partition columns, so that each of its values has a folder; None without one.
        tasks: the job's tasks, if the rows come from files that are rewritten together; each task writes one file.
        is_arranged: whether to write one file per partition of the rows.
    """

    folder: str = ""
    split_by: str | None = None
    tasks: FileTasks | None = None
    is_arranged: bool = False

    @property
    def is_of_tasks(self) -> bool:
        """Whether each task writes one file, regardless of its number of rows."""
        return self.is_arranged or self.tasks is not None


def write_into(
    backend: Backend,
    frame: DataFrame,
    request: WriteRequest,
    target: WriteTarget,
    placement: Placement,
    observations: Sequence[str] = (),
) -> WrittenRows:
    """Run the job.

    Args:
        frame: the rows as the files store them (see `Projection`).
        observations: the names of the observations whose values to return.

    Raises:
        UnsupportedFeatureError: Spark would encrypt the files.
        StorageError: a file or a folder cannot be created.
        SchemaMismatchError: a partition value cannot be serialised.
    """
    by, options, hadoop = placement.split_by, _writer_options(request.options, target), request.options.storage_options
    _check_not_encrypted(backend, frame, target, options)
    frame, partitions = _gathered(backend, frame, request.options, target), target.physical_partitions
    stream = request.context.stream
    if stream is not None and stream.batch is not None:
        frame = stream.batch.to_run(frame)
    if target.materializes_partitions and backend.is_native:
        frame = _with_folder_names(backend, frame, target)
    elif target.materializes_partitions:
        # A server does not distinguish columns of the same name. Folders that begin with an underscore are hidden.
        visible = {name: name.removeprefix("__") for name in target.folder_columns}
        frame = frame.toDF(*(visible.get(name, name) for name in backend.names_of(frame)))
        partitions = tuple(visible.values())
    uri = qualify(request.options.path).uri
    root = f"{uri}/{placement.folder}" if placement.folder else uri
    job = WriteJob(root, partitions, options, hadoop, observations)
    read: Sequence[Sequence[str]] = ()
    if placement.tasks is not None:
        frame, read = backend.in_file_tasks(frame, placement.tasks)
    if placement.is_of_tasks:
        # All rows of a task belong to one partition, so that no sort is needed.
        job = WriteJob(root, partitions, {**options, "maxRecordsPerFile": "0"}, hadoop, observations, _MORE_THAN_TWO_FILES)
    if by is not None:
        # Do not sort the rows for this column alone.
        open_files = None if partitions else _MORE_THAN_TWO_FILES
        job = WriteJob(root, (by, *partitions), options, hadoop, observations, open_files)
    with _naming_failure(backend, target.log.table_uri, target.version):
        return replace(backend.write_files(frame, job), read_by_tasks=read)


@contextlib.contextmanager
def _naming_failure(backend: Backend, table: str, version: int | None) -> Iterator[None]:
    """Convert the failures of a job: StorageError for a file or folder, SchemaMismatchError for a partition value.

    Args:
        version: the table's version before the write; None if the write creates the table.
    """
    try:
        yield
    except DeltaError:
        raise
    except backend.failures as error:
        found = _named(backend.write_failure(error), table, version)
        if found is None:
            raise
        raise found from error


def _named(failure: WriteFailure, table: str, version: int | None) -> DeltaError | None:
    for text in failure.messages:
        refused = refused_value(text, table=table, version=version)
        if refused is not None:
            return refused
    reason = failure.of_files
    if reason is None:
        return None
    return failed("files-not-created", table=table, version=version, shown=_short(reason), path=table, reason=reason)


def _short(text: str) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}..."


def _check_not_encrypted(backend: Backend, frame: DataFrame, target: WriteTarget, options: Mapping[str, str]) -> None:
    """Raise UnsupportedFeatureError if files would be encrypted: then pyarrow cannot read the statistics in their footers."""
    if backend.writes_encrypted(frame.sparkSession, options):
        raise failed(
            "DELTA_OPERATION_NOT_ALLOWED/encrypted-files", at=target, setting=ENCRYPTION_FACTORY, features=("Parquet encryption",)
        )


def _with_folder_names(backend: Backend, frame: DataFrame, target: WriteTarget) -> DataFrame:
    """Return the rows with the names of folders as second columns of the partition columns' names, after all others.

    Spark's writer distinguishes the two, and uses the last column of a name for the folders.
    """
    names = dict(zip(target.folder_columns, target.physical_partitions, strict=True))
    return frame.toDF(*(names.get(name, name) for name in backend.names_of(frame)))


def is_gathered(options: WriteOptions, target: WriteTarget) -> bool:
    """Whether rows are coalesced into files of a good size, because of an option or of a table property."""
    if options.optimize_write is not None:
        return options.optimize_write
    return bool(properties.OPTIMIZE_WRITE.read(target.properties) or properties.AUTO_OPTIMIZE.read(target.properties))


def _gathered(backend: Backend, frame: DataFrame, options: WriteOptions, target: WriteTarget) -> DataFrame:
    """Return the rows in partitions of a good size for files, if requested."""
    if not is_gathered(options, target):
        return frame
    size, partitions = bins_of(backend.settings(frame.sparkSession), options.path)
    return backend.rebalanced(frame, [quoted_name(name) for name in target.folder_columns], size, partitions)


def _writer_options(options: WriteOptions, target: WriteTarget) -> Mapping[str, str]:
    """Return the options of Spark's Parquet writer: the write's options, then those from table properties."""
    stated = {name.lower() for name in options.writer_options}
    writer_options = {name: value for name, value in options.writer_options.items() if name.lower() != SHREDS_VARIANTS.lower()}
    codec = properties.PARQUET_COMPRESSION_CODEC.read(target.properties)
    if codec and not stated & {"compression", "parquet.compression"}:
        writer_options["compression"] = codec.lower()
    if properties.PARQUET_FORMAT_VERSION.read(target.properties).startswith("2") and "parquet.writer.version" not in stated:
        writer_options["parquet.writer.version"] = "v2"
    writer_options[SHREDS_VARIANTS] = str(properties.ENABLE_VARIANT_SHREDDING.read(target.properties)).lower()
    return writer_options


def footers_of(
    application: Application, options: WriteOptions, written: Sequence[tuple[WrittenFile, str]]
) -> list[pq.FileMetaData]:
    """Return the footers of written files, each given with its path relative to the table's root. Raise an OSError as it is."""
    places = [(f"{options.path}/{relative}", file.size) for file, relative in written]
    footers = read_footers(application.backend, places, options.storage_options)
    for footer in footers:
        if isinstance(footer, OSError):
            raise footer
    return footers


def relative_path(file: WrittenFile, root_uri: str) -> str:
    """Return a file's decoded path relative to the table's root. Hadoop adds a host if the root has none."""
    absolute, root = without_host(unquote(file.uri)), without_host(root_uri)
    return absolute[len(root) + 1 :]
