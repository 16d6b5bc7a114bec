# SPDX-License-Identifier: Apache-2.0
"""Settings for statements that change a table, the clauses of an upsert, and the rows of a table by its name."""

from __future__ import annotations

import contextlib

import pyspark

SAYS_SO = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 0)
"""Whether this Spark knows the words WITH SCHEMA EVOLUTION, variables, and functions in SQL."""


@contextlib.contextmanager
def setting(spark, name, value):
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.unset(name)


def rows(spark, name):
    return sorted(map(tuple, spark.table(name).collect()), key=repr)


BOTH = "when matched then update set * when not matched then insert *"
"""The clauses of an upsert of whole rows."""
