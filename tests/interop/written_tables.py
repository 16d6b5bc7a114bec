# SPDX-License-Identifier: Apache-2.0
"""Tables that our writer makes, with every type and the values at which readers differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bayou

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOP = "decode(unhex('F48FBFBF'), 'UTF-8')"
VALUES = {
    "boolean": ["true", "false"],
    "tinyint": ["-128Y", "0Y", "127Y"],
    "smallint": ["-32768S", "32767S"],
    "int": ["-2147483648", "7", "2147483647"],
    "bigint": ["-9223372036854775807L", "9007199254740993L", "9223372036854775807L"],
    "float": ["float('-1.5')", "float('NaN')", "float('0.1')", "float('-0.0')"],
    "double": ["-1.5D", "double('NaN')", "double('Infinity')", "double('-0.0')", "0.1D"],
    "decimal(38,10)": ["cast('-1.5' as decimal(38,10))", "cast('1234567890123456789012345678.0123456789' as decimal(38,10))"],
    # delta-rs cannot open a table with a negative decimal as partition value, whoever wrote it.
    "decimal(9,2)": ["1.50BD", "9999999.99BD"],
    "date": ["date'1582-10-04'", "date'2026-01-01'", "date'9999-12-31'"],
    "timestamp": [
        "timestamp'1900-01-01 00:00:00.000001Z'",
        "timestamp'2026-01-01 00:00:00.999999Z'",
        "timestamp'2025-11-02 05:30:00Z'",
    ],
    "string": ["''", "'a'", "repeat('a', 33)", f"repeat({TOP}, 33)", "'ü/=%'", "'line\\nfeed'"],
    "binary": ["unhex('00ff')", "encode('abc', 'UTF-8')"],
}
COUNT = 14
TABLES = ("types", "partitions", "nested")
_PARTITION_TYPES = ("boolean", "int", "bigint", "decimal(9,2)", "date", "timestamp", "string")


def column(kind: str) -> str:
    """The name of the column of a type."""
    return "c_" + "".join(c if c.isalnum() else "_" for c in kind).strip("_")


def values(kind: str) -> list[str]:
    """The values of a type as SQL, NULL among them."""
    return [*VALUES[kind], f"cast(null as {kind})"]


def rows(spark: SparkSession, table: str) -> DataFrame:
    """The rows of a table, from no file."""
    if table == "nested":
        return spark.sql(
            """select * from values
            (1L, struct(1 as a, struct('x' as c, double('NaN') as d) as b), array(1, null, 3), map('k', struct(1 as v)),
            array(struct(1 as e))),
            (2L, struct(null as a, null as b), array(), map(), array(null)),
            (3L, null, null, null, null)
            as t(id, s, l, m, ls)"""
        )
    kinds = _PARTITION_TYPES if table == "partitions" else tuple(VALUES)
    lines = (
        f"select {n}L as id, " + ", ".join(f"{values(k)[(n + i) % len(values(k))]} as {column(k)}" for i, k in enumerate(kinds))
        for n in range(COUNT)
    )
    return spark.sql(" union all ".join(lines))


def partition_columns(table: str) -> list[str]:
    """The table's partition columns."""
    return [column(kind) for kind in _PARTITION_TYPES] if table == "partitions" else []


def write(spark: SparkSession, table: str, path: str) -> DataFrame:
    """Makes the table by our writer, in several files and two commits; returns its rows, from no file."""
    expected = rows(spark, table)
    for part in (expected.where("id < 7"), expected.where("id >= 7")):
        files = part.repartition(2, "id") if table == "types" else part.coalesce(1)
        bayou.write(files, path, mode="append", partition_by=partition_columns(table))
    return expected


def filters(table: str) -> list[str]:
    """Conditions at every value of every column."""
    if table == "nested":
        return ["s.a = 1", "s.b.d = double('NaN')", "s.b is null", "s is null", "s.b.c >= 'x'", "l is null", "size(l) = 3"]
    kinds = _PARTITION_TYPES if table == "partitions" else tuple(VALUES)
    found = []
    for kind in kinds:
        name = column(kind)
        found += [f"{name} is null", f"{name} is not null"]
        for value in VALUES[kind]:
            found += [f"{name} <=> {value}", f"not ({name} < {value})"]
    return found


TEXT = "to_json(struct(*), map('timestampFormat', 'yyyy-MM-dd''T''HH:mm:ss.SSSSSSXXX', 'ignoreNullFields', 'false')) as text"
"""A row as text that says everything of it."""


def matching(source: str, conditions: list[str]) -> str:
    """A query for the ids that each condition leaves, as texts `number id`."""
    parts = (f"select concat({n}, ' ', id) as text from {source} where {condition}" for n, condition in enumerate(conditions))
    return " union all ".join(parts)
