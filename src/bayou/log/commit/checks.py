# SPDX-License-Identifier: Apache-2.0
"""Check the staged actions before the commit: they must not contradict each other, and must fit the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import DeltaError, failed
from bayou.log.actions.columns import JSON_NAMES
from bayou.log.commit.protocol_checks import check_features, check_metadata, check_protocol
from bayou.log.commit.vector_checks import check_vector_statistics
from bayou.plan.statistics.members import one_array
from bayou.protocol.actions.actions import AddCDCFile, AddFile, Metadata, RemoveFile
from bayou.protocol.actions.file_names import CHANGES_FOLDER, LOG_FOLDER
from bayou.protocol.actions.paths import canonical
from bayou.protocol.features.features import check_writable
from bayou.protocol.features.protocol_rules import check_not_append_only
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
