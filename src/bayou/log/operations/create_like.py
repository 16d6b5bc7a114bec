# SPDX-License-Identifier: Apache-2.0
"""The first commit of a table that is made like another one: its schema, partitioning, clustering, properties and features.

Source: delta-spark's `DeltaAnalysis`, CREATE TABLE LIKE.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from bayou.log.operations.create import FirstActions, asked_protocol
from bayou.log.rows.row_tracking import with_materialised_columns
from bayou.log.snapshot.clustering import logical_clustering
from bayou.protocol import properties as known_properties
from bayou.protocol.actions.actions import Metadata
from bayou.protocol.columns.column_mapping import mapped_columns, without_mapping
from bayou.protocol.columns.identity_columns import with_high_water_mark
from bayou.protocol.columns.mapping_rules import fields_by_path
from bayou.protocol.evolution.property_rules import allows_arbitrary, session_defaults, validated
from bayou.protocol.features.features import check_readable, check_writable
from bayou.protocol.features.protocol_rules import merged
from bayou.protocol.features.type_widening import without_type_changes
from bayou.protocol.schema.reserved_names import check_internal_names
from bayou.protocol.types.schema import StructType, schema_to_json

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot

OF_ONE_TABLE: Final = frozenset(
    each.key.lower()
    for each in (
        known_properties.MAX_COLUMN_ID,
        known_properties.MATERIALIZED_ROW_ID,
        known_properties.MATERIALIZED_ROW_COMMIT_VERSION,
        known_properties.ICT_ENABLEMENT_VERSION,
        known_properties.ICT_ENABLEMENT_TIMESTAMP,
        known_properties.CHECKPOINT_PROTECTION_VERSION,
        known_properties.ROW_TRACKING_SUSPENDED,
    )
)
"""The properties, in lower case, that are about one table's files and history. No other table takes them over."""


def copied_properties(source: Snapshot) -> dict[str, str]:
    """The properties that another table can take over: all but those that are about one table's files and history."""
    return {key: value for key, value in source.metadata.configuration.items() if key.lower() not in OF_ONE_TABLE}


def like_actions(
    source: Snapshot, properties: Mapping[str, str], *, table: str, settings: Mapping[str, str] | None = None
) -> FirstActions:
    """The protocol and the metadata of a new table like another one, and its clustering columns.

    Column ids and physical names are new ones, identity columns begin anew, and types that were widened have their types from
    the start.

    Args:
        properties: further properties, features and protocol versions among them.
        settings: a session's settings; its defaults of properties count where neither the other table nor `properties` have them.

    Raises:
        InvalidOptionError: a property cannot be set.
        InvalidSchemaError: the other table has columns that no new table gets.
        UnsupportedFeatureError: the table would need what bayou does not do.
    """
    check_readable(source.protocol, source.table_uri, source.version)
    check_internal_names(source.schema, table)
    free = allows_arbitrary(settings or {})
    copied = copied_properties(source)
    # The protocol is the other table's: a session's defaults of features and protocol versions are for tables without a model.
    defaults = session_defaults(settings or {}, {**copied, **properties, known_properties.IGNORE_PROTOCOL_DEFAULTS.key: "true"})
    asked = {**defaults, **properties}
    change = validated(asked, table=table, current=copied, creating=True, allow_arbitrary=free)
    given = {key.lower() for key in change.configuration}
    configuration = {**{key: value for key, value in copied.items() if key.lower() not in given}, **change.configuration}
    schema = without_type_changes(without_mapping(source.schema))
    schema = StructType(tuple(with_high_water_mark(field, None) for field in schema.fields))
    mapped = mapped_columns(schema, configuration, table=table)
    names = [name for _, each in fields_by_path(mapped.schema) for name in (each.name, each.physical_name)]
    metadata = Metadata(
        id=str(uuid.uuid4()),
        schema_string=schema_to_json(mapped.schema),
        partition_columns=source.partition_columns,
        configuration=with_materialised_columns(mapped.configuration, names, keep=False),
        created_time=int(time.time() * 1000),
        description=source.metadata.description if change.description is None else change.description,
    )
    clustering = logical_clustering(source)
    needed = asked_protocol(change, mapped.schema, metadata, clustered=clustering is not None)
    first = FirstActions(merged(source.protocol, needed), metadata, clustering)
    check_writable(first.protocol, metadata, table)
    return first
