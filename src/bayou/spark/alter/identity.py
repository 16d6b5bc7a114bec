# SPDX-License-Identifier: Apache-2.0
"""SYNC IDENTITY: move the high-water mark of an identity column past the numbers in the table.

Source: delta-spark's `AlterTableChangeColumnDeltaCommand` and `IdentityColumn.syncIdentity`; the history calls it CHANGE COLUMN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.columns.identity_columns import synced_high_water_mark, with_high_water_mark
from bayou.protocol.columns.identity_rules import column_to_sync
from bayou.protocol.types.schema import StructType
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.alter.columns import column_parameter
from bayou.spark.alter.metadata_actions import altered
from bayou.spark.session.operations import described_jobs, operation
from bayou.spark.session.settings import is_on

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.columns.identity_columns import IdentityColumn
    from bayou.spark.read.session_table import SessionTable

_ALLOW_LOWER: Final = "spark.databricks.delta.identityColumn.allowSyncIdentityToLowerHighWaterMark.enabled"


def sync_identity(target: SessionTable, name: str) -> None:
    """Move the mark to the greatest number in the table, or to the least if numbers fall. A no-op if it does not move.

    Explicitly inserted numbers do not move a mark. The number is queried, and the log answers if it has the statistics.

    Raises:
        InvalidSchemaError: the table has no such identity column.
        ConcurrentModificationError: another writer added rows in the meantime.
    """
    snapshot = target.snapshot()
    column = column_to_sync(snapshot.schema, name, table=target.uri)
    parameters = {"column": column_parameter(snapshot.schema, (column.name,))}
    with target.begin(snapshot, "CHANGE COLUMN", parameters) as transaction:
        transaction.read_whole_table()
        shown = operation("SYNC IDENTITY", target.spark, target.settings, target.shown)
        with shown, described_jobs(target.spark, f"SYNC IDENTITY {target.shown}"):
            mark = _mark(target, column)
        if mark != column.high_water_mark:
            transaction.commit(altered(snapshot, snapshot.metadata, _marked(snapshot, column, mark)), metrics={})
    target.refresh_caches()


def _mark(target: SessionTable, column: IdentityColumn) -> int | None:
    furthest = F.max if column.step > 0 else F.min
    extreme = target.rows().agg(furthest(F.col(quoted_name(column.name)))).collect()[0][0]
    allow_lower = is_on(target.settings, _ALLOW_LOWER)
    return synced_high_water_mark(column, extreme, allow_lower=allow_lower)


def _marked(snapshot: Snapshot, column: IdentityColumn, mark: int | None) -> StructType:
    fields = snapshot.schema.fields
    return StructType(tuple(with_high_water_mark(each, mark) if each.name == column.name else each for each in fields))
