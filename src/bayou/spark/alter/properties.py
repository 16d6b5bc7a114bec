# SPDX-License-Identifier: Apache-2.0
"""Table properties and the table's comment: SET and UNSET TBLPROPERTIES, COMMENT ON TABLE, protocol upgrades.

Source: delta-spark's `AlterTableSetPropertiesDeltaCommand` and `AlterTableUnsetPropertiesDeltaCommand`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import failed
from bayou.log.operations.row_id_backfill import lacks_row_ids
from bayou.log.rows.row_tracking import FEATURE
from bayou.protocol import properties
from bayou.protocol.actions.actions import Metadata, Protocol
from bayou.protocol.columns.mapping_rules import mode_change
from bayou.protocol.evolution.property_rules import (
    BY_WRITERS_ONLY,
    PropertyChange,
    allows_arbitrary,
    canonical_key,
    check_combinations,
    compared_key,
    validated,
)
from bayou.protocol.features.features import MAX_READER_VERSION, MAX_WRITER_VERSION
from bayou.protocol.features.protocol_rules import supported_features
from bayou.protocol.properties import mapping_mode
from bayou.protocol.stats.indexed_columns import check_stats_columns
from bayou.spark.alter.column_mapping import ALLOW_REMOVAL, remove_column_mapping
from bayou.spark.alter.metadata_actions import altered, check_argument, table_rules, without_keys
from bayou.spark.alter.row_tracking import add_row_ids
from bayou.spark.session.settings import is_on

if TYPE_CHECKING:
    from bayou.log.commit.transaction import Action
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.read.session_table import SessionTable

COMMENT: Final = "comment"
"""The key that sets the table's comment like a property. The log keeps it as the metadata's description."""


def set_properties(target: SessionTable, given: Mapping[str, str]) -> None:
    """Set table properties, with the features and the protocol that they need. A no-op if nothing changes.

    Setting the column mapping mode to `none` removes column mapping in a separate commit, and may rewrite files. If row
    tracking is enabled, first give row ids to the files that lack them, in separate commits. `comment`, `delta.feature.*` and
    the protocol's versions mean the same as in SQL.

    Raises:
        InvalidOptionError: a key is unknown or not for users, a value does not fit its key, or values exclude each other.
        InvalidSchemaError: a statistics column cannot be one, or the change excludes the name of a column.
        UnsupportedFeatureError: the change needs a feature that bayou does not support.
    """
    snapshot = target.snapshot()
    texts = {key: _text(value) for key, value in given.items()}
    mode = next((value for key, value in texts.items() if canonical_key(key) == properties.COLUMN_MAPPING_MODE.key), "")
    if _removes_mapping(target, snapshot, mode):
        texts = {key: value for key, value in texts.items() if canonical_key(key) != properties.COLUMN_MAPPING_MODE.key}
        _actions(target, snapshot, texts)  # check the others before anything is committed
        remove_column_mapping(target, snapshot, keep_mode=True)
        if not texts:
            return
        snapshot = target.snapshot()
    actions = _actions(target, snapshot, texts)
    tracks = _begins_row_tracking(snapshot, actions)
    # Once is enough, unless another writer removes the ids or the feature in the meantime.
    while tracks and (lacks_row_ids(snapshot) or FEATURE not in supported_features(snapshot.protocol)):
        add_row_ids(target, snapshot)
        snapshot = target.snapshot()
        actions = _actions(target, snapshot, texts)
    # A file that is added while row tracking is suspended has no row ids.
    reads = tracks and properties.ROW_TRACKING_SUSPENDED.read(snapshot.metadata.configuration)
    target.commit(snapshot, "SET TBLPROPERTIES", {"properties": texts}, actions, reads_table=reads)


def unset_properties(target: SessionTable, keys: Sequence[str], *, if_exists: bool = False) -> None:
    """Unset table properties, so that their defaults apply again. The key `comment` is the table's comment.

    Raises:
        InvalidOptionError: a key is not for users, or is not set and `if_exists` is False; or the remaining properties exclude
            each other.
    """
    snapshot = target.snapshot()
    wanted = list(dict.fromkeys(map(canonical_key, keys)))
    _check_unset(snapshot, wanted, if_exists=if_exists)
    after = without_keys(snapshot.metadata.configuration, wanted)
    check_combinations(after, table=target.uri, version=snapshot.version, touched=dict.fromkeys(wanted, ""))
    if properties.COLUMN_MAPPING_MODE.key in wanted and _removes_mapping(target, snapshot, "none"):
        remove_column_mapping(target, snapshot, keep_mode=False)
        if len(wanted) == 1:
            return
        snapshot = target.snapshot()
        after = without_keys(snapshot.metadata.configuration, wanted)
    _check_mapping(snapshot, after)
    description = None if COMMENT in map(compared_key, wanted) else snapshot.metadata.description
    metadata = replace(snapshot.metadata, configuration=after, description=description)
    parameters = {"properties": wanted, "ifExists": if_exists}
    target.commit(snapshot, "UNSET TBLPROPERTIES", parameters, altered(snapshot, metadata, snapshot.schema))


def set_comment(target: SessionTable, text: str | None) -> None:
    """Set the table's comment, or remove it if it is None."""
    if text is None:
        unset_properties(target, [COMMENT], if_exists=True)
    else:
        set_properties(target, {COMMENT: text})


