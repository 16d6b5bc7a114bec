# SPDX-License-Identifier: Apache-2.0
"""CLONE: create or replace a table with the files of another table.

A shallow clone refers to the source's files. A deep clone copies them, which delta-spark does not offer. Source: delta-spark's
`CloneTableBase`.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import StorageError, TableNotFoundError, failed, redact_uri
from bayou.log.actions.columns import ADD_SCHEMA
from bayou.log.actions.keys import hadoop_uris
from bayou.log.operations.create import FirstActions, asked_protocol, refuse_constraints, refuse_other_files
from bayou.log.operations.create_like import OF_ONE_TABLE
from bayou.log.operations.maintained import plain_transactions, writable_snapshot
from bayou.log.operations.placed_copies import CopyPlan, plan_copies
from bayou.log.rows.deleted_rows import added_again, live_files
from bayou.log.rows.row_tracking import FEATURE as ROW_TRACKING
from bayou.log.rows.row_tracking import with_materialised_columns
from bayou.log.snapshot.clustering import logical_clustering, replaced_clustering
from bayou.log.staging.added_files import AddedFiles
from bayou.protocol.actions.paths import canonical, hadoop_text, hadoop_uri, to_uri
from bayou.protocol.columns.identity_columns import high_water_marks, with_high_water_marks
from bayou.protocol.evolution.property_rules import PropertyChange, allows_arbitrary, validated
from bayou.protocol.features.features import check_writable, writer_features
from bayou.protocol.features.protocol_rules import merged
from bayou.protocol.properties import MATERIALIZED_ROW_COMMIT_VERSION, MATERIALIZED_ROW_ID, MAX_COLUMN_ID, mapping_mode
from bayou.protocol.types.schema import schema_to_json
from bayou.report.html import facts_html
from bayou.storage.copies import copy_files
from bayou.storage.trees import delete_many

if TYPE_CHECKING:
    from bayou.log.operations.maintained import Begin
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.staged import Action
    from bayou.protocol.actions.actions import AddFile, Metadata


@dataclass(frozen=True, slots=True)
class CloneRequest:
    """The options of a CLONE; see `DeltaLog.clone`.

    Attributes:
        source_name: the source's name in the history.
        allow_protocol_downgrade: whether a replaced table may lose features of its protocol.
    """

    shallow: bool = False
    replace: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    source_name: str | None = None
    allow_protocol_downgrade: bool = False
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class CloneResult:
    """The outcome of a CLONE.

    Attributes:
        version: the committed version of the clone; None for a dry run or a no-op.
        source_bytes: the size of the source's files.
        num_removed_files: how many files a replaced table lost.
        num_copied_files: how many data files were copied.
        removed_bytes: the size of the removed files.
        copied_bytes: the size of the copied data files.
    """

    version: int | None
    table_uri: str
    source_version: int
    source_bytes: int
    num_source_files: int
    num_removed_files: int = 0
    num_copied_files: int = 0
    removed_bytes: int = 0
    copied_bytes: int = 0

    @property
    def metrics(self) -> dict[str, int]:
        """The counts under the names of the history's metrics."""
        return {
            "sourceTableSize": self.source_bytes,
            "sourceNumOfFiles": self.num_source_files,
            "numRemovedFiles": self.num_removed_files,
            "numCopiedFiles": self.num_copied_files,
            "removedFilesSize": self.removed_bytes,
            "copiedFilesSize": self.copied_bytes,
        }

    def _repr_html_(self) -> str:
        what = "no commit" if self.version is None else f"made version {self.version}"
        return facts_html(f"CLONE of version {self.source_version} to {redact_uri(self.table_uri)}: {what}", self.metrics)


