# SPDX-License-Identifier: Apache-2.0
"""DROP FEATURE: execute the plan of `protocol.evolution`, which first removes the feature from properties, schema and data files.

Source: delta-spark's `AlterTableDropFeatureDeltaCommand`: its "fast drop", and the older way, which truncates history; and
`PreDowngradeTableFeatureCommand`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import ConcurrentModificationError, DeltaError, failed, reason
from bayou.log.maintenance.feature_history import first_commit, history_uses, truncate_log
from bayou.log.operations.row_id_backfill import has_row_ids
from bayou.log.rows.row_tracking import DOMAIN
from bayou.log.rows.vector_tombstones import vector_tombstones
from bayou.protocol import properties
from bayou.protocol.actions.actions import DomainMetadata
from bayou.protocol.columns.mapping_rules import fields_by_path
from bayou.protocol.evolution.drop_feature import (
    DropFeaturePlan,
    PreDowngrade,
    drop_feature_plan,
    history_remains,
    wait_for_retention,
)
from bayou.protocol.evolution.feature_traces import has_type_changes
from bayou.protocol.evolution.mapping_removal import is_mapped
from bayou.protocol.features.type_widening import TYPE_CHANGES, without_type_changes
from bayou.protocol.types.schema import schema_to_json
from bayou.spark.alter.column_mapping import remove_column_mapping
from bayou.spark.alter.columns import column_parameter
from bayou.spark.alter.metadata_actions import altered, check_argument, without_keys
from bayou.spark.alter.row_tracking import drop_row_ids
from bayou.spark.maintenance.rewrite import Rewriting, Rewritten, rewrite_files
from bayou.spark.scan.widened_files import narrow_files
from bayou.spark.session.operations import operation
from bayou.spark.session.progress import phase

if TYPE_CHECKING:
    from bayou.log.commit.transaction import Action
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.read.session_table import SessionTable

_ATTEMPTS: Final = 20
"""How often the last commit is tried. It names its own version, so each attempt is another commit."""
_CHECKPOINT_ATTEMPTS: Final = 3
_REORG: Final = {"predicate": "[]", "applyPurge": True}


def drop_feature(target: SessionTable, name: Any, *, truncate_history: Any = None) -> None:
    """Remove a feature from a table's protocol.

    Data files with traces of the feature are rewritten by one Spark job, in a separate commit. A feature of readers leaves
    `checkpointProtection` behind, which keeps old versions readable; its drop makes three empty commits and four checkpoints.
    With `truncate_history` it leaves nothing behind, but the old versions must be a day old first: the first call removes the
    feature's traces, and a later one drops it.

    Args:
        truncate_history: whether the history that uses the feature may be deleted; None for False.

    Raises:
        UnsupportedFeatureError: the feature cannot be dropped at all, or not by bayou; or another writer brought traces of it
            back.
        InvalidOptionError: an argument has the wrong type or names a property, the table does not have the feature, its history
            must not, must, or cannot yet be truncated, or CHECK constraints remain.
        InvalidSchemaError: the names of columns need column mapping.
        ConcurrentModificationError: other writers won every attempt, or changed files that are rewritten.
    """
    check_argument(target, "featureName", name, str, "featureName needs to be a string")
    if truncate_history is not None:
        check_argument(target, "truncateHistory", truncate_history, bool, "truncateHistory needs to be a boolean")
    with operation("DROP FEATURE", target.spark, target.settings, target.shown):
        _drop(target, name, truncates=bool(truncate_history))


def plan_drop(target: SessionTable, name: str, *, truncates: bool) -> DropFeaturePlan:
    """Return what `drop_feature` would do. Raise its errors, as far as protocol and metadata decide them."""
    return _plan(target, target.snapshot(), name, truncates=truncates)


def _drop(target: SessionTable, name: str, *, truncates: bool) -> None:
    snapshot = target.snapshot()
    plan = _plan(target, snapshot, name, truncates=truncates)
    if PreDowngrade.TRUNCATE_PROTECTED_HISTORY in plan.actions:
        _truncate_protected(target, plan, snapshot)
        cleaned = False
    else:
        cleaned = _clean(target, plan, snapshot)
    for _ in range(plan.barriers):
        _barrier(target, plan)
    if plan.truncates_history:
        _truncate(target, plan, cleaned=cleaned)
    phase("committing")
    _lower(target, plan.feature, truncates=truncates)
    if plan.protects_checkpoints:
        _checkpoint(target, plan)


def _plan(target: SessionTable, snapshot: Snapshot, name: str, *, truncates: bool) -> DropFeaturePlan:
    return drop_feature_plan(
        snapshot.protocol, snapshot.metadata, name, truncate_history=truncates, table=target.uri, version=snapshot.version
    )


def _truncate_protected(target: SessionTable, plan: DropFeaturePlan, snapshot: Snapshot) -> None:
    """Delete all of the history that checkpoint protection keeps. Raise an error if some of it remains."""
    if not _is_protected(target, snapshot):
        return
    _barrier(target, plan)
    latest = target.snapshot()
    truncate_log(latest)
    if _is_protected(target, latest):
        raise history_remains(plan, latest.metadata, table=target.uri, version=latest.version)


def _truncate(target: SessionTable, plan: DropFeaturePlan, *, cleaned: bool) -> None:
    """Delete old history. Raise an error if history still uses the feature, or if this call removed its traces just before."""
    snapshot = target.snapshot()
    if cleaned:
        raise wait_for_retention(plan, snapshot.metadata, table=target.uri, version=snapshot.version)
    truncate_log(snapshot)
    if history_uses(target.log, plan.feature):
        raise history_remains(plan, snapshot.metadata, table=target.uri, version=snapshot.version)


def _barrier(target: SessionTable, plan: DropFeaturePlan) -> None:
    """Make an empty commit and a checkpoint of it, so that a checkpoint without traces of the feature exists."""
    with target.begin(target.snapshot(), "Empty Commit", {}) as transaction:
        transaction.commit(metrics={}, may_be_empty=True)
    _checkpoint(target, plan)


def _checkpoint(target: SessionTable, plan: DropFeaturePlan) -> None:
    for attempt in range(_CHECKPOINT_ATTEMPTS):
        try:
            target.log.checkpoint()
        except (DeltaError, OSError) as error:
            if attempt + 1 < _CHECKPOINT_ATTEMPTS:
                continue
            raise failed(
                "DELTA_FEATURE_DROP_CHECKPOINT_FAILED",
                table=target.uri,
                version=target.log.known_version,
                features=(plan.feature,),
                reason=reason(error),
            ) from error
        else:
            return


def _lower(target: SessionTable, name: str, *, truncates: bool) -> None:
    """Commit the lower protocol, on a snapshot without traces of the feature."""
    for attempt in range(_ATTEMPTS):
        snapshot = target.snapshot()
        plan = _plan(target, snapshot, name, truncates=truncates)
        _check_no_new_traces(target, plan, snapshot)
        parameters = {"featureName": plan.feature, "truncateHistory": truncates}
        dropped = (plan.feature,)
        try:
            with target.begin(snapshot, "DROP FEATURE", parameters, max_attempts=1, dropped_features=dropped) as transaction:
                transaction.read_whole_table()
                transaction.commit(_last_actions(snapshot, plan), metrics={})
        except ConcurrentModificationError:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return


def _last_actions(snapshot: Snapshot, plan: DropFeaturePlan) -> list[Action]:
    configuration = without_keys(snapshot.metadata.configuration, plan.unset_properties)
    if plan.protects_checkpoints:
        configuration[properties.CHECKPOINT_PROTECTION_VERSION.key] = str(snapshot.version + 1)
    metadata = replace(snapshot.metadata, configuration=configuration)
    actions: list[Action] = [plan.protocol, *([metadata] if metadata != snapshot.metadata else [])]
    marks = snapshot.domain_metadata.get(DOMAIN) if PreDowngrade.REMOVE_ROW_IDS in plan.actions else None
    return actions if marks is None else [*actions, DomainMetadata(DOMAIN, marks.configuration, removed=True)]


def _check_no_new_traces(target: SessionTable, plan: DropFeaturePlan, snapshot: Snapshot) -> None:
    found = [each.name for each in _traces(target, plan, snapshot)]
    found += [f"{key} is set" for key in plan.unset_first]
    found += [f"{key} is not {value}" for key, value in plan.set_properties.items()]
    if found:
        raise failed("DELTA_FEATURE_DROP_CONFLICT_REVALIDATION_FAIL", at=snapshot, features=(plan.feature,), traces=found)


def _traces(target: SessionTable, plan: DropFeaturePlan, snapshot: Snapshot) -> tuple[PreDowngrade, ...]:
    """Return those of a plan's actions that the table needs."""
    return tuple(each for each in plan.actions if _IS_NEEDED[each](target, snapshot))


