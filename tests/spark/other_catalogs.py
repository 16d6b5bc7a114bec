# SPDX-License-Identifier: Apache-2.0
"""A catalog beside the session's own: tables of a database in memory, which Spark writes by its newer interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "elsewhere"
_SETTINGS = {
    "": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    ".url": "jdbc:derby:memory:elsewhere;create=true",
    ".driver": "org.apache.derby.jdbc.EmbeddedDriver",
}


def add_catalog(session: SparkSession) -> None:
    """Gives a session the catalog."""
    for suffix, value in _SETTINGS.items():
        session.conf.set(f"spark.sql.catalog.{NAME}{suffix}", value)
