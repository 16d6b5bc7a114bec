# SPDX-License-Identifier: Apache-2.0
"""A session whose requests are rewritten, and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession
    from tests.support.connect_answers import VersionedFolders


@pytest.fixture
def answers(plain_spark: SparkSession) -> Iterator[VersionedFolders]:
    """The answers to the session's requests. The requests are rewritten only in tests that ask for them."""
    from tests.support.connect_answers import VersionedFolders

    from bayou.spark.portable.requests.installation import install, requests_of

    others = requests_of(plain_spark)
    if others is not None:  # another test used the session with bayou
        others.remove()
    answers = VersionedFolders(plain_spark)
    requests = install(plain_spark, answers)
    yield answers
    requests.remove()


@pytest.fixture
def spark(plain_spark: SparkSession) -> SparkSession:
    """The session that the answers are for, instead of a session with bayou."""
    return plain_spark


@pytest.fixture
def path(plain_spark: SparkSession, answers: VersionedFolders, tmp_path) -> str:
    """A table with three rows."""
    path = str(tmp_path / "orders")
    plain_spark.range(3).selectExpr("id", "id * 10 AS price").write.format("delta").save(path)
    return path


@pytest.fixture
def append(plain_spark: SparkSession, path: str):
    """Appends a row to the table."""

    def append(number: int) -> None:
        rows = plain_spark.range(number, number + 1).selectExpr("id", "id * 10 AS price")
        rows.write.format("delta").mode("append").save(path)

    return append