def _clean(target: SessionTable, plan: DropFeaturePlan, snapshot: Snapshot) -> bool:
    """Remove the traces of a feature from the latest version of a table. Return whether it had any."""
    needed = _traces(target, plan, snapshot)
    _set(target, snapshot, plan)
    for action in needed:
        match action:
            case PreDowngrade.PURGE_DELETION_VECTORS:
                _purge(target)
            case PreDowngrade.REMOVE_ROW_IDS:
                drop_row_ids(target)
            case PreDowngrade.REMOVE_COLUMN_MAPPING:
                remove_column_mapping(target, target.snapshot(), keep_mode=False)
            case PreDowngrade.REWRITE_WIDENED_FILES:
                _remove_type_changes(target)
            case PreDowngrade.REMOVE_DOMAINS:
                _remove_domains(target)
            case _:
                continue
    if PreDowngrade.WRITE_CLASSIC_CHECKPOINT in plan.actions:
        target.log.checkpoint()
    if plan.writes_tombstones:
        _name_vectors(target, may_be_none=plan.protects_checkpoints)
    return bool(needed or plan.unset_first or plan.set_properties)


def _is_protected(target: SessionTable, snapshot: Snapshot) -> bool:
    """Whether the log still has history that checkpoint protection keeps."""
    before = properties.CHECKPOINT_PROTECTION_VERSION.read(snapshot.metadata.configuration)
    first = first_commit(target.log)
    return before > 0 and first is not None and first < before


