# SPDX-License-Identifier: Apache-2.0
"""The table that a resolved statement changes. It must be the latest version of a whole table."""

from __future__ import annotations

from bayou.errors import UnsupportedFeatureError
from bayou.spark.read.request import RelationRequest


def changed_table(text: str | None, operation: str) -> RelationRequest:
    """Return the table that a statement changes the rows of.

    Args:
        text: the request of the statement's relation, as `jvm.catalyst.row_changes.table_of` returns it; None for a query.
        operation: the statement, for errors.

    Raises:
        UnsupportedFeatureError: it is a query, an older version, the change data feed, or the folder of a partition.
    """
    if text is None:
        raise UnsupportedFeatureError(
            f"{operation} changes the rows of a table, not of a query.",
            error_class="DELTA_OPERATION_NOT_ALLOWED",
            features=[f"{operation} on a query"],
            next_step="Name the table.",
        )
    found = RelationRequest.of_json(text)
    if found.version is not None:
        raise UnsupportedFeatureError(
            "Expect a full scan of the latest version of the Delta source, but found a historical scan of version "
            f"{found.version}: {operation} changes the latest version of a table.",
            table=found.path,
            version=found.version,
            error_class="DELTA_FAILED_SCAN_WITH_HISTORICAL_VERSION",
            features=[f"{operation} on an older version"],
            next_step="Name the table without a version.",
        )
    if found.changes is not None:
        raise UnsupportedFeatureError(
            "The change data feed of a table can only be read.",
            table=found.path,
            error_class="DELTA_OPERATION_NOT_ALLOWED",
            features=["readChangeFeed"],
            next_step=f"{operation} on the table itself.",
        )
    if found.partition:
        raise UnsupportedFeatureError(
            f"Expect a full scan of Delta sources, but found a partial scan. {found.partition} is a folder of the "
            "table, and can only be read.",
            table=found.path,
            error_class="DELTA_UNEXPECTED_PARTIAL_SCAN",
            features=[f"{operation} on the folder of a partition"],
            next_step="Name the table, and select the partitions by a condition.",
        )
    return found
