# SPDX-License-Identifier: Apache-2.0
"""The job that writes rows into the folder of a table, the paths of what it wrote, and its failures.

A job that fails raises the file system's error, or that of a partition value without a text, as one sentence. Spark wraps what a
task throws, and its text holds the traces of the task and of the driver.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from bayou.errors import DeltaError, StorageError, UnsupportedFeatureError
from bayou.protocol import properties
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.data_files.partitioning import refused_value
from bayou.spark.jvm.catalyst.file_writer import WriteJob, write_files
from bayou.spark.jvm.catalyst.frames import names_of
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.exceptions import causes, is_failed_write, message_of, shown, thrown_by
from bayou.spark.jvm.core.pinned_settings import SHREDS_VARIANTS
from bayou.spark.jvm.core.session import java_session, settings_of
from bayou.spark.jvm.relations.encryption import FACTORY, writes_encrypted
from bayou.spark.jvm.relations.file_tasks import in_file_tasks
from bayou.spark.jvm.relations.relation import rebalanced
from bayou.spark.scan.footers import read_footers
from bayou.spark.session.settings import bins_of
from bayou.storage import qualify, without_host

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow.parquet as pq
    from pyspark.sql import DataFrame

    from bayou.spark.data_files.request import WriteRequest
    from bayou.spark.data_files.target import WriteTarget
    from bayou.spark.jvm.catalyst.file_writer import WrittenFile, WrittenRows
    from bayou.spark.jvm.relations.file_tasks import FileTasks
    from bayou.spark.session.application import Application

_MORE_THAN_TWO_FILES: Final = 3
"""Spark's writer sorts what is left of the rows as soon as it has as many files open as it may have."""
_MOST_CHARACTERS: Final = 300
"""How much of the file system's own words an error shows."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Into which folders of a table a job writes.

    Attributes:
        folder: the folder under the table's root; empty for the root itself.
        split_by: a column of booleans that leads the partition columns, so that each of its values has a folder; None for none.
        tasks: the job's tasks, where the rows are those of files that are written together; each task writes one file.
        is_arranged: whether each partition of the rows is to be one file.
    """

    folder: str = ""
    split_by: str | None = None
    tasks: FileTasks | None = None
    is_arranged: bool = False

    @property
    def is_of_tasks(self) -> bool:
        """Whether each task writes one file, of one partition, however many rows it has."""
        return self.is_arranged or self.tasks is not None


def write_into(
    jvm: Jvm, frame: DataFrame, request: WriteRequest, target: WriteTarget, placement: Placement, observations: Sequence[str] = ()
) -> WrittenRows:
    """Runs the job.

    Args:
        frame: the rows as the files hold them (see `Projection`).
        observations: the names of the observations of the rows whose values are wanted.

    Raises:
        UnsupportedFeatureError: Spark would encrypt the files.
        StorageError: a file or a folder cannot be created.
        SchemaMismatchError: a partition value has no text.
    """
    by, options, hadoop = placement.split_by, _writer_options(request, target), request.storage_options
    _refuse_encryption(frame, target, options)
    frame, partitions = _gathered(jvm, frame, request, target), target.physical_partitions
    if request.stream is not None:
        frame = request.stream.batch.to_run(frame)
    if target.materializes_partitions:
        frame = _with_folder_names(frame, target)
    uri = qualify(request.path).uri
    root = f"{uri}/{placement.folder}" if placement.folder else uri
    job = WriteJob(root, partitions, options, hadoop, observations)
    read: Sequence[Sequence[str]] = ()
    if placement.tasks is not None:
        frame, read = in_file_tasks(jvm, frame, placement.tasks)
    if placement.is_of_tasks:
        # All rows of a task are of one partition: nothing is to be sorted.
        job = WriteJob(root, partitions, {**options, "maxRecordsPerFile": "0"}, hadoop, observations, _MORE_THAN_TWO_FILES)
    if by is not None:
        # Rows that are not sorted for the table's partitions are not sorted for this one either.
        open_files = None if partitions else _MORE_THAN_TWO_FILES
        job = WriteJob(root, (by, *partitions), options, hadoop, observations, open_files)
    with _naming_failure(target.log.table_uri, target.version):
        return replace(write_files(jvm, frame, job), read_by_tasks=read)


