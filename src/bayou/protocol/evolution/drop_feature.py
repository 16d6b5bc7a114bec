# SPDX-License-Identifier: Apache-2.0
"""Plan DROP FEATURE: check whether a feature can be dropped, and which steps are necessary.

Source: delta-spark's `AlterTableDropFeatureDeltaCommand` and `PreDowngradeTableFeatureCommand`, with its "fast drop", which
protects readers of old versions by checkpoints that must not be cleaned up, instead of waiting.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from bayou.errors import DeltaError, failed
from bayou.protocol import properties
from bayou.protocol.actions.actions import Metadata, Protocol
from bayou.protocol.columns.mapping_rules import check_plain_names
from bayou.protocol.features.features import FEATURES
from bayou.protocol.features.protocol_rules import normalised, supported_features, with_requirements
from bayou.protocol.types.schema import parse_schema

_PROTECTION: Final = "checkpointProtection"


class PreDowngrade(enum.Enum):
    """A step that is necessary before a feature can be removed from the protocol."""

    PURGE_DELETION_VECTORS = "rewrite the files that have deletion vectors"
    REMOVE_COLUMN_MAPPING = (
        "rewrite all files under their logical names, and in the same commit take ids and physical names from the schema "
        "and the properties delta.columnMapping.* from the configuration"
    )
    REWRITE_WIDENED_FILES = "rewrite the files of narrower types, and take the type changes from the schema"
    REMOVE_ROW_IDS = "commit all files again without row ids, and remove the domain delta.rowTracking"
    REMOVE_DOMAINS = "remove the metadata of all domains"
    WRITE_CLASSIC_CHECKPOINT = "write a classic checkpoint, and make it the last one"
    TRUNCATE_PROTECTED_HISTORY = "delete the log before the version that checkpoint protection names"


@dataclass(frozen=True, slots=True)
class DropFeaturePlan:
    """The steps of DROP FEATURE, in order.

    Attributes:
        feature: the feature's name in the protocol's lists.
        protocol: the table's protocol after the last commit.
        unset_first: properties to unset first, so that concurrent writers do not use the feature again.
        set_properties: properties to set in the same commit.
        actions: the steps that follow.
        barriers: the number of empty commits, each with a checkpoint, between these steps and the last commit.
        truncates_history: whether the versions that use the feature are removed. If the steps above changed something, raise
            `wait_for_retention`; if old versions use the feature, raise `history_remains`.
        writes_tombstones: whether a commit names the files of deletion vectors of removed files, so that VACUUM by clients
            without deletion vectors keeps them.
        protects_checkpoints: whether the last commit sets `delta.requireCheckpointProtectionBeforeVersion` to its own version. A
            checkpoint follows it.
        unset_properties: properties that the last commit unsets, in any case.
    """

    feature: str
    protocol: Protocol
    unset_first: tuple[str, ...] = ()
    set_properties: Mapping[str, str] = field(default_factory=dict)
    actions: tuple[PreDowngrade, ...] = ()
    barriers: int = 0
    truncates_history: bool = False
    writes_tombstones: bool = False
    protects_checkpoints: bool = False
    unset_properties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Undoing:
    sets: Mapping[str, str] = field(default_factory=dict)
    actions: tuple[PreDowngrade, ...] = ()
    unsets: tuple[str, ...] = ()
    unsets_first: tuple[str, ...] = ()


_BARRIERS: Final = 3
_PREVIEW: Final = "-preview"


def _timestamps(suffix: str = "") -> _Undoing:
    """Unset the properties of in-commit timestamps, by the names of the feature or of its preview."""
    enabled = properties.ENABLE_IN_COMMIT_TIMESTAMPS.key + suffix
    since = (properties.ICT_ENABLEMENT_TIMESTAMP.key + suffix, properties.ICT_ENABLEMENT_VERSION.key + suffix)
    return _Undoing({enabled: "false"}, unsets_first=(*since, enabled))


_WIDENING: Final = _Undoing(actions=(PreDowngrade.REWRITE_WIDENED_FILES,), unsets_first=(properties.ENABLE_TYPE_WIDENING.key,))
_UNDOING: Final[Mapping[str, _Undoing]] = {
    "checkConstraints": _Undoing(),
    "checkpointProtection": _Undoing(
        actions=(PreDowngrade.TRUNCATE_PROTECTED_HISTORY,), unsets=(properties.CHECKPOINT_PROTECTION_VERSION.key,)
    ),
    "columnMapping": _Undoing(actions=(PreDowngrade.REMOVE_COLUMN_MAPPING,)),
    "deletionVectors": _Undoing(
        actions=(PreDowngrade.PURGE_DELETION_VECTORS,), unsets_first=(properties.ENABLE_DELETION_VECTORS.key,)
    ),
    "domainMetadata": _Undoing(actions=(PreDowngrade.REMOVE_DOMAINS,)),
    "inCommitTimestamp": _timestamps(),
    "inCommitTimestamp-preview": _timestamps(_PREVIEW),
    "materializePartitionColumns": _Undoing(unsets=(properties.MATERIALIZE_PARTITION_COLUMNS.key,)),
    "rowTracking": _Undoing(
        {properties.ENABLE_ROW_TRACKING.key: "false", properties.ROW_TRACKING_SUSPENDED.key: "true"},
        (PreDowngrade.REMOVE_ROW_IDS,),
        (
            properties.ENABLE_ROW_TRACKING.key,
            properties.ROW_TRACKING_SUSPENDED.key,
            properties.MATERIALIZED_ROW_ID.key,
            properties.MATERIALIZED_ROW_COMMIT_VERSION.key,
        ),
    ),
    "typeWidening": _WIDENING,
    "typeWidening-preview": _WIDENING,
    "v2Checkpoint": _Undoing({properties.CHECKPOINT_POLICY.key: "classic"}, (PreDowngrade.WRITE_CLASSIC_CHECKPOINT,)),
    "vacuumProtocolCheck": _Undoing(),
}
DROPPABLE: Final = frozenset(_UNDOING)
"""The features that bayou can drop."""


def drop_feature_plan(
    protocol: Protocol,
    metadata: Metadata,
    name: str,
    *,
    truncate_history: bool = False,
    table: str | None,
    version: int | None = None,
) -> DropFeaturePlan:
    """Return the steps of DROP FEATURE.

    Args:
        truncate_history: whether versions that use the feature may be removed (TRUNCATE HISTORY).

    Raises:
        UnsupportedFeatureError: the feature cannot be dropped, or another feature requires it.
        InvalidOptionError: the name is that of a property, the table lacks the feature, or its history must or must not be
            truncated.
        InvalidSchemaError: names of columns need column mapping.
    """
    refuse = _Refusal(table, version)
    feature = _droppable(protocol, name, refuse)
    protects = FEATURES[feature].reader_writer
    if truncate_history and not protects and feature != _PROTECTION:
        raise failed("DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED", at=refuse, feature=feature)
    if feature == _PROTECTION and not truncate_history:
        raise failed("DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION", at=refuse, feature=_PROTECTION)
    _check_metadata(metadata, feature, refuse)
    fast = protects and not truncate_history
    undoing = _UNDOING[feature]
    sets = {key: value for key, value in undoing.sets.items() if _differs(key, value, metadata.configuration)}
    set_here = {key.lower() for key in (*metadata.configuration, *sets)}
    return DropFeaturePlan(
        feature,
        _without(protocol, feature, protect=fast),
        tuple(key for key in undoing.unsets_first if _is_set(key, metadata.configuration)),
        sets,
        undoing.actions,
        _BARRIERS if fast else int(protects),
        protects and truncate_history,
        feature == "deletionVectors",
        fast,
        tuple(key for key in undoing.unsets if key.lower() in set_here),
    )


def _is_set(key: str, configuration: Mapping[str, str]) -> bool:
    """Whether a property differs from its default."""
    known = _property(key)
    return bool(known.read(configuration) != known.read({}))


def _differs(key: str, value: str, configuration: Mapping[str, str]) -> bool:
    """Whether a property does not have a value yet."""
    known = _property(key)
    return bool(known.read(configuration) != known.parse(value))


def _property(key: str) -> properties.TableProperty[Any]:
    """Return a property, which a preview may have under another name."""
    return replace(properties.PROPERTIES[key.removesuffix(_PREVIEW)], key=key)


def wait_for_retention(plan: DropFeaturePlan, metadata: Metadata, *, table: str | None, version: int | None = None) -> DeltaError:
    """Return the error of TRUNCATE HISTORY if the retention period must pass first, since the feature was in use until now."""
    return failed(
        "DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD",
        at=_Refusal(table, version),
        feature=plan.feature,
        retention=_retention(metadata),
        option=properties.DROP_FEATURE_RETENTION_MS.key,
    )


def history_remains(plan: DropFeaturePlan, metadata: Metadata, *, table: str | None, version: int | None = None) -> DeltaError:
    """Return the error of TRUNCATE HISTORY if versions that use the feature are within the retention period."""
    return failed(
        "DELTA_FEATURE_DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD"
        if plan.feature == _PROTECTION
        else "DELTA_FEATURE_DROP_HISTORICAL_VERSIONS_EXIST",
        at=_Refusal(table, version),
        feature=plan.feature,
        retention=_retention(metadata),
        option=properties.DROP_FEATURE_RETENTION_MS.key,
    )


@dataclass(frozen=True, slots=True)
class _Refusal:
    """The table and version of an error."""

    table_uri: str | None
    version: int | None


def _droppable(protocol: Protocol, name: str, refuse: _Refusal) -> str:
    """Return the canonical name of a feature, if it can be dropped. Raise an error otherwise, as `drop_feature_plan` states."""
    lower = name.lower()
    if lower in {key.lower() for key in properties.PROPERTIES}:
        raise failed("DELTA_FEATURE_DROP_FEATURE_IS_DELTA_PROPERTY", at=refuse, feature=name)
    feature = next((known for known in FEATURES if known.lower() == lower), None)
    if feature is None:
        raise failed("DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE", at=refuse, features=(name,))
    supported = supported_features(protocol)
    if feature not in supported:
        raise failed("DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT", at=refuse, feature=feature, supported=sorted(supported))
    if not FEATURES[feature].removable:
        raise failed("DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE", at=refuse, features=(feature,))
    if feature not in _UNDOING:
        raise failed("DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE/known", at=refuse, features=(feature,))
    dependent = tuple(sorted(each for each in supported if each != feature and feature in with_requirements([each])))
    if dependent:
        raise failed("DELTA_FEATURE_DROP_DEPENDENT_FEATURE", at=refuse, feature=feature, features=dependent)
    return feature


def _check_metadata(metadata: Metadata, feature: str, refuse: _Refusal) -> None:
    """Raise an error if the metadata uses a feature in a way that only the user can change."""
    prefix = properties.CONSTRAINT_PREFIX
    constraints = [key[len(prefix) :] for key in sorted(metadata.configuration) if key.lower().startswith(prefix)]
    if feature == "checkConstraints" and constraints:
        raise failed("DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE", at=refuse, constraints=constraints)
    if feature == "columnMapping":
        check_plain_names(parse_schema(metadata.schema_string), table=refuse.table_uri, version=refuse.version)


def _without(protocol: Protocol, feature: str, *, protect: bool) -> Protocol:
    """Return the lowest protocol that supports the table's other features.

    Args:
        protect: whether to add the feature that protects checkpoints, for a fast drop.
    """
    supported = supported_features(protocol)
    # Keep the order of the protocol. Features that its versions imply follow.
    order = dict.fromkeys((*(protocol.writer_features or ()), *FEATURES, *sorted(supported)))
    kept = [name for name in order if name in supported and name != feature]
    if protect and _PROTECTION not in kept:
        kept.append(_PROTECTION)
    # List all features explicitly, under versions 3 and 7. `normalised` replaces that by lower versions if they imply the same.
    listed = protocol.reader_features or ()
    readers = [name for name in kept if name in listed or (name in FEATURES and FEATURES[name].reader_writer)]
    return normalised(Protocol(3, 7, tuple(readers), tuple(kept)))


def _retention(metadata: Metadata) -> str:
    return metadata.configuration.get(properties.DROP_FEATURE_RETENTION_MS.key, "24 hours")
