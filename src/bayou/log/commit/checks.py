# SPDX-License-Identifier: Apache-2.0
"""Check the staged actions before the commit: they must not contradict each other, and must fit the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import CorruptLogError, DeltaError, failed, reason
from bayou.log.actions.columns import JSON_NAMES
from bayou.log.commit.vector_checks import check_vector_statistics
from bayou.plan.statistics.members import one_array
from bayou.protocol.actions.actions import AddCDCFile, AddFile, Metadata, Protocol, RemoveFile
from bayou.protocol.actions.file_names import CHANGES_FOLDER, LOG_FOLDER
from bayou.protocol.actions.paths import canonical
from bayou.protocol.columns.clustering_rules import ClusteringRules
from bayou.protocol.features.features import (
    FEATURES,
    MAX_READER_VERSION,
    MAX_WRITER_VERSION,
    check_writable,
    reader_features,
    writer_features,
)
from bayou.protocol.features.protocol_rules import (
    check_features_match_metadata,
    check_no_downgrade,
    check_not_append_only,
    supported_features,
)
from bayou.protocol.properties import MATERIALIZED_ROW_COMMIT_VERSION, MATERIALIZED_ROW_ID
from bayou.protocol.schema.reserved_names import check_feed_of
from bayou.protocol.types.schema import parse_schema

if TYPE_CHECKING:
    from bayou.log.conflict.state import TableState
    from bayou.log.staging.staged import StagedActions

# Prefixes that no canonical path of a data file has.
_NO_FOLDERS: Final = ("", ".", "..", LOG_FOLDER)
# The same for many paths at once. An absolute path may be anywhere.
_ODD_PATH: Final = rf"^$|^(?:\.{{1,2}}|{LOG_FOLDER})(?:/|$)"
# The first numbers that the columns of checkpoints cannot hold.
_INT32: Final = 1 << 31
_INT64: Final = 1 << 63
_CATALOG_KEYS: Final = ("delta.coordinatedcommits.", "delta.feature.catalogmanaged", "delta.feature.catalogowned")


def check_staged(
    staged: StagedActions,
    base: TableState,
    table: str,
    *,
    dropped_features: Collection[str] = (),
    replaces_table: bool = False,
    counts_live_rows: bool = False,
) -> None:
    """Check that the actions of a commit are valid for the table.

    Args:
        dropped_features: the features that the commit may take away, for DROP FEATURE.
        counts_live_rows: whether statistics describe the rows that deletion vectors leave, so that tight bounds are allowed.

    Raises:
        InvalidCommitError: actions contradict each other, or do not fit the table.
        InvalidSchemaError: the table has a change data feed, and a column has the name of one of its columns.
        AppendOnlyError: rows are removed from an append-only table.
        UnsupportedFeatureError: the table uses a feature that bayou does not support for writers.
    """
    protocol, metadata = staged.protocol or base.protocol, staged.metadata or base.metadata
    if protocol is None or metadata is None:
        raise failed("DELTA_METADATA_ABSENT", table=table, version=base.version + 1)
    version = base.version if base.version >= 0 else None
    if staged.metadata is not None:
        check_metadata(staged.metadata, base, table, replaces_table=replaces_table)
    if staged.protocol is not None:
        check_protocol(staged.protocol, base, table, dropped_features)
    check_writable(protocol, metadata, table, version)
    if staged.removes_data:
        # A commit that replaces a table, and makes the new one append-only, may still remove rows.
        check_not_append_only(base.metadata or metadata, "the commit removes rows", table, version)
    if staged.metadata is not None or staged.touches_files:
        check_feed_of(metadata, table, version)
    _check_numbers(staged, table)
    _check_unique(staged, table)
    check_features(staged, protocol, metadata, table, version)
    _check_partitions(staged, metadata, table)
    _check_changes(staged.changes, table)
    for add in staged.adds:
        check_vector_statistics(add, table, may_be_tight=counts_live_rows)


def _check_numbers(staged: StagedActions, table: str) -> None:
    for name, of, value, lowest, limit in _numbers(staged):
        if value is not None and not (type(value) is int and lowest <= value < limit):
            raise failed(
                "NUMERIC_VALUE_OUT_OF_RANGE", table=table, name=name, of=of, value=value, lowest=lowest, greatest=limit - 1
            )


def _numbers(staged: StagedActions) -> Iterator[tuple[str, str, object, int, int]]:
    """Yield each number of a commit: its name, its owner, its value, the lowest valid value, and the first invalid one."""
    for transaction in staged.transactions:
        yield "the version", transaction.app_id, transaction.version, -_INT64, _INT64
        yield "lastUpdated", transaction.app_id, transaction.last_updated, -_INT64, _INT64
    if staged.metadata is not None:
        yield "createdTime", staged.metadata.id, staged.metadata.created_time, -_INT64, _INT64
    for add in staged.adds:
        yield "modificationTime", add.path, add.modification_time, -_INT64, _INT64
    for remove in staged.removes:
        yield "deletionTimestamp", remove.path, remove.deletion_timestamp, -_INT64, _INT64
    for change in staged.changes:
        yield "size", change.path, change.size, 0, _INT64
    if staged.added_files is not None:
        for name in ("size", "base_row_id", "default_row_commit_version"):
            yield f"the lowest {JSON_NAMES[name]}", "the files", pc.min(staged.added_files.files[name]).as_py(), 0, _INT64
    for file in chain[AddFile | RemoveFile](staged.adds, staged.removes):
        yield "size", file.path, file.size, 0, _INT64
        yield "baseRowId", file.path, file.base_row_id, 0, _INT64
        yield "defaultRowCommitVersion", file.path, file.default_row_commit_version, 0, _INT64
        if file.deletion_vector is not None:
            yield "the offset of the vector", file.path, file.deletion_vector.offset, 0, _INT32
            yield "the size of the vector", file.path, file.deletion_vector.size_in_bytes, 0, _INT32
            yield "the cardinality of the vector", file.path, file.deletion_vector.cardinality, 0, _INT64


def _check_unique(staged: StagedActions, table: str) -> None:
    """Check that no logical file is added or removed twice. Source: PROTOCOL.md, "Add File and Remove File"."""
    added = [canonical(each.path, table) for each in staged.adds]
    removed = [canonical(each.path, table) for each in staged.removes]
    _check_paths(staged, added, removed, table)
    added_keys = [_key(path, each) for path, each in zip(added, staged.adds, strict=True)]
    removed_keys = [_key(path, each) for path, each in zip(removed, staged.removes, strict=True)]
    for name, values in (
        ("txn", [each.app_id for each in staged.transactions]),
        ("domainMetadata", [each.domain for each in staged.domains]),
        ("add", added),
        ("cdc", [canonical(each.path, table) for each in staged.changes]),
        ("remove", removed),
        ("add and remove", [*added_keys, *removed_keys]),
    ):
        if len(set(values)) < len(values):
            raise _twice(name, next(value for value, count in Counter(values).items() if count > 1), table)
    paths = keys = None
    if staged.removed_files is not None:
        paths, keys = staged.removed_files.paths(table), staged.removed_files.keys(table)
        _check_many("remove", paths, removed, table)
        _check_many("add and remove", keys, added_keys, table)
    if staged.added_files is not None:
        # These have no deletion vectors: their paths are their keys.
        new = staged.added_files.paths(table)
        _check_many("add", new, added, table)
        _check_many("add and remove", new, removed_keys, table)
        if keys is not None:
            _check_many("add and remove", pa.chunked_array([*new.chunks, *keys.chunks], pa.string()), (), table)


def _check_paths(staged: StagedActions, added: Sequence[str], removed: Sequence[str], table: str) -> None:
    """Check the paths of new files. Files that only get another deletion vector or row ids keep the path that the log has."""
    odd = {path: add.data_change for path, add in zip(added, staged.adds, strict=True) if path.partition("/")[0] in _NO_FOLDERS}
    if staged.added_files is not None:
        paths = staged.added_files.paths(table)
        mask = pc.match_substring_regex(paths, _ODD_PATH)
        changes = staged.added_files.files["data_change"].filter(mask)
        odd |= dict(zip(paths.filter(mask).to_pylist(), changes.to_pylist(), strict=True))
    if not odd:
        return
    there = {*removed, *([] if staged.removed_files is None else staged.removed_files.paths(table).to_pylist())}
    for path, data_change in odd.items():
        keeps_rows = not data_change and path.startswith("../")
        if not path.startswith("/") and path not in there and not keeps_rows:
            raise failed("DELTA_INVALID_PATH/data-file", table=table, file=path)


def _check_changes(changes: Sequence[AddCDCFile], table: str) -> None:
    """Check the change data files. Source: PROTOCOL.md, "Change Data Files"."""
    for change in changes:
        if not change.path.startswith(f"{CHANGES_FOLDER}/"):
            raise failed("DELTA_INVALID_PATH/change-file", table=table, file=change.path)


def _check_many(name: str, keys: pa.ChunkedArray, others: Sequence[str], table: str) -> None:
    """Check that keys are unique, and not among others."""
    if pc.count_distinct(keys).as_py() < len(keys):
        counted = pc.value_counts(keys)
        raise _twice(name, counted.filter(pc.greater(counted.field("counts"), 1))[0]["values"].as_py(), table)
    if not others:
        return
    shared = pc.is_in(pa.array(others, pa.string()), value_set=one_array(keys))
    if pc.any(shared).as_py():
        raise _twice(name, others[pc.index(shared, True).as_py()], table)


def _twice(name: str, key: str, table: str) -> DeltaError:
    return failed("DELTA_DUPLICATE_ACTIONS_FOUND", table=table, action=name, of=key.partition(chr(0))[0])


def _check_partitions(staged: StagedActions, metadata: Metadata, table: str) -> None:
    schema = parse_schema(metadata.schema_string) if metadata.partition_columns else None
    wanted = set()
    for name in metadata.partition_columns:
        found = schema.field(name) if schema is not None else None
        wanted.add(name if found is None else found.physical_name)
    many = [] if staged.added_files is None else staged.added_files.partition_values
    given = chain[tuple[str, Collection[str]]](
        ((f"The file {each.path} has", each.partition_values) for each in staged.adds),
        ((f"The file {each.path} has", each.partition_values) for each in staged.changes),
        (("Files have", each) for each in many),
    )
    for files, values in given:
        if set(values) != wanted:
            raise failed(
                "DELTA_INVALID_PARTITIONING_SCHEMA", table=table, files=files, names=sorted(values), columns=sorted(wanted)
            )


def _key(path: str, action: AddFile | RemoveFile) -> str:
    vector = action.deletion_vector
    return path if vector is None else f"{path}\0{vector.unique_id}"


def check_metadata(metadata: Metadata, base: TableState, table: str, *, replaces_table: bool) -> None:
    """Check the metadata of a commit.

    Raises:
        InvalidCommitError: the table would get another id, a partition column that does not exist, or a catalog.
        InvalidSchemaError: a column has the name of a materialised row id column.
    """
    if base.metadata is not None and metadata.id != base.metadata.id and not replaces_table:
        raise failed("DELTA_METADATA_MISMATCH/table-id", table=table, version=base.version, old=base.metadata.id, new=metadata.id)
    schema = parse_schema(metadata.schema_string)
    for name in metadata.partition_columns:
        if schema.field(name) is None:
            raise failed("DELTA_COLUMN_NOT_FOUND_IN_SCHEMA/partition", table=table, column=name, columns=schema.names)
    hidden = {metadata.configuration.get(each.key, "").lower() for each in (MATERIALIZED_ROW_ID, MATERIALIZED_ROW_COMMIT_VERSION)}
    taken = [each.name for each in schema.fields if {each.name.lower(), each.physical_name.lower()} & (hidden - {""})]
    if taken:
        raise failed(
            "DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED/row-ids", table=table, version=base.version, columns=(taken[0],)
        )
    for key in metadata.configuration:
        if key.lower().startswith(_CATALOG_KEYS):
            raise failed("DELTA_UNSUPPORTED_FEATURES_FOR_WRITE/catalog", table=table, key=key)


def check_protocol(protocol: Protocol, base: TableState, table: str, dropped_features: Collection[str]) -> None:
    """Check that a protocol is valid, and does not remove features.

    Raises:
        InvalidCommitError: it is not valid, or removes features.

    Source: PROTOCOL.md, "Protocol Evolution" and "Table Features".
    """
    problems = list(_problems(protocol))
    if problems:
        raise failed(
            "DELTA_INVALID_PROTOCOL_VERSION/commit",
            table=table,
            version=base.version if base.version >= 0 else None,
            protocol=protocol.to_json(),
            problems=problems,
        )
    if base.protocol is not None:
        kept = tuple(sorted(supported_features(base.protocol).difference(dropped_features)))
        before = Protocol(MAX_READER_VERSION, MAX_WRITER_VERSION, (), kept)
        check_no_downgrade(before, protocol, table=table, version=base.version)


def check_features(staged: StagedActions, protocol: Protocol, metadata: Metadata, table: str, version: int | None) -> None:
    """Check that the protocol lists the features that the actions use, so that other clients know them.

    Args:
        version: the table's version; None if the commit creates it.

    Raises:
        InvalidCommitError: the protocol lacks features; `features` lists them.
        InvalidSchemaError: a table with the feature `clustering` would be partitioned.
    """
    if staged.protocol is not None or staged.metadata is not None:
        ClusteringRules(table, version).check_not_partitioned(protocol, metadata)
        schema = parse_schema(metadata.schema_string)
        try:
            check_features_match_metadata(protocol, schema, metadata.configuration, table=table, version=version)
        except CorruptLogError as error:
            raise failed(
                "DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH/commit",
                table=table,
                version=version,
                error_class=error.error_class,
                reason=reason(error),
                **error.facts,
            ) from error
    supported = writer_features(protocol)
    marked = next((add for add in staged.adds if add.deletion_vector is not None), None)
    for action, feature, error_class in (
        (marked, "deletionVectors", "DELTA_ADDING_DELETION_VECTORS_DISALLOWED"),
        (next(iter(staged.domains), None), "domainMetadata", "DELTA_DOMAIN_METADATA_NOT_SUPPORTED"),
    ):
        if action is not None and feature not in supported:
            what = f"the file {action.path}" if isinstance(action, AddFile) else f"the domain {action.domain!r}"
            raise failed(
                "feature-not-in-protocol",
                table=table,
                version=version,
                error_class=error_class,
                feature=feature,
                action=what,
                features=(feature,),
            )


def _problems(protocol: Protocol) -> Iterator[str]:
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if reader < 1 or writer < 1:
        yield "versions begin with 1"
    if reader >= MAX_READER_VERSION and writer < MAX_WRITER_VERSION:
        yield f"reader version {reader} needs writer version {MAX_WRITER_VERSION}"
    for kind, listed, needed in (
        ("reader", protocol.reader_features, reader == MAX_READER_VERSION),
        ("writer", protocol.writer_features, writer == MAX_WRITER_VERSION),
    ):
        if (listed is not None) != needed:
            yield f"a list of {kind} features {'is missing' if needed else 'is for tables with table features alone'}"
    for_readers, for_writers = reader_features(protocol), frozenset(protocol.writer_features or ())
    if protocol.reader_features:
        yield from (f"{name} is for readers and not for writers" for name in sorted(for_readers - for_writers))
    for name in sorted(for_writers - for_readers):
        if name in FEATURES and FEATURES[name].reader_writer:
            yield f"{name} is for writers and not for readers"
