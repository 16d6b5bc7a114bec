# SPDX-License-Identifier: Apache-2.0
"""REMOVE COLUMN MAPPING, as far as no file has to be rewritten for it.

Source: delta-spark's `RemoveColumnMappingCommand`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.errors import UnsupportedFeatureError
from bayou.protocol.mapping_removal import why_files_need_rewriting, without_column_mapping
from bayou.protocol.mapping_rules import check_plain_names
from bayou.protocol.schema import parse_schema
from bayou.spark.alter_target import altered

if TYPE_CHECKING:
    from bayou.log.snapshot import Snapshot
    from bayou.spark.alter_target import AlterTarget

ALLOW_REMOVAL: Final = "spark.databricks.delta.columnMapping.allowRemoval"
"""The session's setting that lets a table give up column mapping; it may by default."""


def remove_column_mapping(target: AlterTarget, snapshot: Snapshot, *, keep_mode: bool) -> None:
    """Takes column mapping from a table whose files have the columns under their logical names.

    Args:
        target: the table.
        snapshot: its state.
        keep_mode: whether the mode stays among the properties, as `none`.

    Raises:
        InvalidSchemaError: a column's name needs column mapping.
        UnsupportedFeatureError: files would have to be rewritten.
    """
    check_plain_names(snapshot.schema, table=target.uri, version=snapshot.version)
    why = why_files_need_rewriting(snapshot.metadata)
    if why:
        raise UnsupportedFeatureError(
            f"column mapping cannot be taken from the table by this version of bayou: {why}. All of them have to be rewritten",
            table=snapshot.table_uri,
            version=snapshot.version,
            error_class="DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE",
            sql_state="0AKDC",
            next_step="copy the rows into a new table, or remove it with an engine that rewrites the files.",
            features=("columnMapping",),
        )
    wanted = without_column_mapping(snapshot.metadata, keep_mode=keep_mode)
    actions = altered(snapshot, wanted, parse_schema(wanted.schema_string))
    target.commit(snapshot, "REMOVE COLUMN MAPPING", {}, actions)
