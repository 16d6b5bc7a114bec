# SPDX-License-Identifier: Apache-2.0
"""Check the table properties that users set: their keys, their values, and combinations.

Sources: delta-spark's `DeltaConfig.scala`, `TableFeatureProtocolUtils` and `alterDeltaTableCommands.scala`; for combinations
`RowTracking`, `GenerateSymlinkManifest` and `DeletionVectorUtils`. Unlike delta-spark,
bayou always stores the canonical key, and accepts `delta.isolationLevel` = WriteSerializable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final, NoReturn

from bayou.errors import failed
from bayou.protocol import arguments, properties
from bayou.protocol.columns.constraints import check_constraint_name
from bayou.protocol.evolution.property_values import CHECKS, ENUM_SPELLINGS, InvalidValueError, read_boolean
from bayou.protocol.features.features import FEATURES

DEFAULTS_PREFIX: Final = "spark.databricks.delta.properties.defaults."
"""The prefix of session settings for the default properties of new tables."""

_ALLOW_ARBITRARY: Final = "spark.databricks.delta.allowArbitraryProperties.enabled"
_DELTA: Final = "delta."
_FREE_PREFIXES: Final = ("delta.universalformat.config.",)
_PROTOCOL_KEYS: Final = frozenset(
    each.key for each in (properties.MIN_READER_VERSION, properties.MIN_WRITER_VERSION, properties.IGNORE_PROTOCOL_DEFAULTS)
)
_CANONICAL_KEYS: Final = {key.lower(): key for key in properties.PROPERTIES}
_CANONICAL_FEATURES: Final = {name.lower(): name for name in FEATURES}
_STATUSES: Final = ("supported", "enabled")
BY_WRITERS_ONLY: Final = frozenset(
    each.key for each in (properties.MAX_COLUMN_ID, properties.MATERIALIZED_ROW_ID, properties.MATERIALIZED_ROW_COMMIT_VERSION)
)
"""The properties that users cannot set or unset."""
_COMMENT: Final = "comment"


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """The meaning of the properties that a user sets.

    Attributes:
        configuration: the properties for the table's configuration, by canonical key.
        features: the canonical names of the table features that are enabled.
        min_reader_version: the requested reader version, or None.
        min_writer_version: the requested writer version, or None.
        description: the table's description (`comment`), or None.
    """

    configuration: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    min_reader_version: int | None = None
    min_writer_version: int | None = None
    description: str | None = None


def validated(
    given: Mapping[str, str],
    *,
    table: str | None,
    version: int | None = None,
    current: Mapping[str, str] | None = None,
    creating: bool = False,
    allow_arbitrary: bool = False,
) -> PropertyChange:
    """Check the properties that a user sets, and return their meaning.

    Args:
        given: the properties. Keys with `delta.` are case-insensitive.
        current: the configuration to which they are added; empty for a new table.
        creating: whether they are the properties of a new table.
        allow_arbitrary: whether unknown keys with `delta.` are allowed (see `allows_arbitrary`).

    Raises:
        InvalidOptionError: a key is unknown or reserved, a value is not valid, or properties exclude each other.
        UnsupportedFeatureError: a feature is not known.
    """
    subject = _Subject(table, version)
    configuration: dict[str, str] = {}
    features: list[str] = []
    asked: dict[str, int] = {}
    description: str | None = None
    given_once = subject.once_each(arguments.text_map(given, "properties", table=table))
    for key, value in given_once.items():
        lower = key.lower()
        subject.refuse_reserved(lower)
        if lower == _COMMENT:
            description = value
        elif lower.startswith(properties.FEATURE_PREFIX):
            features.append(subject.feature(lower.removeprefix(properties.FEATURE_PREFIX), value, creating=creating))
        elif key in _PROTOCOL_KEYS:
            subject.check_value(key, value)
            if key != properties.IGNORE_PROTOCOL_DEFAULTS.key:
                asked[key] = int(value)
        else:
            configuration[key] = subject.stored(key, value, allow_arbitrary=allow_arbitrary, creating=creating)
    touched = dict(configuration)
    if keep_the_log_long_enough(configuration):  # delta-spark only compares the two within one statement
        for each in (properties.LOG_RETENTION_MS, properties.DELETED_FILE_RETENTION_MS):
            touched.pop(each.key, None)
    check_combinations({**(current or {}), **configuration}, table=table, version=version, touched=touched)
    if creating and read_boolean(given_once.get(properties.IGNORE_PROTOCOL_DEFAULTS.key, "false")):
        asked = {properties.MIN_READER_VERSION.key: 1, properties.MIN_WRITER_VERSION.key: 1, **asked}
    reader, writer = asked.get(properties.MIN_READER_VERSION.key), asked.get(properties.MIN_WRITER_VERSION.key)
    return PropertyChange(configuration, tuple(features), reader, writer, description)


def allows_arbitrary(confs: Mapping[str, str]) -> bool:
    """Whether a session allows unknown properties with `delta.`."""
    return confs.get(_ALLOW_ARBITRARY, "false").lower() == "true"


def canonical_key(key: str) -> str:
    """Return the stored form of a key: canonical for known keys, lower case for constraints, otherwise unchanged."""
    lower = key.lower()
    return lower if lower.startswith(properties.CONSTRAINT_PREFIX) else _CANONICAL_KEYS.get(lower, key)


def compared_key(key: str) -> str:
    """Return a key in lower case if it is case-insensitive: keys with `delta.`, and the comment."""
    lower = key.lower()
    return lower if lower == _COMMENT or lower.startswith(_DELTA) else key


def shown_key(key: str) -> str:
    """Return a key for the history: unchanged, except for features in lower case."""
    return key.lower() if key.lower().startswith(properties.FEATURE_PREFIX) else key


def session_defaults(confs: Mapping[str, str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the default properties of new and replaced tables from a session's settings, without unknown properties.

    Pass them to `validated`, together with the given ones.

    Args:
        given: the given properties, whose defaults are left out. With `delta.ignoreProtocolDefaults`, here or in the settings,
            defaults of features and protocol versions are left out.
    """
    named = {canonical_key(key).lower(): value for key, value in (given or {}).items()}
    found: dict[str, str] = {}
    for setting, value in confs.items():
        if not setting.startswith(DEFAULTS_PREFIX):
            continue
        key = _DELTA + setting.removeprefix(DEFAULTS_PREFIX)
        if key.lower().startswith(properties.FEATURE_PREFIX) or key in properties.PROPERTIES:
            found[key] = value
    ignore = properties.IGNORE_PROTOCOL_DEFAULTS.key
    if read_boolean(named.get(ignore.lower(), found.get(ignore, "false"))):
        of_protocol = {key for key in found if key in _PROTOCOL_KEYS or key.lower().startswith(properties.FEATURE_PREFIX)}
        found = {key: value for key, value in found.items() if key == ignore or key not in of_protocol}
    return {key: value for key, value in found.items() if key.lower() not in named}


