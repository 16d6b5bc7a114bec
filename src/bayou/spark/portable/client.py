# SPDX-License-Identifier: Apache-2.0
"""The parts of Spark Connect's client that PySpark has no public names for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def client_of(spark: SparkSession) -> Any:
    """Return the client of a session, which sends its requests."""
    return cast("Any", spark).client


def plan_of(frame: DataFrame) -> Any:
    """Return the plan of a DataFrame, as the client keeps it until it sends a request."""
    return cast("Any", frame)._plan  # noqa: SLF001  (see above)


def message_of(column: Column, spark: SparkSession) -> Any:
    """Return the message of a column, as a request of the session would have it."""
    return cast("Any", column).to_plan(client_of(spark))


def alias_of(frame: DataFrame) -> str | None:
    """Return the alias of a query's rows, or None."""
    plan = plan_of(frame)
    return str(plan._alias) if type(plan).__name__ == "SubqueryAlias" else None  # noqa: SLF001  (see above)
