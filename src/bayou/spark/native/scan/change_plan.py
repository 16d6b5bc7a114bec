# SPDX-License-Identifier: Apache-2.0
"""Plan a read of the change data feed as a union of scans by Spark's own reader."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayou.log.changes.feed import FEED_COLUMNS
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.jvm.catalyst.wide_columns import projected
from bayou.spark.jvm.core.session import session_of
from bayou.spark.jvm.relations.plans import analyzed, union
from bayou.spark.jvm.relations.relation import java_frame
from bayou.spark.native.scan.scan import PlannedScan, Scan
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.read.change_scan import FEED_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.protocol.types.schema import StructField
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.read.change_scan import Changes
    from bayou.spark.session.application import Application

_TYPE: Final = FEED_COLUMNS[0]


def planned_changes(
    changes: Changes,
    application: Application,
    session: JavaObject,
    fields: Sequence[StructField],
    metadata: Sequence[str] | None = None,
    *,
    streaming: bool = False,
) -> PlannedScan:
    """Return the rows of a feed as a logical plan: the table's columns, then the feed's, then `_metadata`.

    Args:
        fields: the table's columns to read; nested fields may be pruned.
        metadata: the fields of `_metadata` to read; None for no such column.
        streaming: whether the rows are a batch of a stream.
    """
    scans = [
        Scan(
            application,
            session,
            changes.feed.snapshot,
            [*fields, _TYPE] if files.has_types else list(fields),
            metadata,
            hidden=files.constants(),
            options=changes.options,
            source=files,
            streaming=streaming,
        ).planned()
        for files in changes.groups
    ]
    names = [*scans[0].columns[: len(fields)], *FEED_NAMES, *([] if metadata is None else scans[0].columns[-1:])]
    if len(scans) == 1:
        return replace(scans[0], columns=names)
    jvm = jvm_of(application)
    spark, columns = session_of(session), [*map(quoted_name, names)]
    rows = union(java_frame(projected(jvm, spark, scan.plan, columns)) for scan in scans)
    return PlannedScan(analyzed(rows), names, is_union=True)