@dataclass(frozen=True, slots=True)
class _Subject:
    """The checks of single properties, with the table for errors."""

    table_uri: str | None
    version: int | None

    def once_each(self, given: Mapping[Any, Any]) -> dict[str, str]:
        """Return the properties by canonical key."""
        found: dict[str, str] = {}
        for key, value in given.items():
            known = canonical_key(key)
            if found.setdefault(known, value) != value:
                raise failed("DELTA_ILLEGAL_OPTION/twice", at=self, option=known, value=found[known], other=value)
        return found

    def stored(self, key: str, value: str, *, allow_arbitrary: bool, creating: bool) -> str:
        """Return the value to store."""
        lower = key.lower()
        if lower.startswith(properties.CONSTRAINT_PREFIX):
            if creating:
                check_constraint_name(key[len(properties.CONSTRAINT_PREFIX) :], table=str(self.table_uri))
                return value
            raise failed("DELTA_ADD_CONSTRAINTS", at=self, option=key)
        if key in BY_WRITERS_ONLY:
            raise failed("DELTA_CANNOT_MODIFY_TABLE_PROPERTY", at=self, option=key)
        if key in properties.PROPERTIES:
            self.check_value(key, value)
            return ENUM_SPELLINGS.get(key, {}).get(value.lower(), value)
        if lower.startswith(_DELTA) and not allow_arbitrary and not lower.startswith(_FREE_PREFIXES):
            self.refuse_unknown(key)
        return value

    def check_value(self, key: str, value: str) -> None:
        try:
            CHECKS[key](value)
        except InvalidValueError as error:
            raise failed(
                "DELTA_ILLEGAL_OPTION/property",
                at=self,
                error_class=error.error_class,
                option=key,
                value=value,
                needs=error.needs,
                next_step=error.next_step,
            ) from None

    def feature(self, name: str, status: str, *, creating: bool) -> str:
        """Return a feature's canonical name."""
        if status.lower() not in _STATUSES:
            key = properties.FEATURE_PREFIX + name
            raise failed("DELTA_UNSUPPORTED_FEATURE_STATUS", at=self, feature=name, status=status, option=key)
        if name == "clustering":
            raise failed(
                "DELTA_CREATE_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED"
                if creating
                else "DELTA_ALTER_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED",
                at=self,
            )
        if name not in _CANONICAL_FEATURES:
            suggestion = _suggestion(name, _CANONICAL_FEATURES) or "Check the feature's name"
            raise failed("DELTA_UNSUPPORTED_FEATURES_IN_CONFIG", at=self, features=(name,), suggestion=suggestion)
        return _CANONICAL_FEATURES[name]

    def refuse_reserved(self, key: str) -> None:
        if key == "location":
            raise failed("DELTA_CANNOT_CHANGE_LOCATION", at=self, option=key)
        if key == "provider":
            raise failed("DELTA_CANNOT_CHANGE_PROVIDER", at=self, option=key)
        if key == "clusteringcolumns":
            raise failed("DELTA_CANNOT_MODIFY_TABLE_PROPERTY/clustering", at=self, option="clusteringColumns")

    def refuse_unknown(self, key: str) -> NoReturn:
        suggestion = _suggestion(key.lower(), _CANONICAL_KEYS) or "Leave it out"
        raise failed("DELTA_UNKNOWN_CONFIGURATION", at=self, option=key, suggestion=suggestion, setting=_ALLOW_ARBITRARY)


