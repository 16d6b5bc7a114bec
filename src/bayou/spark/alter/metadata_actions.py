# SPDX-License-Identifier: Apache-2.0
"""What all alterations of a table's metadata share: the rules for its schema, and the actions to commit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bayou.errors import failed
from bayou.log.rows.row_tracking import with_materialised_columns
from bayou.log.snapshot.clustering import logical_clustering, physical_clustering
from bayou.protocol import properties
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.columns.clustering_rules import ClusteringRules
from bayou.protocol.columns.column_mapping import mapped_columns
from bayou.protocol.columns.mapping_rules import fields_by_path, shown_path
from bayou.protocol.evolution.property_rules import compared_key
from bayou.protocol.features.features import check_writable
from bayou.protocol.features.protocol_rules import upgraded
from bayou.protocol.properties import mapping_mode
from bayou.protocol.schema.reserved_names import check_leftover_names
from bayou.protocol.schema.validity import check_names, check_partition_columns, check_types, check_void
from bayou.protocol.types.paths import TableRules
from bayou.protocol.types.schema import StructType, schema_to_json
from bayou.spark.scan.row_ids import has_row_id_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bayou.log.commit.transaction import Action
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.actions.actions import Metadata
    from bayou.protocol.evolution.property_rules import PropertyChange
    from bayou.spark.read.session_table import SessionTable


def check_argument(target: SessionTable, name: str, value: object, kind: type, needs: str) -> None:
    """Raise InvalidOptionError, beginning with `needs`, if an argument is not of a type. A boolean is not an integer."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise failed("argument-type", table=target.uri, option=name, needs=needs, kind=str(type(value)))


def upgrade(target: SessionTable, snapshot: Snapshot, asked: PropertyChange) -> None:
    """Commit only the protocol that features and versions require. A no-op if the table has it.

    Raise UnsupportedFeatureError if the protocol would need a feature that bayou does not support.
    """
    actions = altered(snapshot, snapshot.metadata, snapshot.schema, asked)
    protocol = next((each for each in actions if isinstance(each, Protocol)), snapshot.protocol)
    named = {"readerFeatures": None, "writerFeatures": None} | protocol.to_json()
    shown = {key: named[key] for key in ("minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures")}
    target.commit(snapshot, "UPGRADE PROTOCOL", {"newProtocol": shown}, actions)


def without_keys(configuration: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    """Return a configuration without some keys. Keys with `delta.` are case-insensitive."""
    removed = set(map(compared_key, keys))
    return {key: value for key, value in configuration.items() if compared_key(key) not in removed}


def table_rules(snapshot: Snapshot) -> TableRules:
    """Return the facts that decide which alterations a table's schema allows."""
    configuration = snapshot.metadata.configuration
    return TableRules(
        table_uri=snapshot.table_uri,
        version=snapshot.version,
        column_mapping=mapping_mode(configuration) != "none",
        type_widening=properties.ENABLE_TYPE_WIDENING.read(configuration),
        change_data_feed=properties.ENABLE_CHANGE_DATA_FEED.read(configuration),
        partition_columns=snapshot.partition_columns,
        clustering_columns=logical_clustering(snapshot) or (),
    )


def altered(snapshot: Snapshot, wanted: Metadata, schema: StructType, asked: PropertyChange | None = None) -> list[Action]:
    """Return the actions that change a table's metadata, and its protocol if the change needs it; none if nothing changes.

    With column mapping, new columns get ids and physical names; a table that enables it gets them for all columns.

    Args:
        wanted: its metadata after the change, apart from the schema.
        asked: the features and protocol versions that the user requests.

    Raises:
        InvalidSchemaError: no table can have this schema, or files would lack statistics of a clustering column.
        UnsupportedFeatureError: the schema needs a feature that must be enabled explicitly, or the table would need one that bayou
            does not support.
    """
    mapped = mapped_columns(
        schema,
        wanted.configuration,
        current=snapshot.schema,
        current_configuration=snapshot.metadata.configuration,
        table=snapshot.table_uri,
        version=snapshot.version,
    )
    names = [name for _, each in fields_by_path(mapped.schema) for name in (each.name, each.physical_name)]
    text = snapshot.metadata.schema_string if mapped.schema == snapshot.schema else schema_to_json(mapped.schema)
    # If files have row ids, their columns keep these names: no column may take one, and the commit rejects it.
    configuration = mapped.configuration if has_row_id_columns(snapshot) else with_materialised_columns(mapped.configuration, names)
    metadata = replace(wanted, schema_string=text, configuration=dict(configuration))
    if metadata != snapshot.metadata:
        rules = ClusteringRules(snapshot.table_uri, snapshot.version)
        rules.check_statistics_kept(physical_clustering(snapshot) or (), snapshot.metadata, metadata)
        _check_schema(snapshot, metadata, mapped.schema)
    return _head(snapshot, metadata, mapped.schema, asked)


def _head(snapshot: Snapshot, metadata: Metadata, schema: StructType, asked: PropertyChange | None) -> list[Action]:
    protocol = upgraded(
        snapshot.protocol,
        schema,
        metadata.configuration,
        table=snapshot.table_uri,
        version=snapshot.version,
        features=() if asked is None else asked.features,
        min_reader=None if asked is None else asked.min_reader_version,
        min_writer=None if asked is None else asked.min_writer_version,
        partition_columns=metadata.partition_columns,
    )
    changes: list[tuple[Protocol | Metadata, Protocol | Metadata]] = [
        (protocol, snapshot.protocol),
        (metadata, snapshot.metadata),
    ]
    head: list[Action] = [after for after, before in changes if after != before]
    if head:
        check_writable(protocol, metadata, snapshot.table_uri, snapshot.version)
    return head


def _check_schema(snapshot: Snapshot, metadata: Metadata, schema: StructType) -> None:
    uri, version, configuration = snapshot.table_uri, snapshot.version, metadata.configuration
    maps = mapping_mode(configuration) != "none"
    feeds = properties.ENABLE_CHANGE_DATA_FEED.read(configuration)
    _check_no_empty_name(schema, snapshot)
    enables = feeds and not properties.ENABLE_CHANGE_DATA_FEED.read(snapshot.metadata.configuration)
    check_names(
        schema,
        uri,
        version=version,
        column_mapping=maps,
        change_data_feed=feeds,
        enables_feed=enables,
        known=snapshot.schema,
    )
    if schema != snapshot.schema:
        check_leftover_names(schema, snapshot.schema, uri, version=version)
        check_types(schema, uri, version=version)
        check_void(schema, metadata.partition_columns, uri, version=version)
        check_partition_columns(schema, metadata.partition_columns, uri, version=version)


def _check_no_empty_name(schema: StructType, snapshot: Snapshot) -> None:
    for path, each in fields_by_path(schema):
        if not each.name:
            place = f" in {shown_path(path[:-1])}" if path[:-1] else ""
            raise failed("DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES/empty", at=snapshot, place=place, columns=("",))
