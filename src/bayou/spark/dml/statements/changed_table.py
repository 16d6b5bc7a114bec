# SPDX-License-Identifier: Apache-2.0
"""Find the table that a resolved statement changes. Its target must be the latest version of a whole table."""

from __future__ import annotations

from bayou.errors import failed
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
        raise failed("DELTA_OPERATION_NOT_ALLOWED/query", operation=operation, features=(f"{operation} on a query",))
    request = RelationRequest.of_json(text)
    check_is_latest(request, operation)
    return request


def check_is_latest(request: RelationRequest, operation: str) -> None:
    """Raise UnsupportedFeatureError unless a request is for the latest version of a whole table."""
    if request.version is not None:
        raise failed(
            "DELTA_FAILED_SCAN_WITH_HISTORICAL_VERSION",
            table=request.path,
            version=request.version,
            operation=operation,
            features=(f"{operation} on an older version",),
        )
    if request.changes is not None:
        raise failed(
            "DELTA_OPERATION_NOT_ALLOWED/change-feed", table=request.path, operation=operation, features=("readChangeFeed",)
        )
    if request.partition:
        raise failed(
            "DELTA_UNEXPECTED_PARTIAL_SCAN",
            table=request.path,
            operation=operation,
            partition=request.partition,
            features=(f"{operation} on the folder of a partition",),
        )
