# SPDX-License-Identifier: Apache-2.0
"""Write the files of one write by Spark, and make their actions from the footers.

If a separate job writes the change data files (`spark.read.change_rows` says when), it writes them directly to their final folder,
under the names that Spark's writer gives them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.log.staging.footer_statistics import facts_of
from bayou.log.staging.footer_types import differences
from bayou.protocol import properties
from bayou.protocol.actions import paths
from bayou.protocol.actions.actions import AddCDCFile, AddFile, Metadata
from bayou.protocol.actions.file_names import CHANGES_FOLDER, data_prefix
from bayou.protocol.columns.identity_columns import identity_columns, raised_high_water_mark, with_high_water_marks
from bayou.protocol.stats.file_stats import indexed_leaves
from bayou.protocol.types.schema import schema_to_json
from bayou.protocol.types.sql_text import quoted_name
from bayou.protocol.types.traverse import as_nullable
from bayou.spark.backend import backend_of, part_of
from bayou.spark.data_files.carried_rows import NOTHING_CARRIED, CarriedRows
from bayou.spark.data_files.constraint_evaluation import OBSERVATION, error_of, observed_violations, violations_in
from bayou.spark.data_files.partitioning import values_of
from bayou.spark.data_files.placed_files import SplitFolders
from bayou.spark.data_files.projection import NO_AUXILIARY, Projection
from bayou.spark.data_files.write_jobs import Placement, footers_of, relative_path, write_into
from bayou.spark.data_files.written_files import NewFiles
from bayou.spark.pinned_settings import Job, with_options
from bayou.spark.read.change_rows import IS_CHANGE, AuxiliaryColumns
from bayou.spark.session.progress import phase
from bayou.spark.types.types import physical_field, readable_schema, spark_data_type, spark_schema, stored_fields
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow.parquet as pq
    from pyspark.sql import DataFrame, SparkSession

    from bayou.protocol.types.schema import StructType
    from bayou.spark.backend import FileTasks, WrittenFile
    from bayou.spark.data_files.constraint_evaluation import RowRule, Violations
    from bayou.spark.data_files.projection import ProjectedRows
    from bayou.spark.data_files.request import WriteOptions, WriteRequest
    from bayou.spark.data_files.target import HeadAction, WriteTarget
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.session.application import Application

_PLAIN_PATHS: Final = {"__globPaths__": "false", "recursiveFileLookup": "true"}
"""Options of Spark's reader, so that it neither expands patterns in paths nor reads partition columns from folders."""
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
    auxiliary: AuxiliaryColumns = NO_AUXILIARY,
    observations: Sequence[str] = (),
    tasks: FileTasks | None = None,
    is_arranged: bool = False,
) -> NewFiles:
    """Write rows as new files of a table. Files without rows are deleted again.

    Args:
        frame: the rows; their columns are matched by name, case-insensitively.
        uncommitted: the owner of the new files.
        carried: the remaining rows of replaced files, if a condition selects the rows that are replaced.
        auxiliary: the auxiliary columns of the rows; empty if `carried` has rows.
        observations: the names of the observations in `frame` whose values the caller needs.
        tasks: the job's tasks, if the rows come from files that are rewritten together.
        is_arranged: whether to write one file per partition of the rows.

    Raises:
        ConstraintViolationError: rows violate a constraint of the table.
    """
    phase("writing")
    root = qualify(request.options.path)
    rows = Projection(application.backend, frame, target, carried, auxiliary).rows()
    prefix = data_prefix(target.properties)
    split = SplitFolders(root, request.options.storage_options, prefix) if rows.has_changes else None
    to_write, placement = rows.frame, Placement(prefix, tasks=tasks, is_arranged=is_arranged)
    if split is not None:
        uncommitted.add_folders(split)
        to_write, placement = to_write.withColumnRenamed(IS_CHANGE, split.column), Placement(split_by=split.column)
    observed = (*carried.observations, *observations, *([OBSERVATION] if rows.observed else []))
    written = write_into(application.backend, to_write, request, target, placement, observed)
    of_rules = written.observed.get(OBSERVATION, ())
    relatives = [relative_path(file, root.uri) for file in written.files]
    uncommitted.add(relatives)
    if not rows.proven.rules:  # before any file is moved
        _check_observed(target, rows, of_rules)
    places = relatives if split is None else split.place(relatives)
    uncommitted.add(places)
    placed = list(zip(written.files, places, strict=True))
    changes = [each for each in placed if _holds_changes(each[1])]
    data = [each for each in placed if not _holds_changes(each[1])]
    footers = footers_of(application, request.options, data)
    _check_columns(target, [place for _, place in data], footers)
    with_footers = [(*each, footer) for each, footer in zip(data, footers, strict=True)]
    found_files = _described(request, target, uncommitted, rows, with_footers)
    _check_all_observed(target, rows, of_rules, found_files.num_rows - carried.num_kept)
    _check_rules(frame.sparkSession, request.options, target, rows, found_files.files, of_rules)
    change_files = [change_file(target, *each) for each in changes]
    return replace(found_files, changes=change_files, observed=written.observed, read_by_tasks=written.read_by_tasks)


