# SPDX-License-Identifier: Apache-2.0
"""The settings under which every change of rows has to come to the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.ways import FILES, VECTORS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(params=[FILES, VECTORS], ids=["files", "vectors"])
def way(request: pytest.FixtureRequest) -> dict[str, str]:
    """The properties of a table: its rows change by rewriting files, or by deletion vectors and new files."""
    return request.param


@pytest.fixture(params=["10MB", "-1"], ids=["broadcast", "shuffle"])
def joins(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    """Whether sources are small enough to be broadcast."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", request.param)
    yield request.param
    spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
