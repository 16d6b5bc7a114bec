# SPDX-License-Identifier: Apache-2.0
"""The files of one write: written by Spark, then described as `add` actions from their footers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import SessionError
from bayou.log.staging.footer_statistics import facts_of
from bayou.log.staging.footer_types import differences
from bayou.protocol import properties
from bayou.protocol.actions import paths
from bayou.protocol.actions.actions import AddCDCFile, AddFile, Metadata
from bayou.protocol.actions.file_names import CHANGES_FOLDER, data_prefix
from bayou.protocol.columns.identity_columns import identity_columns, raised_high_water_mark, with_high_water_marks
from bayou.protocol.stats.file_stats import indexed_leaves
from bayou.protocol.types.schema import schema_to_json
from bayou.spark.data_files.carried_rows import NOTHING_CARRIED, CarriedRows
from bayou.spark.data_files.constraint_enforcement import check_observed, check_rules
from bayou.spark.data_files.constraint_evaluation import OBSERVATION
from bayou.spark.data_files.partitioning import values_of
from bayou.spark.data_files.placed_files import SplitFolders
from bayou.spark.data_files.projection import NOTHING_BESIDE, Projection
from bayou.spark.data_files.write_jobs import Placement, footers_of, relative_path, write_into
from bayou.spark.data_files.written_files import NewFiles
from bayou.spark.read.change_rows import IS_CHANGE
from bayou.spark.session.progress import phase
from bayou.spark.types.types import stored_fields
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow.parquet as pq
    from pyspark.sql import DataFrame

    from bayou.spark.data_files.projection import ProjectedRows
    from bayou.spark.data_files.request import WriteRequest
    from bayou.spark.data_files.target import HeadAction, WriteTarget
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.jvm.catalyst.file_writer import WrittenFile
    from bayou.spark.jvm.relations.file_tasks import FileTasks
    from bayou.spark.read.change_rows import BesideColumns
    from bayou.spark.session.application import Application

_SHOWN: Final = 5
"""How many columns an error names."""


def write_new_files(
    application: Application,
    frame: DataFrame,
    request: WriteRequest,
    target: WriteTarget,
    uncommitted: UncommittedFiles,
    *,
    carried: CarriedRows = NOTHING_CARRIED,
    beside: BesideColumns = NOTHING_BESIDE,
    observations: Sequence[str] = (),
    tasks: FileTasks | None = None,
    is_arranged: bool = False,
) -> NewFiles:
    """Write rows as new files of a table. Files without rows are deleted again.

    Args:
        frame: the rows; columns match the schema by name, whatever the case.
        uncommitted: takes over the files.
        carried: the rows of replaced files that stay, where a condition says which rows the new ones replace.
        beside: the columns of the rows that are none of the table's; none where rows are replaced.
        observations: the names of the observations of the rows that the caller has made, and wants to see.
        tasks: the job's tasks, where the rows are those of files that are written together.
        is_arranged: whether each partition of the rows is to be one file.

    Raises:
        ConstraintViolationError: rows break a rule of the table.
    """
    phase("writing")
    root = qualify(request.path)
    rows = Projection(application.jvm, frame, target, carried, beside).rows()
    prefix = data_prefix(target.properties)
    split = SplitFolders(root, request.storage_options, prefix) if rows.has_changes else None
    to_write, placement = rows.frame, Placement(prefix, tasks=tasks, is_arranged=is_arranged)
    if split is not None:
        uncommitted.add_folders(split)
        to_write, placement = to_write.withColumnRenamed(IS_CHANGE, split.column), Placement(split_by=split.column)
    wanted = (*carried.observations, *observations, *([OBSERVATION] if rows.observed else []))
    written = write_into(application.jvm, to_write, request, target, placement, wanted)
    of_rules = written.observed.get(OBSERVATION, ())
    relatives = [relative_path(file, root.uri) for file in written.files]
    uncommitted.add(relatives)
    if not rows.proven.rules:  # before anything is placed
        check_observed(target, rows, of_rules)
    places = relatives if split is None else split.place(relatives)
    uncommitted.add(places)
    placed = list(zip(written.files, places, strict=True))
    changes = [each for each in placed if _holds_changes(each[1])]
    data = [each for each in placed if not _holds_changes(each[1])]
    footers = footers_of(application, request, data)
    _check_columns(target, [place for _, place in data], footers)
    with_footers = [(*each, footer) for each, footer in zip(data, footers, strict=True)]
    found_files = _described(request, target, uncommitted, rows, with_footers)
    _refuse_unseen(target, rows, of_rules, found_files.num_rows - carried.num_kept)
    check_rules(frame.sparkSession, request, target, rows, found_files.files, of_rules)
    told = [change_file(target, *each) for each in changes]
    return replace(found_files, changes=told, observed=written.observed, read_by_tasks=written.read_by_tasks)


def _holds_changes(path: str) -> bool:
    return path.startswith(f"{CHANGES_FOLDER}/")


def _check_columns(target: WriteTarget, places: Sequence[str], footers: Sequence[pq.FileMetaData]) -> None:
    """Refuses files whose columns are not the table's, before they are committed. The footers are read anyway.

    Raises:
        SessionError: a column is missing, is stored as another type, or has not the field id that the table gives it.
    """
    in_folders = set() if target.materializes_partitions else {name.lower() for name in target.partition_by}
    fields = [each for each in stored_fields(target.schema.fields) if each.name.lower() not in in_folders]
    seen: list[pq.FileMetaData] = []
    for place, footer in zip(places, footers, strict=True):
        if any(footer.schema.equals(other.schema) for other in seen):  # mostly there is one kind
            continue
        seen.append(footer)
        found = list(differences(footer, fields, with_ids=target.maps_columns))
        if found:
            shown = "; ".join(found[:_SHOWN]) + (f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
            raise SessionError(
                f"Spark wrote a file that does not hold the table's columns: {shown}. Nothing was committed.",
                table=target.log.table_uri,
                version=target.version,
                file=place,
                next_step="look for settings or extensions that change how Spark writes Parquet, and report this with their names.",
            )


def _refuse_unseen(target: WriteTarget, rows: ProjectedRows, observed: Sequence[Any], count: int) -> None:
    """Refuses rows that were to be observed and were not. Spark leaves an observation out where it saw that there are no rows."""
    if rows.observed and not observed and count:
        raise SessionError(
            f"{count} rows were written, and Spark does not say whether they satisfy the table's rules.",
            table=target.log.table_uri,
            version=target.version,
            next_step="run the operation again with spark.sql.adaptive.enabled=false.",
        )


def change_file(target: WriteTarget, file: WrittenFile, relative: str) -> AddCDCFile:
    """The action of a file of change rows, by its path under the table's root, decoded."""
    values = values_of(relative.rpartition("/")[0], target.physical_partitions)
    return AddCDCFile(paths.encode(relative), values, file.size)


def _described(
    request: WriteRequest,
    target: WriteTarget,
    uncommitted: UncommittedFiles,
    rows: ProjectedRows,
    written: Sequence[tuple[WrittenFile, str, pq.FileMetaData]],
) -> NewFiles:
    """Return the actions of files, by their footers; files without rows are deleted."""
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
    uncommitted.delete(empty)
    raised = {c.physical_name: mark for c in identities if (mark := raised_high_water_mark(c, marks[c.physical_name])) is not None}
    return NewFiles(files, count, sum(file.size for file in files), _head(target, raised))


def _head(target: WriteTarget, marks: Mapping[str, int]) -> tuple[HeadAction, ...]:
    """The table's actions with the numbers that are used up now; nothing where none are."""
    if not marks:
        return ()
    metadata = replace(target.metadata, schema_string=schema_to_json(with_high_water_marks(target.schema, marks)))
    return (*(each for each in target.head if not isinstance(each, Metadata)), metadata)


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
