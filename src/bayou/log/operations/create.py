# SPDX-License-Identifier: Apache-2.0
"""The first commit of a table: its protocol, metadata and clustering columns."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import TableNotFoundError, failed
from bayou.log.commit.transaction import Transaction
from bayou.log.rows.row_tracking import FEATURE as TRACKS_ROWS
from bayou.log.rows.row_tracking import with_materialised_columns
from bayou.protocol import properties as known_properties
from bayou.protocol.actions.actions import DomainMetadata, Metadata, Protocol
from bayou.protocol.columns.clustering import ClusteringColumns, clustering_domain, names_of
from bayou.protocol.columns.clustering_rules import ClusteringRules
from bayou.protocol.columns.column_defaults import check_allowed
from bayou.protocol.columns.column_mapping import MappedColumns, mapped_columns
from bayou.protocol.columns.identity_rules import check_definition
from bayou.protocol.evolution.property_rules import PropertyChange, allows_arbitrary, session_defaults, validated
from bayou.protocol.features.features import check_writable
from bayou.protocol.features.protocol_rules import protocol_for_table, with_requirements
from bayou.protocol.properties import mapping_mode
from bayou.protocol.schema.validity import check_schema
from bayou.protocol.stats.indexed_columns import check_stats_columns
from bayou.protocol.types.char_varchar import to_stored
from bayou.protocol.types.paths import TableRules
from bayou.protocol.types.schema import StructType, parse_schema, schema_to_json

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader

_KEPT: Final = frozenset(
    each.key
    for each in (
        known_properties.CHECKPOINT_POLICY,
        known_properties.ENABLE_DELETION_VECTORS,
        known_properties.ENABLE_ROW_TRACKING,
        known_properties.MATERIALIZED_ROW_ID,
        known_properties.MATERIALIZED_ROW_COMMIT_VERSION,
    )
)
"""The properties that a replaced table passes on unless the new table sets them, as with delta-spark."""


def create_table(
    log: LogReader, schema: StructType, partition_by: Sequence[str], properties: Mapping[str, str], description: str | None
) -> None:
    """Commit the protocol and the metadata of a table without rows; see `DeltaLog.create`."""
    try:
        present = log.update()
    except TableNotFoundError:
        pass
    else:
        raise failed("DELTA_PATH_EXISTS", table=log.table_uri, version=present.version)
    refuse_constraints(properties, log.table_uri)
    first = first_actions(schema, partition_by, properties, table=log.table_uri, description=description)
    parameters = creation_parameters(first.metadata, managed=False)
    Transaction(log, None, "CREATE TABLE", parameters).commit(first.actions, metrics={})


def refuse_constraints(properties: Mapping[str, str], table: str) -> None:
    """Raise InvalidOptionError if a property defines a CHECK constraint, which needs Spark."""
    if any(key.lower().startswith(known_properties.CONSTRAINT_PREFIX) for key in properties):
        raise failed("DELTA_ADD_CONSTRAINTS/create", table=table)


def refuse_other_files(log: LogReader, *, is_expected: bool = False, next_step: str | None = None) -> None:
    """Check that a folder without a log has no files.

    Args:
        is_expected: whether the caller expects a table there.
        next_step: the advice in the error if it does not; None for the usual one.

    Raises:
        TableExistsError: there are files.
        TableNotFoundError: there are files, and a table was expected.
    """
    try:
        found = next(iter(log.store.list_from("")), None)
    except FileNotFoundError:
        found = None
    if found is None:
        return
    if is_expected:
        raise failed("DELTA_CREATE_EXTERNAL_TABLE_WITHOUT_TXN_LOG", table=log.table_uri)
    raise failed("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", table=log.table_uri, next_step=next_step)


def creation_parameters(metadata: Metadata, cluster_by: ClusteringColumns | None = None, *, managed: bool) -> dict[str, Any]:
    """Return the history's parameters of a creation or replacement; `managed` if the catalog chose the folder."""
    return {
        "partitionBy": list(metadata.partition_columns),
        "clusterBy": names_of(cluster_by or ()),
        "description": metadata.description,
        "isManaged": "true" if managed else "false",
        "properties": dict(metadata.configuration),
    }


@dataclass(frozen=True, slots=True)
class FirstActions:
    """The actions that create a table; `cluster_by` is None if it is not clustered."""

    protocol: Protocol
    metadata: Metadata
    cluster_by: ClusteringColumns | None = None

    @property
    def domains(self) -> tuple[DomainMetadata, ...]:
        """The domain metadata: the clustering columns of a clustered table."""
        if self.cluster_by is None:
            return ()
        return (clustering_domain(self.cluster_by, parse_schema(self.metadata.schema_string)),)

    @property
    def actions(self) -> tuple[Protocol | Metadata | DomainMetadata, ...]:
        """The actions of the commit, in their order."""
        return (self.protocol, self.metadata, *self.domains)


