# SPDX-License-Identifier: Apache-2.0
"""Table properties and the table's comment: SET and UNSET TBLPROPERTIES, COMMENT ON TABLE, protocol upgrades.

Source: delta-spark's `AlterTableSetPropertiesDeltaCommand` and `AlterTableUnsetPropertiesDeltaCommand`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import InvalidOptionError
from bayou.log.operations.row_id_backfill import lacks_row_ids
from bayou.log.rows.row_tracking import FEATURE
from bayou.protocol import properties
from bayou.protocol.actions.actions import Metadata, Protocol
from bayou.protocol.columns.mapping_rules import mode_change
from bayou.protocol.evolution.property_combinations import check_combinations
from bayou.protocol.evolution.property_rules import PropertyChange, allows_arbitrary, canonical_key, compared_key, validated
from bayou.protocol.features.features import MAX_READER_VERSION, MAX_WRITER_VERSION
from bayou.protocol.features.protocol_rules import supported_features
from bayou.protocol.properties import mapping_mode
from bayou.protocol.stats.indexed_columns import check_stats_columns
from bayou.spark.alter.column_mapping import ALLOW_REMOVAL, remove_column_mapping
from bayou.spark.alter.metadata_actions import altered, check_argument, table_rules
from bayou.spark.alter.row_tracking import give_row_ids

if TYPE_CHECKING:
    from bayou.log.commit.transaction import Action
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.read.session_table import SessionTable

COMMENT: Final = "comment"
"""The key under which the table's comment is set like a property; it is kept as the metadata's description."""

_BY_WRITERS_ONLY: Final = (
    properties.MAX_COLUMN_ID.key,
    properties.MATERIALIZED_ROW_ID.key,
    properties.MATERIALIZED_ROW_COMMIT_VERSION.key,
)


def set_properties(target: SessionTable, given: Mapping[str, str]) -> None:
    """Sets table properties, with the features and the protocol that they need; commits nothing where nothing changes.

    Column mapping goes where its mode is set to `none`, in a commit of its own; files may be written again for it. A table that
    begins to track rows first gets row ids for the files that have none, in commits of their own.

    Args:
        given: the properties; `comment`, `delta.feature.*` and the protocol's versions mean what they mean in SQL.

    Raises:
        InvalidOptionError: a key is unknown or no user's to set, a value is not of its key, or values exclude each other.
        InvalidSchemaError: a statistics column is none, or a column has a name that the change excludes.
        UnsupportedFeatureError: the change needs a feature that bayou does not do.
    """
    snapshot = target.snapshot()
    texts = {key: _text(value) for key, value in given.items()}
    mode = next((value for key, value in texts.items() if canonical_key(key) == properties.COLUMN_MAPPING_MODE.key), "")
    if _removes_mapping(target, snapshot, mode):
        texts = {key: value for key, value in texts.items() if canonical_key(key) != properties.COLUMN_MAPPING_MODE.key}
        _actions(target, snapshot, texts)  # what is wrong with the others is an error before anything is done
        remove_column_mapping(target, snapshot, keep_mode=True)
        if not texts:
            return
        snapshot = target.snapshot()
    actions = _actions(target, snapshot, texts)
    tracks = _begins_row_tracking(snapshot, actions)
    # Once is enough, unless another writer takes the ids or the feature away meanwhile.
    while tracks and (lacks_row_ids(snapshot) or FEATURE not in supported_features(snapshot.protocol)):
        give_row_ids(target, snapshot)
        snapshot = target.snapshot()
        actions = _actions(target, snapshot, texts)
    # A file that is added while row tracking is suspended has no row ids.
    reads = tracks and properties.ROW_TRACKING_SUSPENDED.read(snapshot.metadata.configuration)
    target.commit(snapshot, "SET TBLPROPERTIES", {"properties": texts}, actions, reads_table=reads)


def unset_properties(target: SessionTable, keys: Sequence[str], *, if_exists: bool = False) -> None:
    """Takes table properties away, so that their defaults hold again.

    Args:
        keys: the properties' keys; `comment` for the table's comment.
        if_exists: whether keys that are not set are passed over.

    Raises:
        InvalidOptionError: a key is not set, or no user's to change, or what is left excludes itself.
    """
    snapshot = target.snapshot()
    wanted = list(dict.fromkeys(map(canonical_key, keys)))
    _check_unset(snapshot, wanted, if_exists=if_exists)
    after = _without(snapshot.metadata.configuration, wanted)
    check_combinations(after, table=target.uri, version=snapshot.version, touched=dict.fromkeys(wanted, ""))
    if properties.COLUMN_MAPPING_MODE.key in wanted and _removes_mapping(target, snapshot, "none"):
        remove_column_mapping(target, snapshot, keep_mode=False)
        if len(wanted) == 1:
            return
        snapshot = target.snapshot()
        after = _without(snapshot.metadata.configuration, wanted)
    _check_mapping(snapshot, after)
    description = None if COMMENT in map(compared_key, wanted) else snapshot.metadata.description
    metadata = replace(snapshot.metadata, configuration=after, description=description)
    parameters = {"properties": wanted, "ifExists": if_exists}
    target.commit(snapshot, "UNSET TBLPROPERTIES", parameters, altered(snapshot, metadata, snapshot.schema))


def set_comment(target: SessionTable, text: str | None) -> None:
    """Sets the table's comment, or takes it away where it is None."""
    if text is None:
        unset_properties(target, [COMMENT], if_exists=True)
    else:
        set_properties(target, {COMMENT: text})


