# SPDX-License-Identifier: Apache-2.0
"""Find the table that a DELETE, an UPDATE or a MERGE changes, given its path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import failed
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.dml.statements.changed_table import check_is_latest
from bayou.spark.portable.requests.installation import requests_of
from bayou.spark.read.request import RelationRequest, TableRequest, resolve
from bayou.spark.read.session_table import SessionTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.session.application import Application


def target_at(application: Application, spark: SparkSession, path: str, operation: str) -> SessionTable:
    """Return the table at a path.

    Raises:
        UnsupportedFeatureError: the path names a version of the table.
    """
    request = TableRequest.from_options({"path": path})
    if request.version is not None or request.timestamp is not None:
        check_is_latest(RelationRequest.of(resolve(application, spark, request)[0]), operation)
    return SessionTable.of(application, spark, request.path, {})


def refuse_view(spark: SparkSession, parts: Sequence[str], operation: str) -> None:
    """Raise UnsupportedFeatureError if a name is that of a temporary view of Delta tables. The server would not say so."""
    requests = requests_of(spark)
    if requests is not None and requests.is_view(parts):
        raise failed(
            "DELTA_OPERATION_NOT_ALLOWED/connect-view", relation=column_sql(parts), operation=operation, features=("views",)
        )
