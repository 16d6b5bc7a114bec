# SPDX-License-Identifier: Apache-2.0
"""DROP FEATURE: what the plan of it says, done; features whose traces are in data files stay.

Source: delta-spark's `AlterTableDropFeatureDeltaCommand` and its "fast drop".
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from bayou.errors import ConcurrentModificationError, UnsupportedFeatureError
from bayou.protocol import properties
from bayou.protocol.actions import DomainMetadata
from bayou.protocol.drop_feature import DropFeaturePlan, PreDowngrade, drop_feature_plan
from bayou.protocol.mapping_rules import fields_by_path
from bayou.protocol.type_widening import TYPE_CHANGES
from bayou.spark.alter_target import altered

if TYPE_CHECKING:
    from bayou.log.snapshot import Snapshot
    from bayou.log.transaction import Action
    from bayou.protocol.actions import Metadata
    from bayou.spark.alter_target import AlterTarget

_ATTEMPTS: Final = 20
"""How often the last commit is tried: it names its own version, so that each attempt is another commit."""


def drop_feature(target: AlterTarget, name: str, *, truncate_history: bool = False) -> None:
    """Takes a feature from a table's protocol.

    A feature that readers look at leaves `checkpointProtection` behind, which keeps old versions readable; its drop makes
    three empty commits and four checkpoints.

    Args:
        target: the table.
        name: the feature, in any case.
        truncate_history: whether the history that knows the feature may go.

    Raises:
        UnsupportedFeatureError: the feature cannot be dropped by anyone, or not by bayou with the traces that the table has.
        InvalidOptionError: no feature is named but a property, the table does not have it, its history may not, or must, be
            truncated, or CHECK constraints are left.
        ConcurrentModificationError: other writers were always faster.
    """
    snapshot = target.snapshot()
    plan = _plan(target, snapshot, name, truncate_history=truncate_history)
    _set(target, snapshot, plan)
    if PreDowngrade.REMOVE_DOMAINS in plan.actions:
        _remove_domains(target)
    if PreDowngrade.WRITE_CLASSIC_CHECKPOINT in plan.actions:
        target.log.checkpoint()
    for _ in range(plan.barriers):
        # The metadata as they are: a commit needs an action.
        before = target.snapshot()
        target.commit(before, "Empty Commit", {}, [before.metadata])
        target.log.checkpoint()
    _lower(target, plan.feature)
    if plan.protects_checkpoints:
        target.log.checkpoint()


def _plan(target: AlterTarget, snapshot: Snapshot, name: str, *, truncate_history: bool = False) -> DropFeaturePlan:
    plan = drop_feature_plan(
        snapshot.protocol,
        snapshot.metadata,
        name,
        truncate_history=truncate_history,
        table=target.uri,
        version=snapshot.version,
    )
    obstacle = "the history of the table has to be truncated" if plan.truncates_history else _obstacle(plan, snapshot)
    if obstacle:
        raise UnsupportedFeatureError(
            f"the feature {plan.feature} cannot be dropped by this version of bayou: {obstacle}",
            table=target.uri,
            version=snapshot.version,
            error_class="DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE",
            sql_state="0AKDC",
            next_step="drop it with an engine that does, or without truncateHistory."
            if plan.truncates_history
            else "drop it with an engine that does.",
            features=(plan.feature,),
        )
    return plan


def _obstacle(plan: DropFeaturePlan, snapshot: Snapshot) -> str:
    """What would have to be undone and cannot be yet; empty where nothing is."""
    for action in plan.actions:
        match action:
            case PreDowngrade.REMOVE_DOMAINS | PreDowngrade.WRITE_CLASSIC_CHECKPOINT:
                continue
            case PreDowngrade.REWRITE_WIDENED_FILES if not _has_type_changes(snapshot):
                continue
            case PreDowngrade.PURGE_DELETION_VECTORS if not _has_vectors(snapshot):
                continue
            case _:
                return f"it would have to {action.value}"
    return ""


def _has_type_changes(snapshot: Snapshot) -> bool:
    return any(TYPE_CHANGES in field.metadata for _, field in fields_by_path(snapshot.schema))


def _has_vectors(snapshot: Snapshot) -> bool:
    """Whether a file has a deletion vector, or had one when it was removed: old versions need that one's file."""
    tables = (snapshot.files(["deletion_vector"]), snapshot.tombstones())
    return any(pc.any(pc.is_valid(each["deletion_vector"])).as_py() for each in tables)


def _set(target: AlterTarget, snapshot: Snapshot, plan: DropFeaturePlan) -> None:
    """Sets the properties that keep other writers from bringing the feature's traces back."""
    if plan.set_properties:
        configuration = {**_without(snapshot.metadata, tuple(plan.set_properties)), **plan.set_properties}
        actions = altered(snapshot, replace(snapshot.metadata, configuration=configuration), snapshot.schema)
        target.commit(snapshot, "SET TBLPROPERTIES", {"properties": dict(plan.set_properties)}, actions)


def _remove_domains(target: AlterTarget) -> None:
    snapshot = target.snapshot()
    domains = snapshot.domain_metadata.values()
    gone = [DomainMetadata(each.domain, each.configuration, removed=True) for each in domains]
    target.commit(snapshot, "DOMAIN METADATA CLEANUP", {}, gone)


def _lower(target: AlterTarget, name: str) -> None:
    """Commits the lower protocol, on top of a state that has no trace of the feature."""
    for attempt in range(_ATTEMPTS):
        snapshot = target.snapshot()
        plan = _plan(target, snapshot, name)
        configuration = _without(snapshot.metadata, plan.unset_properties)
        if plan.protects_checkpoints:
            configuration[properties.CHECKPOINT_PROTECTION_VERSION.key] = str(snapshot.version + 1)
        metadata = replace(snapshot.metadata, configuration=configuration)
        parameters = {"featureName": plan.feature, "truncateHistory": False}
        actions: list[Action] = [plan.protocol, *([metadata] if metadata != snapshot.metadata else [])]
        dropped = (plan.feature,)
        try:
            with target.begin(snapshot, "DROP FEATURE", parameters, max_attempts=1, dropped_features=dropped) as transaction:
                transaction.read_whole_table()
                transaction.commit(actions, metrics={})
        except ConcurrentModificationError:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return


def _without(metadata: Metadata, keys: tuple[str, ...]) -> dict[str, str]:
    gone = {key.lower() for key in keys}
    return {key: value for key, value in metadata.configuration.items() if key.lower() not in gone}
