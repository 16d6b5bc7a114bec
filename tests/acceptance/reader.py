# SPDX-License-Identifier: Apache-2.0
"""The reader of the acceptance tables: `read` and `cdf` through Spark, `snapshot` through the log engine alone."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import ArrayType, MapType, StructType

import bayou
from bayou.testing.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType


@functools.cache
def _session() -> SparkSession:
    return bayou.enable(local_session())


def read(path: str, version: int | None = None) -> pa.Table:
    """All rows of a table, by `format("delta")`."""
    reader = _session().read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    frame = reader.load(path)
    if "variant" in frame.schema.simpleString():
        # A variant has no Arrow form on every Spark: its JSON text says the same.
        frame = frame.selectExpr(*(f"{as_json(f'`{f.name}`', f.dataType)} as `{f.name}`" for f in frame.schema))
    return frame.toArrow()


def cdf(path: str, start: int, end: int | None) -> pa.Table:
    """The change data feed of some versions, by `format("delta")`; without the time of the commit."""
    reader = _session().read.format("delta").option("readChangeFeed", "true").option("startingVersion", start)
    if end is not None:
        reader = reader.option("endingVersion", end)
    return reader.load(path).drop("_commit_timestamp").toArrow()


def as_json(value: str, kind: DataType, depth: int = 0) -> str:
    """A SQL expression for a value in which every variant, at any depth, is its JSON text."""
    if "variant" not in kind.simpleString():
        return value
    if isinstance(kind, StructType):
        fields = ", ".join(f"'{f.name}', {as_json(f'{value}.`{f.name}`', f.dataType, depth)}" for f in kind)
        return f"if({value} is null, null, named_struct({fields}))"
    if isinstance(kind, ArrayType):
        return f"transform({value}, x{depth} -> {as_json(f'x{depth}', kind.elementType, depth + 1)})"
    if isinstance(kind, MapType):
        return f"transform_values({value}, (k{depth}, x{depth}) -> {as_json(f'x{depth}', kind.valueType, depth + 1)})"
    return f"to_json({value})"


def snapshot(path: str, version: int | None = None) -> dict[str, Any]:
    """What the log says of a table, without Spark."""
    found = bayou.open(path).snapshot(version)
    protocol: dict[str, Any] = {
        "minReaderVersion": found.protocol.min_reader_version,
        "minWriterVersion": found.protocol.min_writer_version,
    }
    if found.protocol.reader_features is not None:
        protocol["readerFeatures"] = list(found.protocol.reader_features)
    if found.protocol.writer_features is not None:
        protocol["writerFeatures"] = list(found.protocol.writer_features)
    sizes = found.files(columns=["size"])["size"]
    return {
        "num_files": len(sizes),
        "size_bytes": pc.sum(sizes).as_py() or 0,
        "version": found.version,
        "protocol": protocol,
        "partition_columns": list(found.partition_columns),
        "configuration": dict(found.properties),
        "table_id": found.metadata.id,
        "txn": {app: txn.version for app, txn in found.transactions.items()},
        "domain_metadata": {name: domain.configuration for name, domain in found.domain_metadata.items()},
    }
