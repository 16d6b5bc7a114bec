# SPDX-License-Identifier: Apache-2.0
"""Sources of the tests of MERGE."""

from __future__ import annotations


def source_of(spark, *given):
    """Rows of a source: `(id, part, v)`."""
    return spark.createDataFrame(list(given), "id long, part string, v string")


def new(*ids):
    return [(each, "a" if each < 10 else "b", "new") for each in ids]


def merged(table, source, condition="t.id = s.id"):
    return table.alias("t").merge(source.alias("s"), condition)