def clone(
    source: Snapshot,
    source_log: LogReader,
    log: LogReader,
    request: CloneRequest,
    begin: Begin | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> CloneResult:
    """Create or replace a table with the files of another table; see `DeltaLog.clone`.

    Args:
        log: the log of the clone, which need not exist yet.
        storage_options: credentials and settings of the stores of files outside the source's folder.
    """
    result = CloneResult(None, log.table_uri, source.version, source.size_bytes, source.num_files)
    if canonical(log.table_uri, "") == canonical(source.table_uri, ""):
        _check_latest(source, source_log, request)
        return result
    latest = _present(log, request)
    target = _target(source, latest, log, request)
    files = _files(source, counted=ROW_TRACKING in writer_features(target.protocol))
    if request.shallow:
        copies = _references(files, source.table_uri)
    else:
        copies = plan_copies(live_files(files), source_log, log, latest, storage_options)
    result = replace(
        result,
        num_removed_files=copies.removed.num_rows if copies.removed is not None else 0,
        removed_bytes=copies.removed_bytes,
        num_copied_files=copies.num_data_files,
        copied_bytes=copies.copied_bytes,
    )
    header = _header(target, latest)
    if request.dry_run or (latest is not None and not header and copies.is_empty):
        return result
    name = request.source_name or f"delta.`{hadoop_text(source.table_uri)}`"  # the same text as delta-spark's
    parameters = {"source": name, "sourceVersion": source.version}
    dropped = () if latest is None else writer_features(latest.protocol) - writer_features(target.protocol)
    with (begin or plain_transactions(log))(latest, "CLONE", parameters, dropped_features=dropped) as transaction:
        transaction.read_whole_table()
        if copies.removed is not None and copies.removed.num_rows:
            transaction.remove_files(copies.removed)
        if copies.added_files:
            transaction.add_again(copies.added_files)
        transaction.stage(*header)
        _copy(log, copies, source)
        try:
            adds = [
                replace(added_again(add), data_change=True, base_row_id=None, default_row_commit_version=None)
                for add in copies.adds
            ]
            committed = transaction.commit(adds, metrics=result.metrics, may_be_empty=True)
        except BaseException:
            if not transaction.may_be_in_log:
                _discard(log, copies)
            raise
    return replace(result, version=committed.version)


def _check_latest(source: Snapshot, log: LogReader, request: CloneRequest) -> None:
    """Raise UnsupportedFeatureError for a clone onto itself of an earlier version, or with other properties."""
    if source.version != log.update().version:
        raise failed("DELTA_UNSUPPORTED_CLONE_REPLACE_SAME_TABLE", at=source, features=("CLONE",))
    if request.properties:
        raise failed("DELTA_UNSUPPORTED_CLONE_REPLACE_SAME_TABLE/properties", at=source, features=("CLONE",))


def _present(log: LogReader, request: CloneRequest) -> Snapshot | None:
    """Return the existing table at the clone's location if it may be replaced; None if the table does not exist.

    Raises:
        TableExistsError: a table that may not be replaced, or other files, exist there.
        UnsupportedFeatureError: a shallow clone would replace a table that has files.
    """
    try:
        latest = writable_snapshot(log, "CLONE")
    except TableNotFoundError:
        # Files of a clone that was interrupted must not be converted: rows that vectors delete would come back.
        refuse_other_files(log, next_step="Choose an empty folder. If a clone was interrupted here, delete the folder first.")
        return None
    if not request.replace:
        raise failed("TABLE_OR_VIEW_ALREADY_EXISTS/clone", table=log.table_uri, version=latest.version)
    if request.shallow and latest.num_files:
        raise failed("DELTA_UNSUPPORTED_NON_EMPTY_CLONE", table=log.table_uri, version=latest.version, features=("CLONE",))
    return latest


def _target(source: Snapshot, latest: Snapshot | None, log: LogReader, request: CloneRequest) -> FirstActions:
    """Return the protocol, metadata and clustering columns of the clone, after checking that bayou may write it."""
    current = {key: value for key, value in source.metadata.configuration.items() if key.lower() not in _NOT_CLONED}
    free = allows_arbitrary(request.settings)
    refuse_constraints(request.properties, log.table_uri)
    change = validated(request.properties, table=log.table_uri, current=current, creating=True, allow_arbitrary=free)
    metadata = _metadata(source, latest, current, change)
    for each in [source, *([] if latest is None else [latest])]:
        _check_mapping(each, metadata, log.table_uri)
    clustering = logical_clustering(source)
    needed = asked_protocol(change, source.schema, metadata, clustered=clustering is not None)
    protocol = merged(source.protocol, needed)
    if latest is not None and not request.allow_protocol_downgrade:
        protocol = merged(latest.protocol, protocol)
    check_writable(protocol, metadata, log.table_uri)
    return FirstActions(protocol, metadata, clustering)


# A clone keeps the source's physical names, and therefore its highest column id.
_NOT_CLONED = OF_ONE_TABLE - {MAX_COLUMN_ID.key.lower()}


def _metadata(source: Snapshot, latest: Snapshot | None, current: Mapping[str, str], change: PropertyChange) -> Metadata:
    configuration = {**current, **change.configuration}
    schema = source.schema
    before: Mapping[str, str] = {}
    if latest is not None:
        before = latest.metadata.configuration
        schema = with_high_water_marks(schema, high_water_marks(latest.schema))
        # Files of the table's earlier versions keep their ids under these names.
        configuration |= {
            key: before[key] for key in (MATERIALIZED_ROW_ID.key, MATERIALIZED_ROW_COMMIT_VERSION.key) if key in before
        }
    if MAX_COLUMN_ID.key in configuration:
        configuration[MAX_COLUMN_ID.key] = str(max(MAX_COLUMN_ID.read(each) or 0 for each in (configuration, before)))
    names = [name for each in schema.fields for name in (each.name, each.physical_name)]
    return replace(
        source.metadata,
        id=str(uuid.uuid4()) if latest is None else latest.metadata.id,
        name=None if latest is None else latest.metadata.name,
        description=_description(latest, change),
        schema_string=schema_to_json(schema),
        configuration=with_materialised_columns(configuration, names),
        created_time=int(time.time() * 1000) if latest is None else latest.metadata.created_time,
    )


def _description(latest: Snapshot | None, change: PropertyChange) -> str | None:
    if change.description is not None:
        return change.description
    return None if latest is None else latest.metadata.description


def _check_mapping(table: Snapshot, metadata: Metadata, uri: str) -> None:
    now, then = mapping_mode(table.metadata.configuration), mapping_mode(metadata.configuration)
    if now != then:
        raise failed(
            "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE/clone",
            table=uri,
            features=("columnMapping",),
            cloned=table.table_uri,
            mode=now,
            new_mode=then,
        )


def _files(source: Snapshot, *, counted: bool) -> pa.Table:
    """Return the source's files as ADD_SCHEMA, without files of zero rows, which no commit may add.

    Args:
        counted: whether each file needs a row count, from which its row ids are assigned; a missing one is an InvalidCommitError.
    """
    files, counts = source.files(), source.statistics({}).num_records
    if counted and counts.null_count:
        path = files["path"].filter(pc.is_null(counts))[0].as_py()
        raise failed("DELTA_CLONE_WITH_ROW_TRACKING_WITHOUT_STATS", at=source, file=path)
    return files.filter(pc.fill_null(pc.not_equal(counts, 0), True)).select(ADD_SCHEMA.names)


def _references(files: pa.Table, table_uri: str) -> CopyPlan:
    """Return the files of a shallow clone: the source's files under absolute paths."""
    marked = pc.is_valid(files["deletion_vector"])
    adds = [_absolute(each, table_uri) for each in live_files(files.filter(marked))]
    plain = files.filter(pc.invert(marked))
    columns = {
        "path": hadoop_uris(plain["path"], table_uri),
        "data_change": pa.repeat(pa.scalar(value=True), plain.num_rows),
        "base_row_id": pa.nulls(plain.num_rows, pa.int64()),
        "default_row_commit_version": pa.nulls(plain.num_rows, pa.int64()),
    }
    added = pa.Table.from_arrays([columns.get(name, plain[name]) for name in ADD_SCHEMA.names], schema=ADD_SCHEMA)
    return CopyPlan(adds=adds, added_files=AddedFiles.of(added))


def _absolute(add: AddFile, table_uri: str) -> AddFile:
    """Return a file of the source as another table refers to it."""
    vector = add.deletion_vector
    if vector is not None and vector.relative_path is not None:
        vector = replace(vector, storage_type="p", path_or_inline_dv=hadoop_uri(vector.absolute_uri(table_uri)))
    return replace(add, path=hadoop_uri(to_uri(add.path, table_uri)), deletion_vector=vector)


def _header(target: FirstActions, latest: Snapshot | None) -> list[Action]:
    """Return the changed actions that are not about files."""
    if latest is None:
        return list(target.actions)
    return [
        *([] if target.protocol == latest.protocol else [target.protocol]),
        *([] if target.metadata == latest.metadata else [target.metadata]),
        *replaced_clustering(latest, target.metadata, target.cluster_by),
    ]


def _copy(log: LogReader, copies: CopyPlan, source: Snapshot) -> None:
    try:
        copy_files(log.store, copies.copies)
    except FileNotFoundError as error:
        raise failed("DELTA_FILE_NOT_FOUND_DETAILED/clone", at=source, reason=str(error)) from error


def _discard(log: LogReader, copies: CopyPlan) -> None:
    with contextlib.suppress(OSError, StorageError):
        delete_many(log.store, [each.target_path for each in copies.copies])
