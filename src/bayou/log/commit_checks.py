# SPDX-License-Identifier: Apache-2.0
"""What no commit may do: actions that contradict each other, or do not fit the table. Checked before anything is written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import AppendOnlyError, InvalidCommitError
from bayou.protocol import properties
from bayou.protocol.actions import AddFile, Metadata, RemoveFile
from bayou.protocol.features import check_writable
from bayou.protocol.paths import canonical
from bayou.protocol.schema import parse_schema

if TYPE_CHECKING:
    from bayou.log.conflict import TableState
    from bayou.log.staged import StagedActions

_CATALOG_KEYS: Final = ("delta.coordinatedcommits.", "delta.feature.catalogmanaged", "delta.feature.catalogowned")


def check_staged(staged: StagedActions, base: TableState, table: str) -> None:
    """Refuse what no commit may do to this table.

    Raises:
        InvalidCommitError: actions contradict each other, or do not fit the table.
        AppendOnlyError: rows are removed from a table that only takes appends.
        UnsupportedFeatureError: the table asks its writers for what bayou does not do.
    """
    protocol, metadata = staged.protocol or base.protocol, staged.metadata or base.metadata
    if protocol is None or metadata is None:
        raise InvalidCommitError(
            "the first commit of a table must set its protocol and its metadata",
            table=table,
            version=base.version + 1,
            error_class="DELTA_METADATA_ABSENT",
            sql_state="XXKDS",
            next_step="Add both actions to the commit.",
        )
    version = base.version if base.version >= 0 else None
    if staged.metadata is not None:
        _check_metadata(staged.metadata, base, table)
    check_writable(protocol, metadata, table, version)
    if properties.APPEND_ONLY.read(metadata.configuration) and staged.removes_data:
        raise AppendOnlyError(
            "the table only takes appends (delta.appendOnly), and the commit removes rows",
            table=table,
            version=version,
            next_step="Set delta.appendOnly to false first, if rows may be removed.",
        )
    _check_unique(staged, table)
    _check_partitions(staged.adds, metadata, table)
    for add in staged.adds:
        if add.deletion_vector is not None:
            _check_vector(add, table)


def _check_metadata(metadata: Metadata, base: TableState, table: str) -> None:
    if base.metadata is not None and metadata.id != base.metadata.id:
        raise InvalidCommitError(
            f"a commit cannot change the table's id, from {base.metadata.id} to {metadata.id}",
            table=table,
            version=base.version,
            error_class="DELTA_METADATA_MISMATCH",
        )
    schema = parse_schema(metadata.schema_string)
    for name in metadata.partition_columns:
        if schema.field(name) is None:
            raise InvalidCommitError(
                f"the partition column {name!r} is not among the columns {list(schema.names)}",
                table=table,
                error_class="DELTA_COLUMN_NOT_FOUND_IN_SCHEMA",
                sql_state="42703",
            )
    for key in metadata.configuration:
        if key.lower().startswith(_CATALOG_KEYS):
            raise InvalidCommitError(
                f"the property {key} puts the table's commits under a catalog, which bayou does not do",
                table=table,
                error_class="DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
                sql_state="56038",
            )


def _check_unique(staged: StagedActions, table: str) -> None:
    added = [_key(each, table) for each in staged.adds]
    removed = [_key(each, table) for each in staged.removes]
    _check_many(staged, [*added, *removed], table)
    for name, values in (
        ("txn", [each.app_id for each in staged.transactions]),
        ("domainMetadata", [each.domain for each in staged.domains]),
        ("add", added),
        ("remove", removed),
        ("add and remove", [*added, *removed]),
    ):
        if len(set(values)) < len(values):
            raise _twice(name, next(value for value, count in Counter(values).items() if count > 1), table)


def _check_many(staged: StagedActions, others: Sequence[str], table: str) -> None:
    if staged.removed_files is None:
        return
    keys = staged.removed_files.keys(table)
    if pc.count_distinct(keys).as_py() < len(keys):
        counted = pc.value_counts(keys)
        raise _twice("remove", counted.filter(pc.greater(counted.field("counts"), 1))[0]["values"].as_py(), table)
    shared = pc.is_in(pa.array(others, pa.string()), value_set=pa.concat_arrays([pa.array([], pa.string()), *keys.chunks]))
    if pc.any(shared).as_py():
        raise _twice("add and remove", others[pc.index(shared, True).as_py()], table)


def _twice(name: str, key: str, table: str) -> InvalidCommitError:
    return InvalidCommitError(
        f"the commit has the action {name} more than once for {key.partition(chr(0))[0]}",
        table=table,
        next_step="Commit each file, application and domain once.",
    )


def _check_partitions(adds: Sequence[AddFile], metadata: Metadata, table: str) -> None:
    schema = parse_schema(metadata.schema_string) if metadata.partition_columns else None
    wanted = set()
    for name in metadata.partition_columns:
        found = schema.field(name) if schema is not None else None
        wanted.add(name if found is None else found.physical_name)
    for add in adds:
        if add.partition_values.keys() != wanted:
            raise InvalidCommitError(
                f"the file {add.path} has partition values for {sorted(add.partition_values)}, "
                f"and the table is partitioned by {sorted(wanted)}",
                table=table,
                error_class="DELTA_INVALID_PARTITIONING_SCHEMA",
                sql_state="XXKDS",
                next_step="Give each file a value, which may be null, for each partition column.",
            )


def _key(action: AddFile | RemoveFile, table: str) -> str:
    path = canonical(action.path, table)
    vector = action.deletion_vector
    return path if vector is None else f"{path}\0{vector.unique_id}"


def _check_vector(add: AddFile, table: str) -> None:
    try:
        stats = json.loads(add.stats or "{}")
    except ValueError:
        stats = {}
    if not isinstance(stats, dict) or stats.get("numRecords") is None:
        raise InvalidCommitError(
            f"the file {add.path} has a deletion vector, and its statistics do not say how many rows it has",
            table=table,
            error_class="DELTA_DELETION_VECTOR_MISSING_NUM_RECORDS",
        )
    if stats.get("tightBounds") is not False:
        raise InvalidCommitError(
            f"the file {add.path} has a deletion vector, and its statistics claim to be tight",
            table=table,
            error_class="DELTA_ADDING_DELETION_VECTORS_WITH_TIGHT_BOUNDS_DISALLOWED",
            sql_state="42000",
        )
