# SPDX-License-Identifier: Apache-2.0
"""REMOVE COLUMN MAPPING: rewrite the files that name columns differently from the table.

Source: delta-spark's `RemoveColumnMappingCommand`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from bayou.log.snapshot.clustering import logical_clustering, replaced_clustering
from bayou.protocol.columns.mapping_rules import check_plain_names
from bayou.protocol.evolution.mapping_removal import why_files_need_rewriting, without_column_mapping
from bayou.protocol.features.features import check_writable
from bayou.protocol.types.schema import parse_schema
from bayou.spark.alter.metadata_actions import altered
from bayou.spark.data_files.target import WriteTarget
from bayou.spark.maintenance.rewrite import Rewriting, Rewritten, rewrite_files
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.actions.actions import Metadata
    from bayou.spark.read.session_table import SessionTable

ALLOW_REMOVAL: Final = "spark.databricks.delta.columnMapping.allowRemoval"
"""The session's setting that allows column mapping to be removed from a table, which is the default."""
_OPERATION: Final = "REMOVE COLUMN MAPPING"
_PARAMETERS: Final[dict[str, Any]] = {}


def remove_column_mapping(target: SessionTable, snapshot: Snapshot, *, keep_mode: bool) -> None:
    """Remove column mapping from a table, in one commit. `keep_mode` keeps the mode `none` among the properties.

    If its files name the columns by their logical names, none is rewritten; otherwise all are.

    Raises:
        InvalidSchemaError: a column's name needs column mapping.
        ConcurrentModificationError: another commit changed the table in the meantime.
    """
    check_plain_names(snapshot.schema, table=target.uri, version=snapshot.version)
    wanted = without_column_mapping(snapshot.metadata, keep_mode=keep_mode)
    if why_files_need_rewriting(snapshot.metadata):
        into = _renamed(target, snapshot, wanted)
        every = pa.array(np.arange(snapshot.num_files), pa.int64())
        rewrite_files(target, snapshot, every, Rewriting(_OPERATION, _PARAMETERS, Rewritten.as_mapping_removal, into))
        return
    actions = altered(snapshot, wanted, parse_schema(wanted.schema_string))
    target.commit(snapshot, _OPERATION, _PARAMETERS, actions)


def _renamed(target: SessionTable, snapshot: Snapshot, wanted: Metadata) -> WriteTarget:
    """Return the write target whose files, and clustering columns, have the logical names."""
    check_writable(snapshot.protocol, wanted, snapshot.table_uri, snapshot.version)
    domains = replaced_clustering(snapshot, wanted, logical_clustering(snapshot))
    schema = parse_schema(wanted.schema_string)
    given = readable_schema(schema)
    return WriteTarget(target.log, snapshot, snapshot.protocol, wanted, schema, given, (wanted, *domains))
