# SPDX-License-Identifier: Apache-2.0
"""Find actions that use a feature, so that readers without the feature cannot read their versions.

The protocol action does not count, since it lists the feature until it is dropped. Source: delta-spark's
`RemovableFeature.actionUsesFeature`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from bayou.protocol import properties
from bayou.protocol.columns.mapping_rules import fields_by_path
from bayou.protocol.features.type_widening import TYPE_CHANGES
from bayou.protocol.properties import mapping_mode
from bayou.protocol.types.schema import StructType, parse_schema

_FILES: Final = ("add", "remove", "cdc")


def action_uses(feature: str, action: Mapping[str, Any]) -> bool:
    """Whether an action uses a reader-writer feature.

    Args:
        feature: a feature that can be dropped. Writer features do not matter to readers.
        action: the JSON of the action.
    """
    metadata = action.get("metaData")
    found = _METADATA.get(feature)
    if isinstance(metadata, dict) and found is not None:
        return found(metadata.get("configuration") or {}, str(metadata.get("schemaString") or ""))
    if feature == "deletionVectors":
        return any(isinstance(action.get(kind), dict) and action[kind].get("deletionVector") is not None for kind in _FILES)
    return feature == "v2Checkpoint" and ("checkpointMetadata" in action or "sidecar" in action)


def metadata_uses(feature: str, configuration: Mapping[str, str], schema_string: str) -> bool:
    """Whether a table's metadata use a feature."""
    found = _METADATA.get(feature)
    return found is not None and found(configuration, schema_string)


def has_type_changes(schema: StructType) -> bool:
    """Whether a schema records that a type was widened."""
    return any(TYPE_CHANGES in field.metadata for _, field in fields_by_path(schema))


def _widened(_configuration: Mapping[str, str], schema_string: str) -> bool:
    return TYPE_CHANGES in schema_string and has_type_changes(parse_schema(schema_string))


_METADATA: Final[Mapping[str, Callable[[Mapping[str, str], str], bool]]] = {
    "columnMapping": lambda configuration, _schema: mapping_mode(configuration) != "none",
    "deletionVectors": lambda configuration, _schema: properties.ENABLE_DELETION_VECTORS.read(configuration),
    "typeWidening": _widened,
    "typeWidening-preview": _widened,
    "v2Checkpoint": lambda configuration, _schema: properties.CHECKPOINT_POLICY.read(configuration).lower() == "v2",
}
