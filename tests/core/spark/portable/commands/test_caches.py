# SPDX-License-Identifier: Apache-2.0
"""Tables by path that a client cached, and what the server really keeps."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark import StorageLevel

from bayou.spark.portable.commands.tables.caches import cache_table, is_cached

PATH = "/a/t"


class Context:
    """The context of a classic session, whose identity counts."""


class Session:
    """A session, its reader and the only DataFrame of its server in one."""

    def __init__(self) -> None:
        self.sparkContext = Context()
        self.storageLevel = StorageLevel.NONE
        self.exists = True

    @property
    def read(self) -> Session:
        """The reader."""
        return self

    def table(self, name: str) -> Session:
        """The DataFrame."""
        assert name == f"delta.`{PATH}`"
        return self

    def persist(self, level: StorageLevel = StorageLevel.MEMORY_AND_DISK) -> None:
        """Keep the rows."""
        if not self.exists:
            raise FileNotFoundError
        self.storageLevel = level


def test_a_table_is_cached_again_after_the_server_dropped_all():
    spark: Any = Session()
    assert not is_cached(spark, PATH)
    cache_table(spark, PATH, is_lazy=True, level=None)
    assert is_cached(spark, PATH)
    spark.storageLevel = StorageLevel.NONE
    assert not is_cached(spark, PATH)
    cache_table(spark, PATH, is_lazy=True, level=StorageLevel.DISK_ONLY)
    assert is_cached(spark, PATH)


def test_a_table_that_could_not_be_cached_is_not_cached():
    spark: Any = Session()
    spark.exists = False
    with pytest.raises(FileNotFoundError):
        cache_table(spark, PATH, is_lazy=True, level=None)
    assert not is_cached(spark, PATH)
    spark.exists = True
    cache_table(spark, PATH, is_lazy=True, level=None)
    assert is_cached(spark, PATH)
