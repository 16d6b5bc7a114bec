# SPDX-License-Identifier: Apache-2.0
"""CREATE TABLE LIKE: a new table with the schema, partitioning, clustering, properties and features of another one.

Source: delta-spark's `DeltaAnalysis`.
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
"""The properties, in lower case, that describe one table's files and history. They are not copied to other tables."""


def copied_properties(source: Snapshot) -> dict[str, str]:
    """Return the properties that another table can copy."""
    return {key: value for key, value in source.metadata.configuration.items() if key.lower() not in OF_ONE_TABLE}


def like_actions(
    source: Snapshot, properties: Mapping[str, str], *, table: str, settings: Mapping[str, str] | None = None
) -> FirstActions:
    """Return the protocol, metadata and clustering columns of a new table like another one.

    Column ids and physical names are new, identity columns restart, and widened columns have their current type from the start.

    Args:
        properties: further properties, features and protocol versions among them.
        settings: a session's settings; its property defaults apply if neither the source nor `properties` sets a property.

    Raises:
        InvalidOptionError: a property cannot be set.
        InvalidSchemaError: the source has columns that a new table cannot have.
        UnsupportedFeatureError: the table would need an unsupported feature.
    """
    check_readable(source.protocol, source.table_uri, source.version)
    check_internal_names(source.schema, table)
    free = allows_arbitrary(settings or {})
    copied = copied_properties(source)
    # The protocol comes from the source: the session's defaults of features and protocol versions apply only to tables without one.
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
