# SPDX-License-Identifier: Apache-2.0
"""What no commit may do: actions that contradict each other, or do not fit the table. Checked before anything is written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import AppendOnlyError, CorruptLogError, InvalidCommitError
from bayou.log.keys import canonical_paths, vector_ids
from bayou.protocol import properties
from bayou.protocol.actions import AddFile, Metadata, Protocol, RemoveFile
from bayou.protocol.features import (
    FEATURES,
    MAX_READER_VERSION,
    MAX_WRITER_VERSION,
    check_writable,
    reader_features,
    writer_features,
)
from bayou.protocol.file_names import LOG_FOLDER
from bayou.protocol.paths import canonical
from bayou.protocol.protocol_rules import check_features_match_metadata, check_no_downgrade, supported_features
from bayou.protocol.schema import parse_schema

if TYPE_CHECKING:
    from bayou.log.conflict import TableState
    from bayou.log.snapshot import Snapshot
    from bayou.log.staged import StagedActions

_CATALOG_KEYS: Final = ("delta.coordinatedcommits.", "delta.feature.catalogmanaged", "delta.feature.catalogowned")
# What no data file's canonical path begins with.
_NO_FOLDERS: Final = ("", ".", "..", LOG_FOLDER)
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
) -> None:
    """Refuse what no commit may do to this table.

    Args:
        staged: the commit.
        base: what it was prepared for.
        table: the table's URI.
        dropped_features: the features that the commit may take away, for DROP FEATURE.
        replaces_table: whether another table takes the place of this one, with an id of its own.

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
        _check_metadata(staged.metadata, base, table, replaces_table=replaces_table)
    if staged.protocol is not None:
        _check_protocol(staged.protocol, base, table, dropped_features)
    check_writable(protocol, metadata, table, version)
    if properties.APPEND_ONLY.read(metadata.configuration) and staged.removes_data:
        raise AppendOnlyError(
            "the table only takes appends (delta.appendOnly), and the commit removes rows",
            table=table,
            version=version,
            next_step="Set delta.appendOnly to false first, if rows may be removed.",
        )
    _check_numbers(staged, table)
    _check_unique(staged, table)
    _check_features(staged, protocol, metadata, table, version)
    _check_partitions(staged.adds, metadata, table)
    for add in staged.adds:
        if add.deletion_vector is not None:
            _check_vector(add, table)


def check_vectors(staged: StagedActions, snapshot: Snapshot | None, described: Collection[str]) -> None:
    """Refuse to add a file that stays live with another deletion vector, and to remove one by another than it has.

    The list of live files is read only where the table can have deletion vectors, and where the commit removes files one
    by one, adds any with a vector, adds any without changing data, or takes in files that are described by their footers. A file
    that its writer has just named is not looked for.

    Args:
        staged: the commit.
        snapshot: what it was prepared for; None where it creates the table.
        described: the paths, as in the log, of the files that were described by their footers.

    Raises:
        InvalidCommitError: one of the two is so. Readers would see rows twice, or the remove would remove nothing.
    """
    if snapshot is None or "deletionVectors" not in reader_features(snapshot.protocol) | writer_features(snapshot.protocol):
        return
    table = snapshot.table_uri
    adds = {
        canonical(add.path, table): add
        for add in staged.adds
        if add.deletion_vector is not None or not add.data_change or add.path in described
    }
    removes = {canonical(remove.path, table): remove for remove in staged.removes}
    if not adds and not removes:
        return
    wanted = pa.array([*adds, *removes], pa.string())
    live = _vectors(snapshot.files(["path", "deletion_vector"]), wanted, table)
    many = {} if staged.removed_files is None else _vectors(staged.removed_files.files, wanted, table)
    for path, remove in removes.items():
        if path in live and _vector_id(remove) not in live[path]:
            raise InvalidCommitError(
                f"the commit removes {remove.path} {_worded(_vector_id(remove))}, and the table has it {_worded(*live[path])}",
                table=table,
                version=snapshot.version,
                file=remove.path,
                error_class="DELTA_FILE_TO_OVERWRITE_NOT_FOUND",
                sql_state="42K03",
                next_step="Remove files with Transaction.remove_files(files), or copy each file's deletion vector.",
            )
    for path, add in adds.items():
        gone = many.get(path, set()) | ({_vector_id(removes[path])} if path in removes else set())
        stays = live.get(path, set()) - gone - {_vector_id(add)}
        if stays:
            raise InvalidCommitError(
                f"the commit adds {add.path} {_worded(_vector_id(add))}, and the table has it already {_worded(*stays)}",
                table=table,
                version=snapshot.version,
                file=add.path,
                next_step="The file's rows are in the table. To bring deleted ones back, remove the file in the same commit.",
            )


