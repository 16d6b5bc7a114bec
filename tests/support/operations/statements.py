# SPDX-License-Identifier: Apache-2.0
"""Settings for as long as a block lasts, the clauses of an upsert, and the rows of a table by name."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pyspark
from tests.support.on_connect import settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession


SAYS_SO = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 0)
"""Whether this Spark knows the words WITH SCHEMA EVOLUTION, variables, and functions in SQL."""


def setting(spark, name, value):
    return settings(spark, {name: value})


def rows(spark, name):
    return sorted(map(tuple, spark.table(name).collect()), key=repr)


BOTH = "when matched then update set * when not matched then insert *"
"""The clauses of an upsert of whole rows."""


@contextlib.contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Sets some settings, which have their values of before after the block."""
    before = settings_of(spark)
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in values:
            if name in before:
                spark.conf.set(name, before[name])
            else:
                spark.conf.unset(name)