def _holds_changes(path: str) -> bool:
    return path.startswith(f"{CHANGES_FOLDER}/")


def _check_columns(target: WriteTarget, places: Sequence[str], footers: Sequence[pq.FileMetaData]) -> None:
    """Raise SessionError if a file lacks a column, or stores it with another type or field id than the table's."""
    in_folders = set() if target.materializes_partitions else {name.lower() for name in target.partition_by}
    fields = [field for field in stored_fields(target.schema.fields) if field.name.lower() not in in_folders]
    checked: list[pq.FileMetaData] = []
    for place, footer in zip(places, footers, strict=True):
        if any(footer.schema.equals(other.schema) for other in checked):  # mostly all files have the same schema
            continue
        checked.append(footer)
        wrong = list(differences(footer, fields, with_ids=target.maps_columns))
        if wrong:
            shown = "; ".join(wrong[:_SHOWN]) + (f"; and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else "")
            raise failed("wrong-columns-written", at=target, file=place, columns=shown)


def _check_all_observed(target: WriteTarget, rows: ProjectedRows, observed: Sequence[Any], count: int) -> None:
    """Raise SessionError if rows were written without an observation. Spark only drops an observation if it finds no rows."""
    if rows.observed and not observed and count:
        raise failed("rules-not-observed", at=target, count=count)


def _check_rules(
    spark: SparkSession,
    options: WriteOptions,
    target: WriteTarget,
    rows: ProjectedRows,
    new: Sequence[AddFile],
    observed: Sequence[Any],
) -> None:
    """Raise ConstraintViolationError if rows break a rule. Files whose statistics do not prove the rules are read in one job.

    Args:
        new: the files of the write, each with rows.
    """
    doubtful = rows.proven.doubtful([file.stats for file in new])
    if doubtful:
        # Rows of the other files may only break rules that are observed.
        chosen = new if rows.observed else [new[place] for place in doubtful]
        violations = violations_in(_rows_in(spark, options, chosen, rows.rules, target.schema), rows.rules, target.schema)
        _refuse(violations, rows.rules, target)
    _check_observed(target, rows, observed)


def _check_observed(target: WriteTarget, rows: ProjectedRows, observed: Sequence[Any]) -> None:
    """Raise ConstraintViolationError if rows break an observed rule. The error does not report rules that are proven."""
    if rows.observed:
        _refuse(observed_violations(observed), rows.observed, target)


def _refuse(found: Violations, rules: Sequence[RowRule], target: WriteTarget) -> None:
    if found.count:
        raise error_of(found, rules, table=target.table_uri, version=target.version)


def _rows_in(
    spark: SparkSession, options: WriteOptions, new: Sequence[AddFile], rules: Sequence[RowRule], schema: StructType
) -> DataFrame:
    """Return the rows of new files under logical names, with the columns that rules use. No rule uses a partition column."""
    names = {name.lower() for rule in rules for name in rule.columns}
    fields = [field for field in as_nullable(readable_schema(schema)).fields if field.name.lower() in names]
    stored = [physical_field(field, column, by_id=False) for field in fields if (column := schema.field(field.name)) is not None]
    uris, given = [f"{options.path}/{paths.decode(file.path)}" for file in new], options.storage_options
    backend = backend_of(spark)
    if not backend.is_native:  # Spark Connect ignores the option about patterns, and secrets stay in the client
        uris, given = [part_of(backend, "scratch.folders").literal(uri) for uri in uris], {}
    reader = spark.read.options(**with_options(given, Job.REWRITE), **_PLAIN_PATHS).schema(spark_schema(stored))
    rows = reader.parquet(*uris)
    pairs = zip(fields, stored, strict=True)
    columns = (
        F.col(quoted_name(stored_field.name)).cast(spark_data_type(field)).alias(field.name) for field, stored_field in pairs
    )
    return rows.select(*columns)


def change_file(target: WriteTarget, file: WrittenFile, relative: str) -> AddCDCFile:
    """Return the action of a change data file, given its decoded path relative to the table's root."""
    values = values_of(relative.rpartition("/")[0], target.physical_partitions)
    return AddCDCFile(paths.encode(relative), values, file.size)


def _described(
    request: WriteRequest,
    target: WriteTarget,
    uncommitted: UncommittedFiles,
    rows: ProjectedRows,
    written: Sequence[tuple[WrittenFile, str, pq.FileMetaData]],
) -> NewFiles:
    """Return the actions of files, made from their footers. Delete files without rows."""
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
                data_change=request.options.data_change,
                stats=facts.stats,
            )
        )
    uncommitted.delete(empty)
    raised = {c.physical_name: mark for c in identities if (mark := raised_high_water_mark(c, marks[c.physical_name])) is not None}
    return NewFiles(files, count, sum(file.size for file in files), _head(target, raised))


