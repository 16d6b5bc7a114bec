# SPDX-License-Identifier: Apache-2.0
"""What a table has of a feature that is to be dropped, and taking that away, as far as no data file has to be rewritten.

Source: delta-spark's `PreDowngradeTableFeatureCommand`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from bayou.errors import UnsupportedFeatureError
from bayou.log.deletion_vector_tombstones import vector_tombstones
from bayou.log.feature_history import first_commit
from bayou.log.row_id_backfill import has_row_ids
from bayou.protocol import properties
from bayou.protocol.actions import DomainMetadata
from bayou.protocol.drop_feature import DropFeaturePlan, PreDowngrade
from bayou.protocol.feature_traces import has_type_changes
from bayou.protocol.mapping_removal import is_mapped, why_files_need_rewriting
from bayou.protocol.mapping_rules import fields_by_path, shown_path
from bayou.protocol.schema import schema_to_json
from bayou.protocol.type_widening import TYPE_CHANGES, without_type_changes
from bayou.spark.alter_mapping import remove_column_mapping
from bayou.spark.alter_row_tracking import take_row_ids
from bayou.spark.alter_target import altered

if TYPE_CHECKING:
    from bayou.log.snapshot import Snapshot
    from bayou.protocol.actions import Metadata
    from bayou.spark.alter_target import AlterTarget

_PURGE: Final = (
    "write the rows again, for example by an overwrite of the table or of its partitions with themselves, or purge the table "
    "with an engine that does (REORG TABLE ... APPLY (PURGE)). Then drop the feature."
)
_ELSEWHERE: Final = "drop it with an engine that does."


def traces(target: AlterTarget, plan: DropFeaturePlan, snapshot: Snapshot) -> tuple[PreDowngrade, ...]:
    """What of a plan's actions there is to do on a table.

    Args:
        target: the table.
        plan: how it loses a feature.
        snapshot: its state.
    """
    return tuple(each for each in plan.actions if _IS_NEEDED[each](target, snapshot))


def refuse_rewriting(plan: DropFeaturePlan, needed: tuple[PreDowngrade, ...], snapshot: Snapshot) -> None:
    """Refuses what cannot be done without writing data files.

    Args:
        plan: how the table loses a feature.
        needed: what there is to do.
        snapshot: the table.

    Raises:
        UnsupportedFeatureError: files would have to be rewritten.
    """
    for action in needed:
        why, step = "", _ELSEWHERE
        match action:
            case PreDowngrade.PURGE_DELETION_VECTORS:
                why, step = f"it would have to {action.value}", _PURGE
            case PreDowngrade.REWRITE_WIDENED_FILES if snapshot.num_files:
                why = f"it would have to {action.value}"
            case PreDowngrade.REMOVE_COLUMN_MAPPING:
                why = why_files_need_rewriting(snapshot.metadata)
                why = f"{why}, and it would have to {action.value}" if why else ""
            case _:
                pass
        if why:
            raise UnsupportedFeatureError(
                f"the feature {plan.feature} cannot be dropped by this version of bayou: {why}",
                table=snapshot.table_uri,
                version=snapshot.version,
                error_class="DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE",
                sql_state="0AKDC",
                next_step=step,
                features=(plan.feature,),
            )


def clean(target: AlterTarget, plan: DropFeaturePlan, snapshot: Snapshot) -> bool:
    """Takes the traces of a feature from the latest version of a table.

    Args:
        target: the table.
        plan: how it loses the feature; `refuse_rewriting` has let it pass.
        snapshot: its state.

    Returns:
        Whether there were any, so that old versions have them still.
    """
    needed = traces(target, plan, snapshot)
    _set(target, snapshot, plan)
    for action in needed:
        match action:
            case PreDowngrade.REMOVE_ROW_IDS:
                take_row_ids(target)
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
        _name_vectors(target)
    return bool(needed or plan.set_properties)


def is_protected(target: AlterTarget, snapshot: Snapshot) -> bool:
    """Whether the log still has the history that checkpoint protection is about.

    Args:
        target: the table.
        snapshot: its state.
    """
    before = properties.CHECKPOINT_PROTECTION_VERSION.read(snapshot.metadata.configuration)
    first = first_commit(target.log)
    return before > 0 and first is not None and first < before


def without_keys(metadata: Metadata, keys: tuple[str, ...]) -> dict[str, str]:
    """The properties of a table without some, in whatever case the table spells them.

    Args:
        metadata: the table's metadata.
        keys: the properties to leave out.
    """
    gone = {key.lower() for key in keys}
    return {key: value for key, value in metadata.configuration.items() if key.lower() not in gone}


def _has_vectors(snapshot: Snapshot) -> bool:
    return bool(pc.any(pc.is_valid(snapshot.files(["deletion_vector"])["deletion_vector"])).as_py())


def _set(target: AlterTarget, snapshot: Snapshot, plan: DropFeaturePlan) -> None:
    """Sets the properties that keep other writers from bringing the feature's traces back."""
    if plan.set_properties:
        configuration = {**without_keys(snapshot.metadata, tuple(plan.set_properties)), **plan.set_properties}
        actions = altered(snapshot, replace(snapshot.metadata, configuration=configuration), snapshot.schema)
        target.commit(snapshot, "SET TBLPROPERTIES", {"properties": dict(plan.set_properties)}, actions)