def _vectors(files: pa.Table, wanted: pa.Array, table: str) -> dict[str, set[str | None]]:
    """The unique ids of the deletion vectors that some paths have in a list of files; None for no vector."""
    paths = canonical_paths(files["path"], table)
    mask = pc.is_in(paths, value_set=wanted)
    found: dict[str, set[str | None]] = {}
    ids = vector_ids(files["deletion_vector"].filter(mask))
    for path, vector in zip(paths.filter(mask).to_pylist(), ids.to_pylist(), strict=True):
        found.setdefault(path, set()).add(vector)
    return found


def _vector_id(action: AddFile | RemoveFile) -> str | None:
    return None if action.deletion_vector is None else action.deletion_vector.unique_id


def _worded(*vectors: str | None) -> str:
    return " and ".join("without a deletion vector" if each is None else f"with the deletion vector {each}" for each in vectors)


def _check_metadata(metadata: Metadata, base: TableState, table: str, *, replaces_table: bool) -> None:
    if base.metadata is not None and metadata.id != base.metadata.id and not replaces_table:
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


def _check_protocol(protocol: Protocol, base: TableState, table: str, dropped: Collection[str]) -> None:
    """Source: PROTOCOL.md, "Protocol Evolution" and "Table Features"."""
    problems = list(_problems(protocol))
    if problems:
        raise InvalidCommitError(
            f"no table can have the protocol {protocol.to_json()}: {'; '.join(problems)}",
            table=table,
            version=base.version if base.version >= 0 else None,
            error_class="DELTA_INVALID_PROTOCOL_VERSION",
            sql_state="KD004",
            next_step="Make protocols with bayou.protocol.protocol_rules.",
        )
    if base.protocol is not None:
        kept = tuple(sorted(supported_features(base.protocol).difference(dropped)))
        before = Protocol(MAX_READER_VERSION, MAX_WRITER_VERSION, (), kept)
        check_no_downgrade(before, protocol, table=table, version=base.version)


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


