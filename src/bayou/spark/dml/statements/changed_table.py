# SPDX-License-Identifier: Apache-2.0
"""Find the table that a resolved statement changes. Its target must be the latest version of a whole table."""

from __future__ import annotations

from bayou.errors import UnsupportedFeatureError
from bayou.spark.read.request import RelationRequest


def changed_table(text: str | None, operation: str) -> RelationRequest:
    """Return the table whose rows a statement changes.

    Args:
        text: the JSON of the target's `RelationRequest`, as `row_changes.table_of` returns it; None if the target is a query.
        operation: the name of the statement, for errors.

    Raises:
        UnsupportedFeatureError: the target is a query, an older version, the change data feed, or the folder of a partition.
    """
    if text is None:
        raise UnsupportedFeatureError(
            f"{operation} changes the rows of a table, not of a query.",
            error_class="DELTA_OPERATION_NOT_ALLOWED",
            features=[f"{operation} on a query"],
            next_step="Name the table.",
        )
    request = RelationRequest.of_json(text)
    if request.version is not None:
        raise UnsupportedFeatureError(
            "Expect a full scan of the latest version of the Delta source, but found a historical scan of version "
            f"{request.version}: {operation} changes the latest version of a table.",
            table=request.path,
            version=request.version,
            error_class="DELTA_FAILED_SCAN_WITH_HISTORICAL_VERSION",
            features=[f"{operation} on an older version"],
            next_step="Name the table without a version.",
        )
    if request.changes is not None:
        raise UnsupportedFeatureError(
            "The change data feed of a table can only be read.",
            table=request.path,
            error_class="DELTA_OPERATION_NOT_ALLOWED",
            features=["readChangeFeed"],
            next_step=f"{operation} on the table itself.",
        )
    if request.partition:
        raise UnsupportedFeatureError(
            f"Expect a full scan of Delta sources, but found a partial scan. {request.partition} is a folder of the "
            "table, and can only be read.",
            table=request.path,
            error_class="DELTA_UNEXPECTED_PARTIAL_SCAN",
            features=[f"{operation} on the folder of a partition"],
            next_step="Name the table, and select the partitions by a condition.",
        )
    return request
