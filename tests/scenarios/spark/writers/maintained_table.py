# SPDX-License-Identifier: Apache-2.0
"""Random histories of row changes and maintenance on one table, each version of which is compared with a dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING

from tests.scenarios.spark.writers.drawn_operations import KEYS, Append, Operation, drawn
from tests.support.observing import parquet_files, tracked

import bayou
from bayou.errors import DataFileNotFoundError
from bayou.log.checksum.verify import verify_checksum

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KINDS = ("change", "change", "change", "optimize", "optimize", "restore", "vacuum")
_ROW_IDS = "delta.enableRowTracking"


class MaintainedTable:
    """A table, and the rows that each of its versions has to have.

    Attributes:
        path: the table's path.
        counts: how many operations of which kind made a commit.
    """

    def __init__(self, spark: SparkSession, path: str, seed: int, properties: Mapping[str, str]) -> None:
        bayou.write(spark.range(KEYS, numPartitions=4).selectExpr("id", "id v"), path, **properties)
        self.path = path
        self.counts: Counter[str] = Counter()
        self._spark = spark
        self._seed = seed
        self._random = Random(seed)
        self._tracks = properties.get(_ROW_IDS) == "true"
        self._feeds = properties.get("delta.enableChangeDataFeed") == "true"
        self._rows = [{key: key for key in range(KEYS)}]
        self._first = 0
        self._ids = [self._found_ids()]

    def run(self, steps: int) -> None:
        """Run operations, and compare the table after each."""
        for number in range(steps):
            kind = self._random.choice(_KINDS)
            getattr(self, f"_{kind}")(number)
            self._check()

    def _change(self, number: int) -> None:
        operation = drawn(self._seed, 0, number)
        before = self._rows[-1]
        operation.run(self._spark, self.path, ("writer", number))
        changes = operation.changes(before)
        gone = {key for kind, key, _ in changes if kind in {"delete", "update_preimage"}}
        after = {key: value for key, value in before.items() if key not in gone}
        after |= {key: value for kind, key, value in changes if kind in {"insert", "update_postimage"}}
        self._note(type(operation).__name__, after, self._kept_ids(operation))

    def _kept_ids(self, operation: Operation) -> Mapping[int, int]:
        """The rows whose ids an operation has to keep: those that it does not insert anew."""
        found = (
            {} if isinstance(operation, Append) else {key for kind, key, _ in operation.changes(self._rows[-1]) if kind == "insert"}
        )
        return {key: row_id for key, row_id in self._ids[-1].items() if key not in found}

    def _optimize(self, _: int) -> None:
        bayou.DeltaTable.forPath(self._spark, self.path).optimize().executeCompaction()
        self._note("OPTIMIZE", self._rows[-1], self._ids[-1])

    def _restore(self, _: int) -> None:
        version = self._random.randrange(len(self._rows))
        try:
            bayou.DeltaTable.forPath(self._spark, self.path).restoreToVersion(version)
        except DataFileNotFoundError:
            assert version < self._first
            return
        self._note("RESTORE", self._rows[version], self._ids[version])

    def _vacuum(self, _: int) -> None:
        keeps_all = self._random.random() < 0.5
        bayou.open(self.path).vacuum(None if keeps_all else 0, check_retention=False)
        if not keeps_all:
            self._first = len(self._rows) - 1
            files = bayou.open(self.path).snapshot().files(["path"])["path"].to_pylist()
            assert parquet_files(self.path) == set(files)
        self._note("VACUUM", self._rows[-1], self._ids[-1])

    def _note(self, kind: str, rows: Mapping[int, int], kept_ids: Mapping[int, int]) -> None:
        made = bayou.open(self.path).version() + 1 - len(self._rows)
        self.counts[kind] += bool(made)
        assert made or rows == self._rows[-1], f"{kind} committed nothing"
        self._rows += [dict(rows)] * made
        ids = self._found_ids()
        assert all(ids[key] == row_id for key, row_id in kept_ids.items() if key in ids), f"{kind} changed row ids"
        self._ids += [ids] * made

    def _found_ids(self) -> dict[int, int]:
        return {key: row_id for key, (row_id, _) in tracked(self.path).items()} if self._tracks else {}

    def _check(self) -> None:
        """Compare the latest version, one earlier version that VACUUM left, and the last changes."""
        latest = len(self._rows) - 1
        verify_checksum(bayou.open(self.path).snapshot())
        for version in {latest, self._random.randint(self._first, latest)}:
            found = bayou.read(self._spark, self.path, version=version).select("id", "v").collect()
            assert sorted(map(tuple, found)) == sorted(self._rows[version].items()), f"version {version}"
        if self._feeds and latest > self._first:
            self._check_feed(latest)

    def _check_feed(self, version: int) -> None:
        """The changes of a version, put on the rows of the version before, are its rows."""
        rows = Counter(self._rows[version - 1].items())
        feed = bayou.read(self._spark, self.path, changes=(version, version)).select("_change_type", "id", "v")
        for kind, *row in feed.collect():
            rows[tuple(row)] += 1 if kind in {"insert", "update_postimage"} else -1
        assert {row: count for row, count in rows.items() if count} == dict.fromkeys(self._rows[version].items(), 1)
