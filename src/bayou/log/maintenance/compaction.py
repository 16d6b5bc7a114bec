# SPDX-License-Identifier: Apache-2.0
"""Log compaction: write one file that readers use instead of a range of commits.

Source: PROTOCOL.md, "Log Compaction Files" and "Action Reconciliation".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import failed
from bayou.log.actions.action_files import ActionFile, FileActions, file_actions
from bayou.log.actions.keys import action_keys
from bayou.log.segment.listing import LogListing, list_versions
from bayou.log.segment.segment import earliest_version, version_not_found
from bayou.log.snapshot.log_reader import LogReader
from bayou.log.staging.staged import encode_commit
from bayou.protocol.actions.file_names import compacted_path
from bayou.protocol.arguments import shown_text

# The last action of each kind counts. The value names the field that distinguishes several actions of a kind.
_LAST_COUNTS: Final[Mapping[str, str | None]] = {"protocol": None, "metaData": None, "txn": "appId", "domainMetadata": "domain"}

# They describe a commit and are not part of the table's state.
_LEFT_OUT: Final = frozenset({"commitInfo", "cdc"})

_FILE_ACTIONS: Final = ("add", "remove")


def compact_log(log: LogReader, start: int, end: int) -> str:
    """Write the compacted file of a range of commits, unless it exists already, and return its path relative to the table.

    The file holds the last action on each logical file. It keeps all removes and removed domain metadata, however old: they cancel
    actions from before the range. The commits stay. Costs one listing and the reading of the commits.

    Raises:
        InvalidOptionError: the range is not two ascending versions, or has nothing to compact.
        VersionNotFoundError: a commit of the range is not in the log.
        CorruptLogError: a commit cannot be read.
        UnsupportedFeatureError: bayou cannot read the table, or a commit has an unknown kind of action.
        StorageError: the store failed.
    """
    if any(type(version) is not int for version in (start, end)) or start >= end:
        raise failed("DELTA_ILLEGAL_OPTION/compaction-range", table=log.table_uri, start=shown_text(start), end=shown_text(end))
    log.update()
    listing = list_versions(log.store)
    files = [_read(log, listing, version) for version in range(start, end + 1)]
    actions = list(_reconciled(files, log.table_uri))
    if not actions:
        raise failed("DELTA_ILLEGAL_OPTION/nothing-to-compact", table=log.table_uri, start=start, end=end)
    path = compacted_path(start, end)
    log.store.put_if_absent(path, encode_commit(actions))
    return path


def _read(log: LogReader, listing: LogListing, version: int) -> ActionFile:
    """Read a commit. Raise VersionNotFoundError if it is missing, or has been cleaned up since the log was listed."""
    status = listing.commits.get(version)
    try:
        data = None if status is None else log.store.read(status.path)
    except FileNotFoundError:  # cleaned up since it was listed
        data = None
    if status is None or data is None:
        raise version_not_found(log.table_uri, version, earliest_version(listing), listing.latest)
    return ActionFile(data, table=log.table_uri, path=status.path, version=version)


def _reconciled(files: Sequence[ActionFile], table: str) -> Iterator[Mapping[str, Any]]:
    """Return the last action on each key, as the log has it, so that fields unknown to bayou are kept.

    An unknown kind of action is refused, because its key is unknown.
    """
    last: dict[tuple[str, Any], Mapping[str, Any]] = {}
    bulk: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind in _FILE_ACTIONS}
    for file in files:
        file.header()  # raises if an action has a field of a wrong type
        for action in file.actions():
            for kind, value in action.items():
                if kind in _FILE_ACTIONS and value is not None:
                    bulk[kind].append(value)
                elif kind in _LAST_COUNTS and value is not None:
                    field = _LAST_COUNTS[kind]
                    last[kind, value[field] if field else None] = {kind: value}
                elif kind not in _LEFT_OUT and value is not None:
                    raise failed(
                        "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE/action", table=table, version=file.version, kind=kind, features=()
                    )
    yield from last.values()
    # The masks have the order of `bulk`: the order of the log.
    for kind, mask in zip(_FILE_ACTIONS, _last_on_their_key(file_actions(files), table), strict=True):
        yield from ({kind: value} for value, is_last in zip(bulk[kind], mask.to_pylist(), strict=True) if is_last)


def _last_on_their_key(actions: FileActions, table: str) -> tuple[pa.Array, pa.Array]:
    """Return for each add and each remove whether it is the last action on its logical file."""
    keys = [action_keys(each["path"], each["deletion_vector"], table) for each in (actions.adds, actions.removes)]
    orders = (actions.add_order, actions.remove_order)
    columns = [pa.chunked_array([chunk for key in keys for chunk in key.chunks], pa.string()), pa.concat_arrays(orders)]
    grouped = pa.table(columns, names=["key", "order"]).group_by("key").aggregate([("order", "max")])
    last = grouped["order_max"].combine_chunks()
    return pc.is_in(orders[0], value_set=last), pc.is_in(orders[1], value_set=last)
