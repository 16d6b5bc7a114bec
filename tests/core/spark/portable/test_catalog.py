# SPDX-License-Identifier: Apache-2.0
"""Entries of a catalog as a server of Spark Connect describes them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark.errors import AnalysisException

from bayou.spark.portable.catalog import PortableCatalog


class Server:
    """Describes one table as a server with delta-spark 4.4 does, whose tables are of Spark's catalog API of version 2."""

    condition = "NOT_SUPPORTED_COMMAND_FOR_V2_TABLE"
    rows = (
        ("Location", "bigint", None),  # a column
        ("", "", ""),
        ("# Detailed Table Information", "", ""),
        ("Name", "spark_catalog.default.`a.b`", ""),
        ("Type", "MANAGED", ""),
        ("Location", "file:/warehouse/t", ""),
        ("Provider", "delta", ""),
    )

    @property
    def catalog(self):
        return SimpleNamespace(
            tableExists=lambda _: True, getTable=lambda _: SimpleNamespace(isTemporary=False, tableType="MANAGED", name="a.b")
        )

    def sql(self, text):
        if text.endswith("AS JSON"):
            raise AnalysisException("not supported", errorClass=self.condition)
        return SimpleNamespace(collect=lambda: list(self.rows))


def test_a_table_of_version_2_is_described_by_its_details_and_not_by_its_columns():
    entry = PortableCatalog(Server()).delta_entry("default.`a.b`")
    assert (entry.provider, entry.location, entry.name, entry.managed) == (
        "delta",
        "file:/warehouse/t",
        "spark_catalog.default.a.b",
        True,
    )


def test_other_failures_are_the_callers():
    server = Server()
    server.condition = "INTERNAL_ERROR"
    with pytest.raises(AnalysisException):
        PortableCatalog(server).delta_entry("t")
