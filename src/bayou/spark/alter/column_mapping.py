# SPDX-License-Identifier: Apache-2.0
"""REMOVE COLUMN MAPPING: files that have other names for columns than the table are written again, under the table's names.

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
"""The session's setting that lets a table give up column mapping; it may by default."""
_OPERATION: Final = "REMOVE COLUMN MAPPING"
_PARAMETERS: Final[dict[str, Any]] = {}


def remove_column_mapping(target: SessionTable, snapshot: Snapshot, *, keep_mode: bool) -> None:
    """Takes column mapping from a table, in one commit.

    Where its files have the columns under their logical names anyway, none is written again; else all are.

    Args:
        keep_mode: whether the mode stays among the properties, as `none`.

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
    """The table whose files have the logical names; its clustering columns are noted by them from then on, too."""
    check_writable(snapshot.protocol, wanted, snapshot.table_uri, snapshot.version)
    domains = replaced_clustering(snapshot, wanted, logical_clustering(snapshot))
    schema = parse_schema(wanted.schema_string)
    given = readable_schema(schema)
    return WriteTarget(target.log, snapshot, snapshot.protocol, wanted, schema, given, (wanted, *domains))