def _check_features(staged: StagedActions, protocol: Protocol, metadata: Metadata, table: str, version: int | None) -> None:
    """Refuse what the table's protocol does not tell other clients of."""
    if staged.protocol is not None or staged.metadata is not None:
        schema = parse_schema(metadata.schema_string)
        try:
            check_features_match_metadata(protocol, schema, metadata.configuration, table=table, version=version)
        except CorruptLogError as error:
            raise InvalidCommitError(
                error.message,
                table=table,
                version=version,
                error_class=error.error_class,
                sql_state=error.sql_state,
                next_step="Commit a protocol with these features, too (protocol_rules.upgraded makes one).",
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
            raise InvalidCommitError(
                f"the commit needs the table feature {feature} for {what}, and the table's protocol does not have it",
                table=table,
                version=version,
                error_class=error_class,
                sql_state="0A000",
                next_step=f"Add it with ALTER TABLE ... SET TBLPROPERTIES ('delta.feature.{feature}' = 'supported').",
                features=(feature,),
            )


def _check_numbers(staged: StagedActions, table: str) -> None:
    for name, of, value, lowest, limit in _numbers(staged):
        if value is not None and not (type(value) is int and lowest <= value < limit):
            raise InvalidCommitError(
                f"{name} of {of!r} is {value!r:.60}, and should be a whole number from {lowest} to {limit - 1}",
                table=table,
                error_class="NUMERIC_VALUE_OUT_OF_RANGE",
                sql_state="22003",
                next_step="The log's readers and checkpoints hold no other numbers.",
            )


def _numbers(staged: StagedActions) -> Iterator[tuple[str, str, object, int, int]]:
    """Every number of a commit: its name, what it belongs to, its value, the lowest possible one, and the first that is not."""
    for transaction in staged.transactions:
        yield "the version", transaction.app_id, transaction.version, -_INT64, _INT64
        yield "lastUpdated", transaction.app_id, transaction.last_updated, -_INT64, _INT64
    if staged.metadata is not None:
        yield "createdTime", staged.metadata.id, staged.metadata.created_time, -_INT64, _INT64
    for add in staged.adds:
        yield "modificationTime", add.path, add.modification_time, -_INT64, _INT64
    for remove in staged.removes:
        yield "deletionTimestamp", remove.path, remove.deletion_timestamp, -_INT64, _INT64
    for file in chain[AddFile | RemoveFile](staged.adds, staged.removes):
        yield "size", file.path, file.size, 0, _INT64
        yield "baseRowId", file.path, file.base_row_id, 0, _INT64
        yield "defaultRowCommitVersion", file.path, file.default_row_commit_version, 0, _INT64
        if file.deletion_vector is not None:
            yield "the offset of the vector", file.path, file.deletion_vector.offset, 0, _INT32
            yield "the size of the vector", file.path, file.deletion_vector.size_in_bytes, 0, _INT32
            yield "the cardinality of the vector", file.path, file.deletion_vector.cardinality, 0, _INT64


def _check_unique(staged: StagedActions, table: str) -> None:
    """Source: PROTOCOL.md, "Add File and Remove File"."""
    added = [canonical(each.path, table) for each in staged.adds]
    removed = [canonical(each.path, table) for each in staged.removes]
    _check_paths(added, table)
    added_keys = [_key(path, each) for path, each in zip(added, staged.adds, strict=True)]
    removed_keys = [_key(path, each) for path, each in zip(removed, staged.removes, strict=True)]
    _check_many(staged, added_keys, removed, table)
    for name, values in (
        ("txn", [each.app_id for each in staged.transactions]),
        ("domainMetadata", [each.domain for each in staged.domains]),
        ("add", added),
        ("remove", removed),
        ("add and remove", [*added_keys, *removed_keys]),
    ):
        if len(set(values)) < len(values):
            raise _twice(name, next(value for value, count in Counter(values).items() if count > 1), table)


def _check_paths(paths: Sequence[str], table: str) -> None:
    for path in paths:
        if path.partition("/")[0] in _NO_FOLDERS and not path.startswith("/"):
            raise InvalidCommitError(
                f"{path!r} is no path of a data file: it is not under the table, or in its log",
                table=table,
                file=path,
                error_class="DELTA_INVALID_PATH",
                next_step="Give a path under the table's folder, or an absolute one.",
            )


def _check_many(staged: StagedActions, added_keys: Sequence[str], removed: Sequence[str], table: str) -> None:
    many = staged.removed_files
    if many is None:
        return
    paths = many.paths(table)
    if pc.count_distinct(paths).as_py() < len(paths):
        counted = pc.value_counts(paths)
        raise _twice("remove", counted.filter(pc.greater(counted.field("counts"), 1))[0]["values"].as_py(), table)
    for name, others, among in (("remove", removed, paths), ("add and remove", added_keys, many.keys(table))):
        shared = (
            pc.is_in(pa.array(others, pa.string()), value_set=pa.concat_arrays([pa.array([], pa.string()), *among.chunks]))
            if others
            else None
        )
        if shared is not None and pc.any(shared).as_py():
            raise _twice(name, others[pc.index(shared, True).as_py()], table)


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


def _key(path: str, action: AddFile | RemoveFile) -> str:
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