def _actions(target: SessionTable, snapshot: Snapshot, texts: Mapping[str, str]) -> list[Action]:
    """What setting some properties changes, after every check of them."""
    before = snapshot.metadata.configuration
    allowed = allows_arbitrary(target.settings)
    change = validated(texts, table=target.uri, version=snapshot.version, current=before, allow_arbitrary=allowed)
    check_stats_columns(snapshot.schema, snapshot.partition_columns, change.configuration, table_rules(snapshot))
    after = {**_without(before, change.configuration), **change.configuration}
    _check_mapping(snapshot, after)
    description = snapshot.metadata.description if change.description is None else change.description
    wanted = replace(snapshot.metadata, configuration=after, description=description)
    actions = altered(snapshot, wanted, snapshot.schema, change)
    _check_versions(snapshot, change, next((each for each in actions if isinstance(each, Protocol)), snapshot.protocol))
    return actions


def _check_versions(snapshot: Snapshot, asked: PropertyChange, after: Protocol) -> None:
    """Refuses readers that look at lists of features beside writers that do not."""
    writer = asked.min_writer_version or after.min_writer_version
    if (asked.min_reader_version or 0) >= MAX_READER_VERSION and writer < MAX_WRITER_VERSION:
        raise InvalidOptionError(
            "Unable to upgrade only the reader protocol version to use table features.",
            at=snapshot,
            error_class="DELTA_READ_FEATURE_PROTOCOL_REQUIRES_WRITE",
            next_step=f"give the writer version {MAX_WRITER_VERSION}, too.",
            option=properties.MIN_WRITER_VERSION.key,
        )


def _text(value: object) -> str:
    """A value as the log keeps it; Python's booleans are spelled as SQL spells them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _without(configuration: Mapping[str, str], keys: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    """A configuration without some keys; those of `delta.` in whatever case the table spells them."""
    gone = set(map(compared_key, keys))
    return {key: value for key, value in configuration.items() if compared_key(key) not in gone}


def _check_mapping(snapshot: Snapshot, after: Mapping[str, str]) -> None:
    before = snapshot.metadata.configuration
    mode_change(before, after, table=snapshot.table_uri, version=snapshot.version, allow_removal=False)


def _removes_mapping(target: SessionTable, snapshot: Snapshot, mode: str) -> bool:
    """Whether a mode takes column mapping from a table that has it, where the session allows that."""
    if mode.strip().lower() != "none" or mapping_mode(snapshot.metadata.configuration) == "none":
        return False
    return target.settings.get(ALLOW_REMOVAL, "true").lower() != "false"


def _begins_row_tracking(snapshot: Snapshot, actions: Sequence[Action]) -> bool:
    """Whether a change turns row tracking on; every file must have row ids then."""
    enabled = properties.ENABLE_ROW_TRACKING
    changed = (each for each in actions if isinstance(each, Metadata))
    return not enabled.read(snapshot.metadata.configuration) and any(enabled.read(each.configuration) for each in changed)


def _check_unset(snapshot: Snapshot, keys: Sequence[str], *, if_exists: bool) -> None:
    known = set(map(compared_key, snapshot.metadata.configuration))
    known |= {COMMENT} if snapshot.metadata.description is not None else set()
    for key in keys:
        if key in _BY_WRITERS_ONLY:
            raise InvalidOptionError(
                f"the Delta table configuration {key} cannot be specified by the user: writers keep it",
                at=snapshot,
                error_class="DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
                option=key,
            )
        if not if_exists and compared_key(key) not in known:
            raise InvalidOptionError(
                f"Attempted to unset non-existent property '{key}' in table {snapshot.table_uri}",
                at=snapshot,
                error_class="DELTA_UNSET_NON_EXISTENT_PROPERTY",
                next_step="check the key, or use ifExists.",
                option=key,
            )


def upgrade_protocol(target: SessionTable, reader_version: Any, writer_version: Any) -> None:
    """Adds the features that two protocol versions imply; lower versions than the table's change nothing.

    Source: delta-spark's `DeltaTable.upgradeTableProtocol`; the history calls it SET TBLPROPERTIES.

    Raises:
        InvalidOptionError: a version is no number, or there is no such version.
        UnsupportedFeatureError: the versions imply what bayou does not do for this table.
    """
    given = {"readerVersion": reader_version, "writerVersion": writer_version}
    for name, value in given.items():
        check_argument(target, name, value, int, f"The {name} needs to be an integer")
    keys = (properties.MIN_READER_VERSION.key, properties.MIN_WRITER_VERSION.key)
    set_properties(target, dict(zip(keys, given.values(), strict=True)))


def add_feature(target: SessionTable, name: Any) -> None:
    """Adds a table feature, with those that it requires.

    Source: delta-spark's `DeltaTable.addFeatureSupport`; the history calls it SET TBLPROPERTIES.

    Raises:
        InvalidOptionError: the name is no text, or the feature cannot be added by itself.
        UnsupportedFeatureError: the feature is not known, or bayou does not do what it asks of writers.
    """
    check_argument(target, "featureName", name, str, "featureName needs to be a string")
    set_properties(target, {f"{properties.FEATURE_PREFIX}{name}": "supported"})
