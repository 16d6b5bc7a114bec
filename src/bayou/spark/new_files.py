# SPDX-License-Identifier: Apache-2.0
"""The files of one write: written by Spark, then described as `add` actions from their footers."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from bayou.errors import SessionError
from bayou.log.footers import facts_of
from bayou.protocol import paths, properties
from bayou.protocol.actions import AddCDCFile, AddFile, Metadata
from bayou.protocol.file_names import CHANGES_FOLDER
from bayou.protocol.file_prefixes import data_prefix
from bayou.protocol.identity_columns import identity_columns, raised_high_water_mark, with_high_water_marks
from bayou.protocol.schema import schema_to_json
from bayou.protocol.sql_text import quoted_name
from bayou.protocol.stats import indexed_leaves
from bayou.spark.change_rows import IS_CHANGE
from bayou.spark.committing import taking_back
from bayou.spark.footers import read_footers
from bayou.spark.jvm.bridge import Jvm
from bayou.spark.jvm.file_writer import WriteJob, write_files
from bayou.spark.jvm.hadoop import HadoopError, HadoopFiles
from bayou.spark.jvm.relation import rebalanced
from bayou.spark.partitioning import values_of
from bayou.spark.placed_files import SplitFolders
from bayou.spark.progress import phase
from bayou.spark.projection import NOTHING_BESIDE, Projection
from bayou.spark.proven_rules import check_observed, check_rules
from bayou.spark.row_checks import OBSERVATION
from bayou.storage import host_of, qualify

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow.parquet as pq
    from pyspark.sql import DataFrame

    from bayou.spark.application import Application
    from bayou.spark.change_rows import BesideColumns
    from bayou.spark.dml.replaced_rows import ReplacedRows
    from bayou.spark.jvm.file_writer import WrittenFile, WrittenRows
    from bayou.spark.projection import ProjectedRows
    from bayou.spark.write_request import WriteRequest
    from bayou.spark.write_target import HeadAction, WriteTarget


@dataclass(frozen=True, slots=True)
class NewFiles:
    """Files that are written and not yet committed.

    Attributes:
        files: the actions that add them.
        num_rows: the rows in all of them.
        num_bytes: the size of all of them.
        head: the actions beside these, where they are others than the target's because of what was written.
        changes: the actions that add the files of change rows; their rows and their size are not counted above.
        observed: what the observations of the rows saw that were asked for, by their names.
    """

    files: list[AddFile]
    num_rows: int
    num_bytes: int
    head: tuple[HeadAction, ...] = ()
    changes: Sequence[AddCDCFile] = ()
    observed: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def actions(self) -> list[AddFile | AddCDCFile]:
        """The actions of all files that were written."""
        return [*self.files, *self.changes]

    @property
    def relative_paths(self) -> list[str]:
        """The paths of all files that were written, under the table's root, decoded."""
        return [paths.decode(file.path) for file in self.actions]


NO_FILES: Final = NewFiles([], 0, 0)
"""What was written where nothing was."""
_SHREDS_VARIANTS: Final = "spark.sql.variant.inferShreddingSchema"
"""On by itself from Spark 4.2 on; readers of a table without the feature `variantShredding` need not know such files."""
_MORE_THAN_TWO_FILES: Final = 3
"""Spark's writer sorts what is left of the rows as soon as it has as many files open as it may have."""


