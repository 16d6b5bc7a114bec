# SPDX-License-Identifier: Apache-2.0
"""The table features that bayou knows, and whether it can read and write a table.

To support a feature, implement it elsewhere and change its row here. `read` is true if bayou implements what the feature requires
of readers, or if readers may ignore it. `write_blocked` says whether bayou cannot append to a table with the feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bayou.errors import UnsupportedFeatureError, failed, sample
from bayou.protocol import properties
from bayou.protocol.actions.actions import Metadata, Protocol
from bayou.protocol.stats.file_stats import collated_fields
from bayou.protocol.types.schema import StructType, parse_schema
from bayou.protocol.types.traverse import all_fields, duplicates, primitives

MAX_READER_VERSION: Final = 3
MAX_WRITER_VERSION: Final = 7

Rule = Callable[[Metadata, StructType], bool]


def _never(_metadata: Metadata, _schema: StructType) -> bool:
    return False


def _always(_metadata: Metadata, _schema: StructType) -> bool:
    return True


def _enabled(*wanted: properties.TableProperty[bool]) -> Rule:
    return lambda metadata, _schema: any(each.read(metadata.configuration) for each in wanted)


def _field_has(*keys: str) -> Rule:
    return lambda _metadata, schema: any(key in found.metadata for _, _, found in all_fields(schema) for key in keys)


def _has_invariants(_metadata: Metadata, schema: StructType) -> bool:
    return any(not found.nullable or "delta.invariants" in found.metadata for _, _, found in all_fields(schema))


def _has_constraints(metadata: Metadata, _schema: StructType) -> bool:
    return any(key.lower().startswith(properties.CONSTRAINT_PREFIX) for key in metadata.configuration)


def _maps_columns(metadata: Metadata, _schema: StructType) -> bool:
    return properties.COLUMN_MAPPING_MODE.read(metadata.configuration).lower() not in {"", "none"}


def _has_type(kind: str) -> Rule:
    return lambda _metadata, schema: any(each == kind for each in primitives(schema))


@dataclass(frozen=True, slots=True)
class Enablement:
    """What enables a feature.

    Attributes:
        text: the property or the part of the schema, for the documentation; empty if the feature can only be named.
        asked: whether a table's metadata and schema need the feature, so that new tables get it.
        auto: whether existing tables get it automatically. Otherwise a user must name it.
    """

    text: str = ""
    asked: Rule = _never
    auto: bool = True


def _on(*wanted: properties.TableProperty[bool]) -> Enablement:
    return Enablement(f"`{wanted[0].key}`", _enabled(*wanted))


def _given(wanted: properties.TableProperty[str | None]) -> Enablement:
    return Enablement(f"`{wanted.key}`", lambda metadata, _schema: bool(wanted.read(metadata.configuration)))


_BY_HAND: Final = Enablement()


@dataclass(frozen=True, slots=True)
class Feature:
    """The facts about one table feature.

    Attributes:
        name: its name in the protocol's lists.
        reader_writer: whether readers must support it too.
        read: whether bayou can read tables with it.
        write_blocked: whether bayou cannot append to a table with it, given the table's metadata and schema.
        legacy_reader: the reader version that implies it, for features older than the lists of features.
        legacy_writer: the writer version that implies it.
        enabled_by: what enables it, in addition to naming it.
        requires: the features that it requires.
        removable: whether it can be dropped.
    """

    name: str
    reader_writer: bool
    read: bool = True
    write_blocked: Rule = _never
    legacy_reader: int | None = None
    legacy_writer: int | None = None
    enabled_by: Enablement = _BY_HAND
    requires: tuple[str, ...] = ()
    removable: bool = False


def _writer(
    name: str,
    write_blocked: Rule = _never,
    *,
    legacy: int | None = None,
    legacy_reader: int | None = None,
    by: Enablement = _BY_HAND,
    requires: tuple[str, ...] = (),
    drop: bool = False,
) -> Feature:
    reads = legacy_reader is not None
    return Feature(name, reads, True, write_blocked, legacy_reader, legacy, by, requires, drop)


def _reader(
    name: str,
    write_blocked: Rule = _never,
    *,
    read: bool = True,
    by: Enablement = _BY_HAND,
    requires: tuple[str, ...] = (),
    drop: bool = False,
) -> Feature:
    return Feature(name, True, read, write_blocked, enabled_by=by, requires=requires, removable=drop)


_change_feed = _enabled(properties.ENABLE_CHANGE_DATA_FEED)
_generates = _field_has("delta.generationExpression")
_is_identity = _field_has("delta.identity.start", "delta.identity.step")


def _has_v2_checkpoints(metadata: Metadata, _schema: StructType) -> bool:
    return properties.CHECKPOINT_POLICY.read(metadata.configuration).lower() == "v2"


MATERIALIZE_PARTITIONS: Final = "materializePartitionColumns"
"""The feature that requires writers to write partition columns into data files."""
_TIMESTAMPS: Final = _on(properties.ENABLE_IN_COMMIT_TIMESTAMPS)
_OF_CATALOG: Final = ("inCommitTimestamp", "vacuumProtocolCheck")

FEATURES: Final[Mapping[str, Feature]] = {
    feature.name: feature
    for feature in (
        _writer("appendOnly", legacy=2, by=_on(properties.APPEND_ONLY)),
        _writer("invariants", legacy=2, by=Enablement("a NOT NULL column", _has_invariants)),
        _writer("checkConstraints", legacy=3, by=Enablement("a CHECK constraint", _has_constraints), drop=True),
        _writer("changeDataFeed", legacy=4, by=Enablement("`delta.enableChangeDataFeed`", _change_feed)),
        _writer("generatedColumns", legacy=4, by=Enablement("a generated column", _generates)),
        _writer(
            "columnMapping",
            legacy=5,
            legacy_reader=2,
            by=Enablement("`delta.columnMapping.mode`", _maps_columns),
            drop=True,
        ),
        _writer("identityColumns", legacy=6, by=Enablement("an identity column", _is_identity)),
        _writer("allowColumnDefaults"),
        _writer("domainMetadata", drop=True),
        _writer("rowTracking", by=_on(properties.ENABLE_ROW_TRACKING), requires=("domainMetadata",), drop=True),
        _writer("clustering", by=Enablement("CLUSTER BY"), requires=("domainMetadata",)),
        _writer("inCommitTimestamp", by=_TIMESTAMPS, drop=True),
        _writer("inCommitTimestamp-preview", drop=True),
        _writer("icebergCompatV1", _always, by=_on(properties.ENABLE_ICEBERG_COMPAT_V1), requires=("columnMapping",)),
        _writer("icebergCompatV2", _always, by=_on(properties.ENABLE_ICEBERG_COMPAT_V2), requires=("columnMapping",)),
        _writer(
            "icebergCompatV3",
            _always,
            by=_on(properties.ENABLE_ICEBERG_COMPAT_V3),
            requires=("columnMapping", "rowTracking"),
        ),
        _writer("icebergWriterCompatV1", _always, requires=("icebergCompatV2",)),
        _writer("icebergWriterCompatV3", _always, requires=("icebergCompatV3",)),
        _writer("checkpointProtection", by=Enablement("DROP FEATURE"), drop=True),
        _writer(MATERIALIZE_PARTITIONS, by=_on(properties.MATERIALIZE_PARTITION_COLUMNS), drop=True),
        _writer(
            "coordinatedCommits-preview",
            _always,
            by=_given(properties.COMMIT_COORDINATOR),
            requires=_OF_CATALOG,
            drop=True,
        ),
        _writer("collations", _always),
        _writer("collations-preview", _always),
        _writer("redirectWriterOnly-preview", _always, by=_given(properties.REDIRECT_WRITER_ONLY), drop=True),
        _reader("deletionVectors", by=_on(properties.ENABLE_DELETION_VECTORS), drop=True),
        _reader("timestampNtz", by=Enablement("a timestamp_ntz column", _has_type("timestamp_ntz"), auto=False)),
        _reader("v2Checkpoint", by=Enablement("`delta.checkpointPolicy`", _has_v2_checkpoints), drop=True),
        _reader("typeWidening", by=_on(properties.ENABLE_TYPE_WIDENING), drop=True),
        _reader("typeWidening-preview", drop=True),
        _reader("vacuumProtocolCheck", drop=True),
        _reader("variantType", by=Enablement("a variant column", _has_type("variant"))),
        _reader("variantType-preview"),
        _reader("variantShredding"),
        _reader("variantShredding-preview", by=_on(properties.ENABLE_VARIANT_SHREDDING)),
        _reader("catalogManaged", _always, read=False, requires=_OF_CATALOG),
        _reader("catalogOwned", _always, read=False, requires=_OF_CATALOG),
        _reader("catalogOwned-preview", _always, read=False, requires=_OF_CATALOG),
        _reader("geospatial", _always, read=False, drop=True),
        _reader("geospatial-dev", _always, read=False, drop=True),
        _reader("timestampNanos", _always, read=False),
        _reader(
            "adaptiveMetadata-preview",
            _always,
            read=False,
            requires=("catalogManaged", "rowTracking", "domainMetadata", "deletionVectors", "columnMapping"),
        ),
        _reader(
            "redirectReaderWriter-preview",
            _always,
            read=False,
            by=_given(properties.REDIRECT_READER_WRITER),
            drop=True,
        ),
    )
}
"""All known features, by name."""

_CATALOG_MANAGED: Final = frozenset({"catalogManaged", "catalogOwned", "catalogOwned-preview"})


def reader_features(protocol: Protocol) -> frozenset[str]:
    """Return the features that readers must support, including those that the version implies."""
    if protocol.min_reader_version >= MAX_READER_VERSION:
        return frozenset(protocol.reader_features or ())
    return frozenset(
        each.name
        for each in FEATURES.values()
        if each.legacy_reader is not None and protocol.min_reader_version >= each.legacy_reader
    )


def writer_features(protocol: Protocol) -> frozenset[str]:
    """Return the features that writers must support, including those that the version implies."""
    if protocol.min_writer_version >= MAX_WRITER_VERSION:
        return frozenset(protocol.writer_features or ())
    return frozenset(
        each.name
        for each in FEATURES.values()
        if each.legacy_writer is not None and protocol.min_writer_version >= each.legacy_writer
    )


def table_features(protocol: Protocol) -> frozenset[str]:
    """The features that readers or writers must understand."""
    return reader_features(protocol) | writer_features(protocol)


def check_readable(protocol: Protocol, table: str, version: int | None = None) -> None:
    """Check that bayou can read a table.

    Raises:
        UnsupportedProtocolError: the reader version is not known, or a version is less than 1.
        UnsupportedFeatureError: reader features are not supported; `features` names them.
    """
    if min(protocol.min_reader_version, protocol.min_writer_version) < 1:
        raise failed(
            "DELTA_INVALID_PROTOCOL_VERSION/zero",
            table=table,
            version=version,
            reader=protocol.min_reader_version,
            writer=protocol.min_writer_version,
            features=(),
            required=min(protocol.min_reader_version, protocol.min_writer_version),
            supported=1,
        )
    if protocol.min_reader_version > MAX_READER_VERSION:
        raise failed(
            "DELTA_INVALID_PROTOCOL_VERSION/reader",
            table=table,
            version=version,
            features=(),
            required=protocol.min_reader_version,
            supported=MAX_READER_VERSION,
        )
    refused = sorted(name for name in reader_features(protocol) if name not in FEATURES or not FEATURES[name].read)
    if not refused:
        return
    raise failed(
        "DELTA_UNSUPPORTED_FEATURES_FOR_READ/catalog-managed"
        if _CATALOG_MANAGED.intersection(refused)
        else "DELTA_UNSUPPORTED_FEATURES_FOR_READ",
        table=table,
        version=version,
        features=tuple(refused),
    )


def check_not_catalog_managed(error: UnsupportedFeatureError, operation: str, table: str) -> None:
    """Raise another UnsupportedFeatureError if the features of an error mean that a catalog manages the table's commits.

    Args:
        operation: the refused operation, for example `VACUUM`.
    """
    features = error.facts.get("features", ())
    if _CATALOG_MANAGED.intersection(features):
        raise failed(
            "DELTA_UNSUPPORTED_CATALOG_MANAGED_TABLE_OPERATION",
            table=table,
            version=error.version,
            operation=operation,
            features=features,
        ) from error


def check_writable(protocol: Protocol, metadata: Metadata, table: str, version: int | None = None) -> None:
    """Check that bayou can write a table.

    Raises:
        UnsupportedProtocolError: the writer version is not known.
        UnsupportedFeatureError: the protocol, schema or properties need something that is not supported; `features` names it.
        InvalidSchemaError: names of columns differ only in case, so that case-insensitive readers could not read the table.
    """
    check_readable(protocol, table, version)
    if protocol.min_writer_version > MAX_WRITER_VERSION:
        raise failed(
            "DELTA_INVALID_PROTOCOL_VERSION/writer",
            table=table,
            version=version,
            features=(),
            required=protocol.min_writer_version,
            supported=MAX_WRITER_VERSION,
        )
    refused = tuple(write_obstacles(protocol, metadata))
    if refused:
        raise failed("DELTA_UNSUPPORTED_FEATURES_FOR_WRITE", table=table, version=version, features=refused)
    twins = duplicates(parse_schema(metadata.schema_string))
    if twins:
        raise failed(
            "DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE", table=table, version=version, names=sample(twins), columns=twins
        )


def check_takes_files(protocol: Protocol | None, metadata: Metadata, table: str, version: int | None = None) -> None:
    """Raise UnsupportedFeatureError if files of other writers must not be added, since the table has rules for rows.

    Args:
        protocol: the table's protocol; None if it is not known yet.
    """
    schema = parse_schema(metadata.schema_string)
    refused = [name for name, asked in _RULES_OF_ROWS.items() if asked(metadata, schema)]
    named = frozenset() if protocol is None else writer_features(protocol)
    asks = MATERIALIZE_PARTITIONS in named or properties.MATERIALIZE_PARTITION_COLUMNS.read(metadata.configuration)
    if metadata.partition_columns and asks:
        refused.append(MATERIALIZE_PARTITIONS)
    if refused:
        raise failed("DELTA_UNSUPPORTED_FEATURES_FOR_WRITE/files", table=table, version=version, features=tuple(refused))


def write_obstacles(protocol: Protocol, metadata: Metadata) -> Iterator[str]:
    """Yield the features, sorted, and then the properties that block an append."""
    schema = parse_schema(metadata.schema_string)
    named = writer_features(protocol) if protocol.min_writer_version >= MAX_WRITER_VERSION else frozenset()
    for name in sorted(named):
        if name not in FEATURES or FEATURES[name].write_blocked(metadata, schema):
            yield name
    if not named.intersection(_COLLATIONS) and any(collated_fields(schema)):
        yield _COLLATIONS[0]  # even if the protocol does not list it, since not every Spark supports collations
    for key in _OBSTACLE_PROPERTIES:
        if key.read(metadata.configuration):
            yield key.key


_COLLATIONS: Final = ("collations", "collations-preview")

_OBSTACLE_PROPERTIES: Final = (
    properties.UNIFORM_FORMATS,
    properties.ENABLE_ICEBERG_COMPAT_V1,
    properties.ENABLE_ICEBERG_COMPAT_V2,
    properties.ENABLE_ICEBERG_COMPAT_V3,
)

# The features with rules for rows, which files of other writers may violate.
_RULES_OF_ROWS: Final[Mapping[str, Rule]] = {
    "invariants": _has_invariants,
    "checkConstraints": _has_constraints,
    "generatedColumns": _generates,
    "columnMapping": _maps_columns,
    "identityColumns": _is_identity,
}
