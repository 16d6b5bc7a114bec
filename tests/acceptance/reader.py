# SPDX-License-Identifier: Apache-2.0
"""The reader that the acceptance tables are checked with: `read` through Spark, `snapshot` through the log engine alone."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

import bayou
from bayou.testing.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@functools.cache
def _session() -> SparkSession:
    return bayou.enable(local_session())


def read(path: str, version: int | None = None) -> pa.Table:
    """All rows of a table, by `format("delta")`."""
    reader = _session().read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    frame = reader.load(path)
    variants = [field.name for field in frame.schema if "variant" in field.dataType.simpleString()]
    if variants:
        # A variant has no Arrow form on every Spark: its JSON text says the same.
        frame = frame.selectExpr(*(_as_json(name) if name in variants else f"`{name}`" for name in frame.columns))
    return frame.toArrow()


def _as_json(name: str) -> str:
    return f"to_json(`{name}`) as `{name}`"


def snapshot(path: str, version: int | None = None) -> dict[str, Any]:
    """What the log says of a table, without Spark."""
    found = bayou.open(path).snapshot(version)
    protocol: dict[str, Any] = {
        "minReaderVersion": found.protocol.min_reader_version,
        "minWriterVersion": found.protocol.min_writer_version,
    }
    if found.protocol.reader_features is not None:
        protocol["readerFeatures"] = sorted(found.protocol.reader_features)
    if found.protocol.writer_features is not None:
        protocol["writerFeatures"] = sorted(found.protocol.writer_features)
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
