# SPDX-License-Identifier: Apache-2.0
"""One small life of a table under a setting of Spark's: as a Delta table, and as plain Parquet files that say what is right."""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

import bayou
from bayou.protocol.types.traverse import leaves
from bayou.spark.jvm.core.bridge import Jvm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

KINDS = {
    "field ids": {"delta.columnMapping.mode": "id", "delta.enableChangeDataFeed": "true"},
    "vectors": {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"},
}
_ROWS = """select id, cast(id % 3 as string) p, cast(id as decimal(10,2)) d, timestamp_micros(id * 86400000001) ts,
    date_add(date'2000-01-01', cast(id as int)) dt, concat('x', id) `a b`, named_struct('n', id, 'm', array(cast(id as int))) s
    from range({first}, {last})"""
CHANGES = {"update_preimage": 8, "update_postimage": 8, "delete": 3, "insert": 4}
"""What the feed tells of the changes after the appends."""


def boolean_settings(spark: SparkSession) -> dict[str, str]:
    """The boolean settings that the session may set, internal ones included, with the value that they do not have."""
    conf = Jvm.of(spark).module("org.apache.spark.sql.internal.SQLConf")
    entries, session = conf.getConfigEntries().iterator(), spark._jsparkSession.sessionState().conf()
    found = {}
    while entries.hasNext():
        name = entries.next().key()
        if conf.isStaticConfigKey(name):
            continue
        with contextlib.suppress(Exception):  # one without a value
            value = session.getConfString(name)
            if value in ("true", "false"):
                found[name] = "false" if value == "true" else "true"
    return dict(sorted(found.items()))


@contextlib.contextmanager
def flipped(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """A setting for a block."""
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.unset(name)


@dataclass(frozen=True)
class Outcome:
    """What there is in the end.

    Attributes:
        rows: the rows that are read.
        first: the rows of the first version.
        stored: the files that hold them.
        changes: how many changes of each kind the feed tells after the appends; nothing where there is no feed.
    """

    rows: list[str]
    first: list[str]
    stored: str
    changes: dict[str, int] = field(default_factory=dict)


def shown(frame: DataFrame) -> list[str]:
    return sorted(
        str(row.asDict(recursive=True)) for row in frame.select("id", "p", "d", "ts", "dt", F.col("`a b`"), "s").collect()
    )


def batch(spark: SparkSession, first: int, last: int) -> DataFrame:
    return spark.sql(_ROWS.format(first=first, last=last)).coalesce(1)


def plain_parquet(spark: SparkSession, path: str) -> Outcome:
    """The same life by queries over plain files."""
    batch(spark, 0, 8).write.parquet(f"{path}/first")
    batch(spark, 8, 12).write.parquet(f"{path}/second")
    first = spark.read.parquet(f"{path}/first")
    rows = first.union(spark.read.parquet(f"{path}/second"))
    rows = rows.withColumn("d", F.when(F.col("id") % 4 == 1, F.lit(0.5).cast("decimal(10,2)")).otherwise(F.col("d")))
    rows = rows.where(F.col("id") % 4 != 0)
    is_matched = (F.col("id") >= 6) & (F.col("id") < 15)
    rows = rows.withColumn("a b", F.when(is_matched, F.lit("m")).otherwise(F.col("`a b`")))
    absent = (F.lit(None).cast(rows.schema[name].dataType).alias(name) for name in ("d", "ts", "dt", "s"))
    new = spark.range(8, 15).where((F.col("id") == 8) | (F.col("id") > 11))
    new = new.select("id", F.lit("9").alias("p"), F.lit("m").alias("a b"), *absent)
    rows.select("id", "p", F.col("`a b`"), "d", "ts", "dt", "s").union(new).write.parquet(f"{path}/last")
    return Outcome(shown(spark.read.parquet(f"{path}/last")), shown(first), f"{path}/last")


def delta(spark: SparkSession, path: str, kind: str) -> Outcome:
    """The life of a Delta table."""
    bayou.write(batch(spark, 0, 8), path, partition_by=["p"], **KINDS[kind])
    bayou.write(batch(spark, 8, 12), path, mode="append")
    table = bayou.DeltaTable.forPath(spark, path)
    table.update(F.col("id") % 4 == 1, {"d": F.lit(0.5).cast("decimal(10,2)")})
    table.delete(F.col("id") % 4 == 0)
    source = spark.range(6, 15).alias("s")
    merge = table.alias("t").merge(source, F.col("t.id") == F.col("s.id")).whenMatchedUpdate(set={"`a b`": F.lit("m")})
    merge.whenNotMatchedInsert(values={"id": F.col("s.id"), "p": F.lit("9"), "`a b`": F.lit("m")}).execute()
    feed = _changes(spark, path) if "delta.enableChangeDataFeed" in KINDS[kind] else {}
    return Outcome(shown(bayou.read(spark, path)), shown(bayou.read(spark, path, version=0)), path, feed)


def _changes(spark: SparkSession, path: str) -> dict[str, int]:
    reader = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", "2")
    return {row[0]: row[1] for row in reader.load(path).groupBy("_change_type").count().collect()}


def statistics(path: str) -> dict[str, Any]:
    """The statistics of a table's files together: the rows, and of each column the least, the greatest and the NULLs."""
    snapshot = bayou.open(path).snapshot()
    names = {".".join(physical): ".".join(logical) for logical, physical, _ in leaves(snapshot.schema)}
    found: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    for text in snapshot.files(["stats"])["stats"].to_pylist():
        for part, stats in json.loads(text).items():
            for name, value in _flat("", stats) if isinstance(stats, dict) else [("", stats)]:
                found[part, names.get(name, name)].append(value)
    fold = {"minValues": min, "maxValues": max, "tightBounds": all}
    return {f"{part} {name}": fold.get(part, sum)(values) for (part, name), values in sorted(found.items())}


def _flat(parent: str, stats: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in stats.items():
        if isinstance(value, dict):
            yield from _flat(f"{parent}{name}.", value)
        else:
            yield f"{parent}{name}", value