def write_new_files(
    application: Application,
    frame: DataFrame,
    request: WriteRequest,
    target: WriteTarget,
    replaced: ReplacedRows | None = None,
    beside: BesideColumns = NOTHING_BESIDE,
    *,
    observations: Sequence[str] = (),
) -> NewFiles:
    """Writes rows as new files of a table. Files without rows are deleted again; where a row breaks a rule, all are.

    Args:
        application: the Spark application.
        frame: the rows; columns match the schema by name, whatever the case.
        request: with which options.
        target: the table.
        replaced: what rows the new ones replace, where a condition tells.
        beside: the columns of the rows that are none of the table's; none where rows are replaced.
        observations: the names of the observations of the rows that the caller has made, and wants to see.

    Raises:
        ConstraintViolationError: rows break a rule of the table.
    """
    phase("writing")
    root = qualify(request.path)
    rows = Projection(application.jvm, frame, target, replaced, beside).rows()
    split = SplitFolders(root, request.storage_options, data_prefix(target.properties)) if rows.has_changes else None
    written = _run(application.jvm, rows, request, target, split, observations)
    of_rules = written.observed.get(OBSERVATION, ())
    relatives = [_relative(file, root.uri) for file in written.files]
    places: list[str] = []

    def take_back() -> None:
        _delete(request, list(dict.fromkeys([*relatives, *places])))
        if split is not None:
            split.clear()

    with taking_back(take_back):
        if not rows.proven.rules:  # before anything is placed
            check_observed(target, rows, of_rules)
        places += relatives if split is None else split.place(relatives)
        data: list[tuple[WrittenFile, str]] = []
        changes: list[tuple[WrittenFile, str]] = []
        for file, place in zip(written.files, places, strict=True):
            (changes if place.startswith(f"{CHANGES_FOLDER}/") else data).append((file, place))
        footers = _footers(application, request, data)
        found_files = _described(request, target, rows, [(*each, footer) for each, footer in zip(data, footers, strict=True)])
        kept = 0 if replaced is None else replaced.num_kept
        _refuse_unseen(target, rows, of_rules, found_files.num_rows - kept)
        check_rules(frame.sparkSession, request, target, rows, found_files.files, of_rules)
        changed = [_change_file(target, *each) for each in changes]
        return replace(found_files, changes=changed, observed=written.observed)


def _refuse_unseen(target: WriteTarget, rows: ProjectedRows, observed: Sequence[Any], count: int) -> None:
    """Refuses rows that were to be observed and were not. Spark leaves an observation out where it saw that there are no rows."""
    if rows.observed and not observed and count:
        raise SessionError(
            f"{count} rows were written, and Spark does not say whether they satisfy the table's rules.",
            table=target.log.table_uri,
            version=target.version,
            next_step="run the operation again with spark.sql.adaptive.enabled=false.",
        )


def _run(
    jvm: Jvm,
    rows: ProjectedRows,
    request: WriteRequest,
    target: WriteTarget,
    split: SplitFolders | None,
    observations: Sequence[str],
) -> WrittenRows:
    """The job that writes the files: those of data and of change rows in folders of their own, where there are both."""
    frame, partitions = _gathered(jvm, rows.frame, request, target), target.physical_partitions
    if request.stream is not None:
        frame = request.stream.batch.to_run(frame)
    if target.materializes_partitions:
        frame = _with_folder_names(frame, target)
    wanted = (*observations, OBSERVATION) if rows.observed else observations
    job = WriteJob(qualify(request.path).uri, partitions, _writer_options(request, target), request.storage_options, wanted)
    if split is None:
        prefix = data_prefix(target.properties)
        return write_files(jvm, frame, replace(job, root=f"{job.root}/{prefix}") if prefix else job)
    # Rows that are not sorted for the table's partitions are not sorted for this one either.
    job = replace(job, partition_by=(split.column, *partitions), open_files=None if partitions else _MORE_THAN_TWO_FILES)
    return write_files(jvm, frame.withColumnRenamed(IS_CHANGE, split.column), job)


def _with_folder_names(frame: DataFrame, target: WriteTarget) -> DataFrame:
    """The rows with the names of folders as a second column of the partition column's name, behind all others.

    Spark's writer tells the two apart, and takes the last column of a name for the folders.
    """
    names = dict(zip(target.folder_columns, target.physical_partitions, strict=True))
    return frame.toDF(*(names.get(name, name) for name in frame.columns))


def _change_file(target: WriteTarget, file: WrittenFile, relative: str) -> AddCDCFile:
    values = values_of(relative.rpartition("/")[0], target.physical_partitions)
    return AddCDCFile(paths.encode(relative), values, file.size)