def _suggestion(name: str, known: Mapping[str, str]) -> str:
    close = get_close_matches(name, known, n=1, cutoff=0.8)
    return f"Use {known[close[0]]}" if close else ""


def check_combinations(
    configuration: Mapping[str, str],
    *,
    table: str | None,
    version: int | None = None,
    touched: Mapping[str, str] | None = None,
) -> None:
    """Raise InvalidOptionError if two properties exclude each other.

    Args:
        touched: the properties that are set, so that other properties of a table are not checked. None to check all.
    """
    for pair, check in _COMBINATIONS:
        if touched is None or any(each.key in touched for each in pair):
            check(configuration, table, version)


def keep_the_log_long_enough(given: Mapping[str, str]) -> bool:
    """Whether the log is retained at least as long as removed data files, by given or default properties."""
    return properties.LOG_RETENTION_MS.read(given) >= properties.DELETED_FILE_RETENTION_MS.read(given)


def _check_retention(configuration: Mapping[str, str], table: str | None, version: int | None) -> None:
    if not keep_the_log_long_enough(configuration):
        raise failed("DELTA_ILLEGAL_OPTION/retention", table=table, version=version)


def _check_row_tracking(configuration: Mapping[str, str], table: str | None, version: int | None) -> None:
    if properties.ENABLE_ROW_TRACKING.read(configuration) and properties.ROW_TRACKING_SUSPENDED.read(configuration):
        raise failed("DELTA_ROW_TRACKING_ILLEGAL_PROPERTY_COMBINATION", table=table, version=version)


def _check_manifest_and_vectors(configuration: Mapping[str, str], table: str | None, version: int | None) -> None:
    if properties.SYMLINK_MANIFEST.read(configuration) and properties.ENABLE_DELETION_VECTORS.read(configuration):
        raise failed(
            "DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED.PERSISTENT_DELETION_VECTORS_WITH_INCREMENTAL_MANIFEST_GENERATION",
            table=table,
            version=version,
        )


def _check_manifest_and_mapping(configuration: Mapping[str, str], table: str | None, version: int | None) -> None:
    mapped = properties.COLUMN_MAPPING_MODE.read(configuration).lower() != "none"
    if mapped and properties.SYMLINK_MANIFEST.read(configuration):
        raise failed("DELTA_UNSUPPORTED_MANIFEST_GENERATION_WITH_COLUMN_MAPPING", table=table, version=version)


_COMBINATIONS: Final = (
    ((properties.LOG_RETENTION_MS, properties.DELETED_FILE_RETENTION_MS), _check_retention),
    ((properties.ENABLE_ROW_TRACKING, properties.ROW_TRACKING_SUSPENDED), _check_row_tracking),
    ((properties.SYMLINK_MANIFEST, properties.ENABLE_DELETION_VECTORS), _check_manifest_and_vectors),
    ((properties.SYMLINK_MANIFEST, properties.COLUMN_MAPPING_MODE), _check_manifest_and_mapping),
)
