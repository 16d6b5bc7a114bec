# SPDX-License-Identifier: Apache-2.0
"""A table's first commit."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import InvalidOptionError, TableExistsError, TableNotFoundError
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
"""The properties that a table keeps when another one takes its place without saying anything of them, as with delta-spark."""


def create_table(
    log: LogReader, schema: StructType, partition_by: Sequence[str], properties: Mapping[str, str], description: str | None
) -> None:
    """Commit the protocol and the metadata of a table without rows; see `DeltaLog.create`."""
    try:
        present = log.update()
    except TableNotFoundError:
        pass
    else:
        raise TableExistsError(
            "there is a table already",
            table=log.table_uri,
            version=present.version,
            next_step="Append to it, or choose another path.",
        )
    refuse_constraints(properties, log.table_uri)
    first = first_actions(schema, partition_by, properties, table=log.table_uri, description=description)
    parameters = creation_parameters(first.metadata, managed=False)
    Transaction(log, None, "CREATE TABLE", parameters).commit(first.actions, metrics={})


def refuse_constraints(properties: Mapping[str, str], table: str) -> None:
    """Refuse properties that define a CHECK constraint, which only Spark can look at.

    Raises:
        InvalidOptionError: one does.
    """
    if any(key.lower().startswith(known_properties.CONSTRAINT_PREFIX) for key in properties):
        raise InvalidOptionError(
            "a CHECK constraint is looked at by Spark, and a table is made here without it",
            table=table,
            error_class="DELTA_ADD_CONSTRAINTS",
            next_step="Use DeltaTable.create, or DeltaTable.addConstraint.",
        )


def refuse_other_files(
    log: LogReader,
    *,
    is_expected: bool = False,
    next_step: str = "choose an empty folder, or convert the files that are there.",
) -> None:
    """Refuses to make a table in a folder that has files and no log.

    Args:
        is_expected: whether the table is to be there already.
        next_step: what the reader can do if it was not.

    Raises:
        TableExistsError: there are some.
        TableNotFoundError: the same, and a table was to be there.
    """
    try:
        found = next(iter(log.store.list_from("")), None)
    except FileNotFoundError:
        found = None
    if found is None:
        return
    if is_expected:
        raise TableNotFoundError(
            f"You are trying to create an external table from {log.table_uri} using Delta, but there is no transaction log present "
            "at the location, and it is not empty.",
            table=log.table_uri,
            error_class="DELTA_CREATE_EXTERNAL_TABLE_WITHOUT_TXN_LOG",
            next_step="check the path; or convert the files that are there.",
        )
    raise TableExistsError(
        f"Cannot create table at {log.table_uri}: the location is not empty and also not a Delta table.",
        table=log.table_uri,
        error_class="DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION",
        next_step=next_step,
    )


def creation_parameters(metadata: Metadata, cluster_by: ClusteringColumns | None = None, *, managed: bool) -> dict[str, Any]:
    """What the history shows of an operation that makes a table, or puts another one in its place.

    Args:
        managed: whether the catalog chose its folder.
    """
    return {
        "partitionBy": list(metadata.partition_columns),
        "clusterBy": names_of(cluster_by or ()),
        "description": metadata.description,
        "isManaged": "true" if managed else "false",
        "properties": dict(metadata.configuration),
    }


@dataclass(frozen=True, slots=True)
class FirstActions:
    """What makes a table.

    Attributes:
        protocol: its protocol.
        metadata: its metadata.
        cluster_by: the paths of its clustering columns; None where it is not clustered.
    """

    protocol: Protocol
    metadata: Metadata
    cluster_by: ClusteringColumns | None = None

    @property
    def domains(self) -> tuple[DomainMetadata, ...]:
        """The metadata of its domains: the clustering columns of a clustered table."""
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
    """The protocol and the metadata of a new table, and its clustering columns.

    Args:
        schema: its schema; types may be `char(n)` and `varchar(n)`.
        partition_by: its partition columns, whatever the case.
        properties: its properties, features and protocol versions among them.
        settings: a session's settings, for the defaults of properties.
        features: features that it gets beside those that it needs.
        cluster_by: the paths of its clustering columns, whatever the case; none for a table that is clustered by nothing yet,
            and None for one that is not clustered.
        may_be_empty: whether the schema may have no column.
        replaced: the table in whose place it comes: mapped columns that fit keep their ids and physical names, and no id is
            given again.

    Raises:
        InvalidSchemaError: no table can have this schema, these partition columns or these clustering columns.
        InvalidOptionError: a property cannot be set.
        UnsupportedFeatureError: it would need a rule that is not enforced yet, or a feature that has to be asked for by its
            name, as column defaults do; it is named.
    """
    settings = settings or {}
    change = _asked(properties, features, settings, replaced, table)
    check_allowed(schema, change.features, "CREATE TABLE", table=table)
    rules = ClusteringRules.of(settings, table)
    if cluster_by is not None:
        rules.refuse_beside(partition_by)
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
    """What the properties ask for, with the session's defaults, what a replaced table leaves, and further features."""
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
    """The schema with ids and physical names; columns keep those of the replaced table where they fit."""
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
    """The protocol that properties ask for, and that the table needs.

    Args:
        clustered: whether it is clustered.
    """
    return protocol_for_table(
        schema,
        metadata.configuration,
        features=change.features,
        min_reader=change.min_reader_version,
        min_writer=change.min_writer_version,
        partition_columns=metadata.partition_columns,
        clustered=clustered,
    )