def _remove_domains(target: AlterTarget) -> None:
    snapshot = target.snapshot()
    domains = snapshot.domain_metadata.values()
    gone = [DomainMetadata(each.domain, each.configuration, removed=True) for each in domains]
    target.commit(snapshot, "DOMAIN METADATA CLEANUP", {}, gone)


def _remove_type_changes(target: AlterTarget) -> None:
    """Takes the notes of wider types from the schema of a table without files: none is narrower."""
    snapshot = target.snapshot()
    schema = without_type_changes(snapshot.schema)
    noted = [shown_path(path) for path, field in fields_by_path(snapshot.schema) if TYPE_CHANGES in field.metadata]
    wanted = replace(snapshot.metadata, schema_string=schema_to_json(schema))
    actions = altered(snapshot, wanted, schema)
    parameters = {"operationName": "DROP FEATURE", "columns": [{"name": name} for name in noted]}
    target.commit(snapshot, "UPDATE COLUMN METADATA", parameters, actions, reads_table=True)


def _name_vectors(target: AlterTarget) -> None:
    """Names the files of old deletion vectors as removed, so that a VACUUM that knows no vectors keeps them for a while."""
    snapshot = target.snapshot()
    named = vector_tombstones(snapshot, int(time.time() * 1000))
    if named:
        target.commit(snapshot, "Deletion Vector Tombstones", {}, named)


_IS_NEEDED: Final[Mapping[PreDowngrade, Callable[[AlterTarget, Snapshot], bool]]] = {
    PreDowngrade.PURGE_DELETION_VECTORS: lambda _target, snapshot: _has_vectors(snapshot),
    PreDowngrade.REMOVE_COLUMN_MAPPING: lambda _target, snapshot: is_mapped(snapshot.metadata),
    PreDowngrade.REWRITE_WIDENED_FILES: lambda _target, snapshot: has_type_changes(snapshot.schema),
    PreDowngrade.REMOVE_ROW_IDS: lambda _target, snapshot: has_row_ids(snapshot),
    PreDowngrade.REMOVE_DOMAINS: lambda _target, snapshot: bool(snapshot.domain_metadata),
    PreDowngrade.TRUNCATE_PROTECTED_HISTORY: is_protected,
    # The feature's checkpoints are no part of the latest version.
    PreDowngrade.WRITE_CLASSIC_CHECKPOINT: lambda _target, _snapshot: False,
}