def _head(target: WriteTarget, marks: Mapping[str, int]) -> tuple[HeadAction, ...]:
    """Return the target's head with the new high-water marks of identity columns; empty if they did not change."""
    if not marks:
        return ()
    metadata = replace(target.metadata, schema_string=schema_to_json(with_high_water_marks(target.schema, marks)))
    return (*(action for action in target.head if not isinstance(action, Metadata)), metadata)


def _statistics_properties(request: WriteRequest, target: WriteTarget) -> Mapping[str, str]:
    """Return the table's properties, with the session's prefix length of strings as the default."""
    prefix = request.context.string_prefix
    return target.properties if prefix is None else {properties.STRING_PREFIX_LENGTH.key: str(prefix), **target.properties}


def _furthest(footer: pq.FileMetaData, column: str, *, falling: bool) -> int | None:
    """Return the greatest number of a column in a file, or the least if numbers fall; None without statistics."""
    values = []
    for group in range(footer.num_row_groups):
        chunks = (footer.row_group(group).column(place) for place in range(footer.num_columns))
        values += [c.statistics.min if falling else c.statistics.max for c in chunks if c.path_in_schema == column and c.statistics]
    return (min(values) if falling else max(values)) if values else None


@dataclass(frozen=True, slots=True)
class ChangeFiles:
    """Uncommitted change data files.

    Attributes:
        files: the actions that add them.
        num_rows: the number of rows in all of them.
    """

    files: Sequence[AddCDCFile]
    num_rows: int


def write_change_files(
    application: Application,
    frame: DataFrame,
    request: WriteRequest,
    target: WriteTarget,
    uncommitted: UncommittedFiles,
    before: Mapping[str, str],
) -> ChangeFiles:
    """Write the change rows of rows that change.

    Args:
        frame: the rows, with the table's columns, `ROW_ACTION`, and the columns with the old values.
        target: the table, without its constraints: these are checked when the table's own rows are written.
        uncommitted: the owner of the new files.
        before: the columns with the old values, by the columns that have new values.
    """
    phase("writing change rows")
    root = qualify(request.options.path)
    auxiliary = AuxiliaryColumns(feeds=True, before=before, is_for_feed=True)
    rows = Projection(application.backend, frame, target, auxiliary=auxiliary).rows()
    raw = write_into(application.backend, rows.frame, request, target, Placement(CHANGES_FOLDER)).files
    written = [(file, relative_path(file, root.uri)) for file in raw]
    uncommitted.add(relative for _, relative in written)
    counts = [footer.num_rows for footer in footers_of(application, request.options, written)]
    # The first task of Spark's writer makes a file even if it has no rows.
    uncommitted.delete([relative for (_, relative), count in zip(written, counts, strict=True) if not count])
    files = [change_file(target, *each) for each, count in zip(written, counts, strict=True) if count]
    return ChangeFiles(files, sum(counts))