def _described(
    request: WriteRequest, target: WriteTarget, rows: ProjectedRows, written: Sequence[tuple[WrittenFile, str, pq.FileMetaData]]
) -> NewFiles:
    """The actions of files, by their footers; files without rows are deleted."""
    leaves = list(indexed_leaves(target.schema, _statistics_properties(request, target), target.partition_by))
    identities = [column for column in identity_columns(target.schema) if column.name in rows.generated_identities]
    files, empty, count = [], [], 0
    marks: dict[str, list[int | None]] = {column.physical_name: [] for column in identities}
    for file, relative, footer in written:
        facts = facts_of(footer, leaves, tight_bounds=target.takes_vectors or None)
        if facts.num_records == 0:
            empty.append(relative)
            continue
        count += facts.num_records
        for column in identities:
            marks[column.physical_name].append(_furthest(footer, column.physical_name, falling=column.step < 0))
        files.append(
            AddFile(
                path=paths.encode(relative),
                partition_values=values_of(relative.rpartition("/")[0], target.physical_partitions),
                size=file.size,
                modification_time=file.modification_time,
                data_change=request.data_change,
                stats=facts.stats,
            )
        )
    _delete(request, empty)
    raised = {c.physical_name: mark for c in identities if (mark := raised_high_water_mark(c, marks[c.physical_name])) is not None}
    return NewFiles(files, count, sum(file.size for file in files), _head(target, raised))


def _head(target: WriteTarget, marks: Mapping[str, int]) -> tuple[HeadAction, ...]:
    """The table's actions with the numbers that are used up now; nothing where none are."""
    if not marks:
        return ()
    metadata = replace(target.metadata, schema_string=schema_to_json(with_high_water_marks(target.schema, marks)))
    return (*(each for each in target.head if not isinstance(each, Metadata)), metadata)


def is_gathered(request: WriteRequest, target: WriteTarget) -> bool:
    """Whether rows are put together into files of a good size before they are written: asked for, or a property of the table."""
    if request.optimize_write is not None:
        return request.optimize_write
    return bool(properties.OPTIMIZE_WRITE.read(target.properties) or properties.AUTO_OPTIMIZE.read(target.properties))


def _gathered(jvm: Jvm, frame: DataFrame, request: WriteRequest, target: WriteTarget) -> DataFrame:
    """The rows in partitions of a good size for files, where that is asked for."""
    if not is_gathered(request, target):
        return frame
    return rebalanced(jvm, frame, [quoted_name(name) for name in target.folder_columns])


def _writer_options(request: WriteRequest, target: WriteTarget) -> Mapping[str, str]:
    """The options of Spark's Parquet writer: the writer's own, then what the table's properties say."""
    given = {name.lower() for name in request.writer_options}
    found = dict(request.writer_options)
    codec = properties.PARQUET_COMPRESSION_CODEC.read(target.properties)
    if codec and not given & {"compression", "parquet.compression"}:
        found["compression"] = codec.lower()
    if properties.PARQUET_FORMAT_VERSION.read(target.properties).startswith("2") and "parquet.writer.version" not in given:
        found["parquet.writer.version"] = "v2"
    found[_SHREDS_VARIANTS] = str(properties.ENABLE_VARIANT_SHREDDING.read(target.properties)).lower()
    return found


def _statistics_properties(request: WriteRequest, target: WriteTarget) -> Mapping[str, str]:
    """The table's properties, with what the session says of statistics where they say nothing."""
    prefix = request.string_prefix
    return target.properties if prefix is None else {properties.STRING_PREFIX_LENGTH.key: str(prefix), **target.properties}


def _furthest(footer: pq.FileMetaData, column: str, *, falling: bool) -> int | None:
    """The greatest number of a column in a file, or the least."""
    found = []
    for group in range(footer.num_row_groups):
        chunks = (footer.row_group(group).column(place) for place in range(footer.num_columns))
        found += [c.statistics.min if falling else c.statistics.max for c in chunks if c.path_in_schema == column and c.statistics]
    return (min(found) if falling else max(found)) if found else None


def _footers(application: Application, request: WriteRequest, written: Sequence[tuple[WrittenFile, str]]) -> list[pq.FileMetaData]:
    places = [(f"{request.path}/{relative}", file.size) for file, relative in written]
    footers = read_footers(application.jvm, places, request.storage_options)
    for footer in footers:
        if isinstance(footer, OSError):
            raise footer
    return footers


def _relative(file: WrittenFile, root_uri: str) -> str:
    """A file's path under the table's root, decoded. Hadoop adds the host where the root names none."""
    absolute, root = _without_host(unquote(file.uri)), _without_host(root_uri)
    return absolute[len(root) + 1 :]


def _without_host(uri: str) -> str:
    return "/" + uri[len(host_of(uri)) :].lstrip("/")


def delete_files(request: WriteRequest, files: Iterable[AddFile | AddCDCFile]) -> None:
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
