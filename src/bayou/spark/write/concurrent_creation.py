# SPDX-License-Identifier: Apache-2.0
"""Two writers that create one table: the files of the one that came second are an append to the table of the first."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bayou.errors import ConcurrentWriteException, ProtocolChangedException
from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.columns.identity_columns import identity_columns
from bayou.spark.data_files.target import write_target
from bayou.spark.data_files.uncommitted_files import taking_back
from bayou.spark.data_files.write_jobs import delete_files
from bayou.spark.types.alignment import same_names_and_types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.errors import DeltaError
    from bayou.log.delta_log import DeltaLog
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.data_files.request import WriteRequest
    from bayou.spark.data_files.target import WriteTarget
    from bayou.spark.data_files.written_files import NewFiles


def lost_creation(request: WriteRequest, target: WriteTarget, error: DeltaError) -> bool:
    """Whether a lost commit would have created the table, and can be an append to the one that another writer created."""
    return isinstance(error, ProtocolChangedException) and target.snapshot is None and request.mode == "append"


def target_of_new_table(
    request: WriteRequest, log: DeltaLog, lost: WriteTarget, added: NewFiles, settings: Mapping[str, str]
) -> tuple[Snapshot, WriteTarget]:
    """The table that another writer made first, where files that were written for one of this writer's own can be its files.

    Args:
        lost: the table as this writer would have created it.
        added: the files, which are deleted again where they cannot be the table's.

    Returns:
        The table's state, and the table as an append sees it.

    Raises:
        ConcurrentWriteException: for the table's schema the files would have to be others.
    """
    with taking_back(partial(delete_files, request, added.actions)):
        snapshot = log.update()
        target = write_target(request, lost.given, log, snapshot, settings)
        if not _takes_files_of(target, lost):
            raise ConcurrentWriteException(
                "Another writer created the table at the same time, and for its schema these files would have to be others.",
                table=log.table_uri,
                version=snapshot.version,
                next_step="write again.",
                conflicting_version=snapshot.version,
                conflicting_operation=None,
                conflicting_timestamp=None,
                conflicting_commit=None,
                files=(),
                num_files=0,
            )
    return snapshot, target


def _takes_files_of(target: WriteTarget, lost: WriteTarget) -> bool:
    """Whether files that were written for one table are what they would be if they had been written for another."""
    asks_more = target.constraints or target.maps_columns or lost.maps_columns or target.generates
    absent = [field for field in target.schema.fields if lost.schema.field(field.name) is None]
    return (
        not asks_more
        and target.materializes_partitions == lost.materializes_partitions
        and not any(CURRENT_DEFAULT in field.metadata for field in absent)
        and not identity_columns(target.schema)
        and target.partition_by == lost.partition_by
        and all(
            known is not None and same_names_and_types(known.type, each.type)
            for each in lost.schema.fields
            for known in [target.schema.field(each.name)]
        )
    )
