# SPDX-License-Identifier: Apache-2.0
"""DROP FEATURE: execute the plan of `protocol.evolution`.

Source: delta-spark's `AlterTableDropFeatureDeltaCommand`: its "fast drop", and the older way, which truncates history.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import ConcurrentModificationError, DeltaError, failed, reason
from bayou.log.maintenance.feature_history import history_uses, truncate_log
from bayou.log.rows.row_tracking import DOMAIN
from bayou.protocol import properties
from bayou.protocol.actions.actions import DomainMetadata
from bayou.protocol.evolution.drop_feature import (
    DropFeaturePlan,
    PreDowngrade,
    drop_feature_plan,
    history_remains,
    wait_for_retention,
)
from bayou.spark.alter.feature_cleanup import clean, is_protected, traces
from bayou.spark.alter.metadata_actions import check_argument, without_keys
from bayou.spark.session.operations import operation
from bayou.spark.session.progress import phase

if TYPE_CHECKING:
    from bayou.log.commit.transaction import Action
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.read.session_table import SessionTable

_ATTEMPTS: Final = 20
"""How often the last commit is tried. It names its own version, so each attempt is another commit."""
_CHECKPOINT_ATTEMPTS: Final = 3


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
    with operation("DROP FEATURE", target.spark, target.settings):
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
        cleaned = clean(target, plan, snapshot)
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
    if not is_protected(target, snapshot):
        return
    _barrier(target, plan)
    latest = target.snapshot()
    truncate_log(latest)
    if is_protected(target, latest):
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
    found = [each.name for each in traces(target, plan, snapshot)]
    found += [f"{key} is set" for key in plan.unset_first]
    found += [f"{key} is not {value}" for key, value in plan.set_properties.items()]
    if found:
        raise failed("DELTA_FEATURE_DROP_CONFLICT_REVALIDATION_FAIL", at=snapshot, features=(plan.feature,), traces=found)
