# SPDX-License-Identifier: Apache-2.0
"""Decide how the rows of a MERGE are written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.protocol import properties
from bayou.spark.dml.core.commit import write_request
from bayou.spark.dml.merge.first_pass import clauses_with, positions_of
from bayou.spark.dml.merge.resolution.clauses import Action
from bayou.spark.session.settings import is_on

if TYPE_CHECKING:
    from bayou.spark.data_files.request import WriteRequest
    from bayou.spark.dml.core.row_change import Change
    from bayou.spark.dml.merge.any_merge import Found, MergeParts

_REPARTITION = "spark.databricks.delta.merge.repartitionBeforeWrite.enabled"


def may_repartition(change: Change) -> bool:
    """Whether the session allows a MERGE to repartition its rows before it writes them."""
    return is_on(change.settings, _REPARTITION, default=True)


def merge_request(merge: MergeParts) -> WriteRequest:
    """Return the request of the write. By default, rows of a partitioned table are coalesced by partition, into larger files."""
    change = merge.change
    request = write_request(change)
    of_table = properties.OPTIMIZE_WRITE.read(change.snapshot.metadata.configuration)
    is_unset = request.options.optimize_write is None and of_table is None
    if is_unset and may_repartition(change) and change.snapshot.partition_columns:
        return replace(request, options=replace(request.options, optimize_write=True))
    return request


def needs_change_rows(merge: MergeParts, found: Found, *, rewrites: bool) -> bool:
    """Whether rows are updated, or are deleted from a file that is rewritten because it has remaining rows.

    Readers derive all other changes from added and removed files and deletion vectors.
    """
    if found.changed(clauses_with(merge, Action.UPDATE)):
        return True
    changed = found.changed()
    if not rewrites or not changed:
        return False
    positions = positions_of(changed)
    deleted = pa.array([changed[each].cardinality for each in positions.to_pylist()], pa.int64())
    return not pc.all(pc.fill_null(pc.equal(merge.change.snapshot.live_rows(positions), deleted), False)).as_py()