def _actions(target: SessionTable, snapshot: Snapshot, texts: Mapping[str, str]) -> list[Action]:
    """Check properties to set, and return the actions that set them."""
    before = snapshot.metadata.configuration
    allowed = allows_arbitrary(target.settings)
    change = validated(texts, table=target.uri, version=snapshot.version, current=before, allow_arbitrary=allowed)
    check_stats_columns(snapshot.schema, snapshot.partition_columns, change.configuration, table_rules(snapshot))
    after = {**without_keys(before, change.configuration), **change.configuration}
    _check_mapping(snapshot, after)
    description = snapshot.metadata.description if change.description is None else change.description
    wanted = replace(snapshot.metadata, configuration=after, description=description)
    actions = altered(snapshot, wanted, snapshot.schema, change)
    _check_versions(snapshot, change, next((each for each in actions if isinstance(each, Protocol)), snapshot.protocol))
    return actions


def _check_versions(snapshot: Snapshot, asked: PropertyChange, after: Protocol) -> None:
    """Raise InvalidOptionError if only the reader version would support table features."""
    writer = asked.min_writer_version or after.min_writer_version
    if (asked.min_reader_version or 0) >= MAX_READER_VERSION and writer < MAX_WRITER_VERSION:
        required, option = MAX_WRITER_VERSION, properties.MIN_WRITER_VERSION.key
        raise failed("DELTA_READ_FEATURE_PROTOCOL_REQUIRES_WRITE", at=snapshot, required=required, option=option)


def _text(value: object) -> str:
    """Return a value as the log stores it. SQL spells booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_mapping(snapshot: Snapshot, after: Mapping[str, str]) -> None:
    before = snapshot.metadata.configuration
    mode_change(before, after, table=snapshot.table_uri, version=snapshot.version, allow_removal=False)


def _removes_mapping(target: SessionTable, snapshot: Snapshot, mode: str) -> bool:
    """Whether a mode removes column mapping from a table that has it, and the session allows it."""
    if mode.strip().lower() != "none" or mapping_mode(snapshot.metadata.configuration) == "none":
        return False
    return is_on(target.settings, ALLOW_REMOVAL, default=True)


def _begins_row_tracking(snapshot: Snapshot, actions: Sequence[Action]) -> bool:
    """Whether the actions enable row tracking, so that every file needs row ids."""
    enabled = properties.ENABLE_ROW_TRACKING
    changed = (each for each in actions if isinstance(each, Metadata))
    return not enabled.read(snapshot.metadata.configuration) and any(enabled.read(each.configuration) for each in changed)


def _check_unset(snapshot: Snapshot, keys: Sequence[str], *, if_exists: bool) -> None:
    known = set(map(compared_key, snapshot.metadata.configuration))
    known |= {COMMENT} if snapshot.metadata.description is not None else set()
    for key in keys:
        if key in BY_WRITERS_ONLY:
            raise failed("DELTA_CANNOT_MODIFY_TABLE_PROPERTY", at=snapshot, option=key)
        if not if_exists and compared_key(key) not in known:
            raise failed("DELTA_UNSET_NON_EXISTENT_PROPERTY", at=snapshot, option=key)


def upgrade_protocol(target: SessionTable, reader_version: Any, writer_version: Any) -> None:
    """Add the features that two protocol versions imply. Versions below the table's are ignored.

    Source: delta-spark's `DeltaTable.upgradeTableProtocol`; the history calls it SET TBLPROPERTIES.

    Raises:
        InvalidOptionError: a version is not an integer or does not exist.
        UnsupportedFeatureError: the versions imply a feature that bayou does not support for this table.
    """
    given = {"readerVersion": reader_version, "writerVersion": writer_version}
    for name, value in given.items():
        check_argument(target, name, value, int, f"The {name} needs to be an integer")
    keys = (properties.MIN_READER_VERSION.key, properties.MIN_WRITER_VERSION.key)
    set_properties(target, dict(zip(keys, given.values(), strict=True)))


def add_feature(target: SessionTable, name: Any) -> None:
    """Add a table feature and those that it requires.

    Source: delta-spark's `DeltaTable.addFeatureSupport`; the history calls it SET TBLPROPERTIES.

    Raises:
        InvalidOptionError: the name is not a string, or the feature cannot be added alone.
        UnsupportedFeatureError: the feature is unknown, or bayou does not support writing with it.
    """
    check_argument(target, "featureName", name, str, "featureName needs to be a string")
    set_properties(target, {f"{properties.FEATURE_PREFIX}{name}": "supported"})
