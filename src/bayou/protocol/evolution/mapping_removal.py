# SPDX-License-Identifier: Apache-2.0
"""Remove column mapping from a table's metadata, and check whether its files need to be rewritten.

They do not if the table existed before it got the mode `name`, and no column was renamed or dropped since. Source: delta-spark's
`RemoveColumnMappingCommand`, which always rewrites all files.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bayou.protocol import properties
from bayou.protocol.actions.actions import Metadata
from bayou.protocol.columns.column_mapping import without_mapping
from bayou.protocol.columns.mapping_rules import fields_by_path
from bayou.protocol.types.schema import PHYSICAL_NAME, StructType, parse_schema, schema_to_json

_MODE: Final = properties.COLUMN_MAPPING_MODE.key
_KEYS: Final = (_MODE.lower(), properties.MAX_COLUMN_ID.key.lower())


def is_mapped(metadata: Metadata) -> bool:
    """Whether a table uses column mapping, or has left-over ids and physical names."""
    if properties.COLUMN_MAPPING_MODE.read(metadata.configuration).lower() != "none":
        return True
    fields = [field for _, field in fields_by_path(parse_schema(metadata.schema_string))]
    return any(PHYSICAL_NAME in field.metadata or field.field_id is not None for field in fields)


def why_files_need_rewriting(metadata: Metadata) -> str:
    """Return why files must be rewritten to remove column mapping; empty if they need not."""
    if properties.COLUMN_MAPPING_MODE.read(metadata.configuration).lower() == "none":
        return ""  # the left-over ids and names are not in the files
    fields = list(fields_by_path(parse_schema(metadata.schema_string)))
    other = [field.name for _, field in fields if field.physical_name != field.name]
    if other:
        more = f" and {len(other) - 3} more" if len(other) > 3 else ""  # noqa: PLR2004  (a few names are enough)
        return f"its files have other names for {', '.join(map(repr, other[:3]))}{more}"
    ids = {field.field_id or 0 for _, field in fields}
    greatest = properties.MAX_COLUMN_ID.read(metadata.configuration)
    # Ids start with one, so if none is missing their number equals the greatest id.
    if len(ids) != greatest or (ids and (min(ids), max(ids)) != (1, greatest)):
        # A new column with the name of a dropped one would show the old values.
        return "columns were dropped, and its files may still hold them"
    return ""


def without_column_mapping(metadata: Metadata, *, keep_mode: bool) -> Metadata:
    """Return a table's metadata without ids, physical names and the properties of column mapping.

    Args:
        keep_mode: whether to keep the property of the mode, as `none`.
    """
    kept = {key: value for key, value in metadata.configuration.items() if key.lower() not in _KEYS}
    schema: StructType = without_mapping(parse_schema(metadata.schema_string))
    configuration = {**kept, _MODE: "none"} if keep_mode else kept
    return replace(metadata, schema_string=schema_to_json(schema), configuration=configuration)