def first_actions(
    schema: StructType,
    partition_by: Sequence[str],
    properties: Mapping[str, str],
    *,
    table: str,
    description: str | None = None,
    settings: Mapping[str, str] | None = None,
    features: Iterable[str] = (),
    cluster_by: ClusteringColumns | None = None,
    may_be_empty: bool = False,
    replaced: Metadata | None = None,
) -> FirstActions:
    """Return the protocol, metadata and clustering columns of a new table.

    Args:
        schema: its schema; types may be `char(n)` and `varchar(n)`.
        partition_by: its partition columns, in any case.
        properties: its properties, features and protocol versions among them.
        settings: a session's settings, for the defaults of properties.
        features: features to add to those that the table needs.
        cluster_by: the paths of its clustering columns, in any case. An empty sequence makes a clustered table without columns yet;
            None makes a table that is not clustered.
        may_be_empty: whether the schema may have no column.
        replaced: the table that is replaced: matching mapped columns keep their ids and physical names, and no id is reused.

    Raises:
        InvalidSchemaError: a table cannot have this schema, these partition columns or these clustering columns.
        InvalidOptionError: a property cannot be set.
        UnsupportedFeatureError: the table would need an unsupported feature, or one that must be enabled by name, such as column
            defaults.
    """
    settings = settings or {}
    change = _asked(properties, features, settings, replaced, table)
    check_allowed(schema, change.features, "CREATE TABLE", table=table)
    rules = ClusteringRules.of(settings, table)
    if cluster_by is not None:
        rules.check_unpartitioned(partition_by)
    stored = to_stored(schema)
    _check_columns(stored, partition_by, change.configuration, table=table, may_be_empty=may_be_empty)
    mapped = _mapped(stored, change.configuration, replaced, table)
    metadata = _metadata(mapped, partition_by, change, description)
    protocol = asked_protocol(change, mapped.schema, metadata, clustered=cluster_by is not None)
    check_writable(protocol, metadata, table)
    return FirstActions(protocol, metadata, None if cluster_by is None else rules.checked(cluster_by, metadata))


def _asked(
    properties: Mapping[str, str], features: Iterable[str], settings: Mapping[str, str], replaced: Metadata | None, table: str
) -> PropertyChange:
    """Return the requested properties with the session's defaults, those of a replaced table and further features."""
    given = {**session_defaults(settings, properties), **properties}
    free = allows_arbitrary(settings)
    kept = _kept(replaced)
    change = validated(given, table=table, current=kept, creating=True, allow_arbitrary=free)
    return replace(change, configuration={**kept, **change.configuration}, features=(*change.features, *features))


def _kept(replaced: Metadata | None) -> dict[str, str]:
    before = {} if replaced is None else replaced.configuration
    return {key: value for key, value in before.items() if key in _KEPT}


def _check_columns(
    schema: StructType, partition_by: Sequence[str], configuration: Mapping[str, str], *, table: str, may_be_empty: bool
) -> None:
    maps = mapping_mode(configuration) != "none"
    feeds = known_properties.ENABLE_CHANGE_DATA_FEED.read(configuration)
    check_schema(schema, partition_by, table, column_mapping=maps, change_data_feed=feeds, may_be_empty=may_be_empty)
    check_definition(schema, partition_by, table=table)
    check_stats_columns(schema, partition_by, configuration, TableRules(table_uri=table))


def _mapped(schema: StructType, configuration: Mapping[str, str], replaced: Metadata | None, table: str) -> MappedColumns:
    """Return the schema with ids and physical names; matching columns keep those of the replaced table."""
    return mapped_columns(
        schema,
        configuration,
        current=None if replaced is None else parse_schema(replaced.schema_string),
        current_configuration=None if replaced is None else replaced.configuration,
        replacing=replaced is not None,
        table=table,
    )


def _metadata(mapped: MappedColumns, partition_by: Sequence[str], change: PropertyChange, description: str | None) -> Metadata:
    names = [name for each in mapped.schema.fields for name in (each.name, each.physical_name)]
    partitions = [mapped.schema.field(name) for name in partition_by]
    tracks = TRACKS_ROWS in with_requirements(change.features)
    return Metadata(
        id=str(uuid.uuid4()),
        schema_string=schema_to_json(mapped.schema),
        partition_columns=tuple(found.name for found in partitions if found is not None),
        configuration=with_materialised_columns(mapped.configuration, names, tracks=tracks),
        created_time=int(time.time() * 1000),
        description=change.description if description is None else description,
    )


def asked_protocol(change: PropertyChange, schema: StructType, metadata: Metadata, *, clustered: bool) -> Protocol:
    """Return the protocol that the properties request and the table needs."""
    return protocol_for_table(
        schema,
        metadata.configuration,
        features=change.features,
        min_reader=change.min_reader_version,
        min_writer=change.min_writer_version,
        partition_columns=metadata.partition_columns,
        clustered=clustered,
    )