@contextlib.contextmanager
def _naming_failure(table: str, version: int | None) -> Iterator[None]:
    """Within it, a job that cannot write its files raises an error of bayou's.

    Args:
        version: its version before the write; None for a table that the write makes.

    Raises:
        StorageError: a file or a folder cannot be created or written.
        SchemaMismatchError: a partition value has no text.
    """
    try:
        yield
    except DeltaError:
        raise
    except (PySparkException, Py4JJavaError) as error:
        found = _named(error, table, version)
        if found is None:
            raise
        raise found from error


def _named(error: PySparkException | Py4JJavaError, table: str, version: int | None) -> DeltaError | None:
    chain = list(causes(thrown_by(error)))
    for text in (str(error), *map(message_of, chain)):
        refused = refused_value(text, table=table, version=version)
        if refused is not None:
            return refused
    for cause in reversed(chain):
        if is_failed_write(cause):
            reason = shown(cause)
            return StorageError(
                f"The files of the write cannot be created under {table}: {_short(reason)}",
                table=table,
                version=version,
                next_step="check that the folder is there and may be written, and that no partition value is longer than the name "
                "of a folder may be.",
                path=table,
                reason=reason,
            )
    return None


def _short(text: str) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}..."


def _refuse_encryption(frame: DataFrame, target: WriteTarget, options: Mapping[str, str]) -> None:
    """Refuses to write files whose footers, of which the log's statistics are made, only Parquet in the JVM can read."""
    if writes_encrypted(java_session(frame.sparkSession), options):
        raise UnsupportedFeatureError(
            f"The session encrypts Parquet files ({FACTORY}), and bayou cannot read their footers to describe them in the log.",
            table=target.log.table_uri,
            version=target.version,
            error_class="DELTA_OPERATION_NOT_ALLOWED",
            features=("Parquet encryption",),
            next_step="write without parquet.encryption.footer.key, parquet.encryption.column.keys and "
            "parquet.encryption.uniform.key, into a store that encrypts by itself.",
        )


def _with_folder_names(frame: DataFrame, target: WriteTarget) -> DataFrame:
    """The rows with the names of folders as a second column of the partition column's name, behind all others.

    Spark's writer tells the two apart, and takes the last column of a name for the folders.
    """
    names = dict(zip(target.folder_columns, target.physical_partitions, strict=True))
    return frame.toDF(*(names.get(name, name) for name in names_of(frame)))


def is_gathered(request: WriteRequest, target: WriteTarget) -> bool:
    """Whether rows are put together into files of a good size before they are written: asked for, or a property of the table."""
    if request.optimize_write is not None:
        return request.optimize_write
    return bool(properties.OPTIMIZE_WRITE.read(target.properties) or properties.AUTO_OPTIMIZE.read(target.properties))


def _gathered(jvm: Jvm, frame: DataFrame, request: WriteRequest, target: WriteTarget) -> DataFrame:
    """The rows in partitions of a good size for files, where that is asked for."""
    if not is_gathered(request, target):
        return frame
    size, partitions = bins_of(settings_of(frame.sparkSession), request.path)
    return rebalanced(jvm, frame, [quoted_name(name) for name in target.folder_columns], size, partitions)


def _writer_options(request: WriteRequest, target: WriteTarget) -> Mapping[str, str]:
    """The options of Spark's Parquet writer: the writer's own, then what the table's properties say."""
    given = {name.lower() for name in request.writer_options}
    found = {name: value for name, value in request.writer_options.items() if name.lower() != SHREDS_VARIANTS.lower()}
    codec = properties.PARQUET_COMPRESSION_CODEC.read(target.properties)
    if codec and not given & {"compression", "parquet.compression"}:
        found["compression"] = codec.lower()
    if properties.PARQUET_FORMAT_VERSION.read(target.properties).startswith("2") and "parquet.writer.version" not in given:
        found["parquet.writer.version"] = "v2"
    found[SHREDS_VARIANTS] = str(properties.ENABLE_VARIANT_SHREDDING.read(target.properties)).lower()
    return found


def footers_of(
    application: Application, request: WriteRequest, written: Sequence[tuple[WrittenFile, str]]
) -> list[pq.FileMetaData]:
    """The footers of files that were written, each given with its path under the table's root."""
    places = [(f"{request.path}/{relative}", file.size) for file, relative in written]
    footers = read_footers(application.jvm, places, request.storage_options)
    for footer in footers:
        if isinstance(footer, OSError):
            raise footer
    return footers


def relative_path(file: WrittenFile, root_uri: str) -> str:
    """A file's path under the table's root, decoded. Hadoop adds the host where the root names none."""
    absolute, root = without_host(unquote(file.uri)), without_host(root_uri)
    return absolute[len(root) + 1 :]