def _with_vectors(snapshot: Snapshot) -> pa.Array:
    """Return the positions of the files that have deletion vectors."""
    return pc.indices_nonzero(pc.is_valid(snapshot.files(["deletion_vector"])["deletion_vector"]))


def _set(target: SessionTable, snapshot: Snapshot, plan: DropFeaturePlan) -> None:
    """Set or unset the properties that keep other writers from bringing the feature's traces back."""
    touched = (*plan.unset_first, *plan.set_properties)
    if not touched:
        return
    configuration = {**without_keys(snapshot.metadata.configuration, touched), **plan.set_properties}
    actions = altered(snapshot, replace(snapshot.metadata, configuration=configuration), snapshot.schema)
    if plan.unset_first:
        target.commit(snapshot, "UNSET TBLPROPERTIES", {"properties": list(plan.unset_first), "ifExists": True}, actions)
    else:
        target.commit(snapshot, "SET TBLPROPERTIES", {"properties": dict(plan.set_properties)}, actions)


def _remove_domains(target: SessionTable) -> None:
    snapshot = target.snapshot()
    domains = snapshot.domain_metadata.values()
    removed = [DomainMetadata(each.domain, each.configuration, removed=True) for each in domains]
    target.commit(snapshot, "DOMAIN METADATA CLEANUP", {}, removed)


def _purge(target: SessionTable) -> None:
    """Rewrite the files that have deletion vectors, without the deleted rows."""
    snapshot = target.snapshot()
    positions = _with_vectors(snapshot)
    if len(positions):
        rewrite_files(target, snapshot, positions, Rewriting("REORG", _REORG, Rewritten.as_reorg))


def _remove_type_changes(target: SessionTable) -> None:
    """Remove the recorded type changes from the schema, once all files have the wider types."""
    wide = pa.array([], pa.string())
    while True:  # other writers may add narrow files meanwhile; the last commit fails if they still do
        snapshot = target.snapshot()
        paths = snapshot.files(["path"])["path"].combine_chunks()
        unknown = pc.indices_nonzero(pc.invert(pc.is_in(paths, value_set=wide)))
        narrow = narrow_files(target.application.backend, snapshot, unknown, target.options)
        if not len(narrow):
            break
        rewrite_files(target, snapshot, narrow, Rewriting("REORG", _REORG, Rewritten.as_reorg))
        wide = paths  # the narrow ones among them are now removed
    schema = without_type_changes(snapshot.schema)
    widened = [path for path, field in fields_by_path(snapshot.schema) if TYPE_CHANGES in field.metadata]
    wanted = replace(snapshot.metadata, schema_string=schema_to_json(schema))
    actions = altered(snapshot, wanted, schema)
    parameters = {"columns": [column_parameter(snapshot.schema, path) for path in widened]}
    target.commit(snapshot, "DROP FEATURE", parameters, actions, reads_table=True)


def _name_vectors(target: SessionTable, *, may_be_none: bool) -> None:
    """Name the files of old deletion vectors as removed. A VACUUM without deletion vectors then keeps them for a while."""
    snapshot = target.snapshot()
    with target.begin(snapshot, "Deletion Vector Tombstones", {}) as transaction:
        transaction.commit(vector_tombstones(snapshot, int(time.time() * 1000)), metrics={}, may_be_empty=may_be_none)


_IS_NEEDED: Final[Mapping[PreDowngrade, Callable[[SessionTable, Snapshot], bool]]] = {
    PreDowngrade.PURGE_DELETION_VECTORS: lambda _target, snapshot: bool(len(_with_vectors(snapshot))),
    PreDowngrade.REMOVE_COLUMN_MAPPING: lambda _target, snapshot: is_mapped(snapshot.metadata),
    PreDowngrade.REWRITE_WIDENED_FILES: lambda _target, snapshot: has_type_changes(snapshot.schema),
    PreDowngrade.REMOVE_ROW_IDS: lambda _target, snapshot: has_row_ids(snapshot),
    PreDowngrade.REMOVE_DOMAINS: lambda _target, snapshot: bool(snapshot.domain_metadata),
    PreDowngrade.TRUNCATE_PROTECTED_HISTORY: _is_protected,
    # Old checkpoints are not part of the latest version.
    PreDowngrade.WRITE_CLASSIC_CHECKPOINT: lambda _target, _snapshot: False,
}
