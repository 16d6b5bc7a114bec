# SPDX-License-Identifier: Apache-2.0
"""Find and remove a feature's traces before it is dropped: properties, metadata of the schema, data files.

Source: delta-spark's `PreDowngradeTableFeatureCommand`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.maintenance.feature_history import first_commit
from bayou.log.operations.row_id_backfill import has_row_ids
from bayou.log.rows.vector_tombstones import vector_tombstones
from bayou.protocol import properties
from bayou.protocol.actions.actions import DomainMetadata
from bayou.protocol.columns.mapping_rules import fields_by_path
from bayou.protocol.evolution.drop_feature import DropFeaturePlan, PreDowngrade
from bayou.protocol.evolution.feature_traces import has_type_changes
from bayou.protocol.evolution.mapping_removal import is_mapped
from bayou.protocol.features.type_widening import TYPE_CHANGES, without_type_changes
from bayou.protocol.types.schema import schema_to_json
from bayou.spark.alter.column_mapping import remove_column_mapping
from bayou.spark.alter.columns import column_parameter
from bayou.spark.alter.metadata_actions import altered, without_keys
from bayou.spark.alter.row_tracking import drop_row_ids
from bayou.spark.maintenance.rewrite import Rewriting, Rewritten, rewrite_files
from bayou.spark.scan.widened_files import narrow_files

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.read.session_table import SessionTable

_REORG: Final = {"predicate": "[]", "applyPurge": True}


def traces(target: SessionTable, plan: DropFeaturePlan, snapshot: Snapshot) -> tuple[PreDowngrade, ...]:
    """Return those of a plan's actions that the table needs."""
    return tuple(each for each in plan.actions if _IS_NEEDED[each](target, snapshot))


def clean(target: SessionTable, plan: DropFeaturePlan, snapshot: Snapshot) -> bool:
    """Remove the traces of a feature from the latest version of a table. Return whether it had any."""
    needed = traces(target, plan, snapshot)
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


def is_protected(target: SessionTable, snapshot: Snapshot) -> bool:
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
        narrow = narrow_files(target.application.jvm, snapshot, unknown, target.options)
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
    PreDowngrade.TRUNCATE_PROTECTED_HISTORY: is_protected,
    # Old checkpoints are not part of the latest version.
    PreDowngrade.WRITE_CLASSIC_CHECKPOINT: lambda _target, _snapshot: False,
}
