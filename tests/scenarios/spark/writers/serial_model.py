# SPDX-License-Identifier: Apache-2.0
"""What drawn operations that ran at the same time have to leave: what they make one after the other, in the order of the log."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from tests.scenarios.spark.writers.drawn_operations import KEYS, Change, Delete, Merge, Update, drawn
from tests.support.observing import actions

import bayou
from bayou.log.checksum.verify import verify_checksum

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VECTORS = {"delta.enableDeletionVectors": "true"}
_FILES = {"delta.enableDeletionVectors": "false"}
_FEED = {"delta.enableChangeDataFeed": "true"}
TABLES = {"vectors": _VECTORS, "vectors and feed": _VECTORS | _FEED, "files and feed": _FILES | _FEED}
"""Properties of tables: how rows are deleted, and whether there is a change data feed."""
_KINDS = {"delete": 0, "insert": 1, "update_preimage": 0, "update_postimage": 1}


class SerialModel:
    """A table of drawn operations, and the rows that it has to have.

    Attributes:
        path: the table's path.
        seed: what the operations are drawn by.
        version: up to which version the log was replayed.
        rows: the rows of that version.
        committed: the version in which each operation is, by its writer and number.
    """

    def __init__(self, spark: SparkSession, path: str, seed: int, **properties: str) -> None:
        bayou.write(spark.range(KEYS, numPartitions=4).selectExpr("id", "id v"), path, **properties)
        self.path = path
        self.seed = seed
        self.version = 0
        self.rows = {key: key for key in range(KEYS)}
        self.committed: dict[tuple[int, int], int] = {}
        self._spark = spark
        self._feeds = properties.get("delta.enableChangeDataFeed") == "true"

    def check(self) -> None:
        """Replays what was committed since the last time, and compares the table and its change feed with the outcome."""
        snapshot = bayou.open(self.path).snapshot()
        verify_checksum(snapshot)
        names = (re.fullmatch(r"(\d{20})\.json", file.name) for file in Path(self.path, "_delta_log").iterdir())
        assert sorted(int(name[1]) for name in names if name) == list(range(snapshot.version + 1))
        first = self.version + 1
        changes = {version: self._replay(version) for version in range(first, snapshot.version + 1)}
        self.version = snapshot.version
        found = [tuple(row) for row in bayou.read(self._spark, self.path).select("id", "v").collect()]
        assert sorted(found) == sorted(self.rows.items())
        if self._feeds and changes:
            assert self._told_changes(first) == {version: each for version, each in changes.items() if each}

    def _replay(self, version: int) -> list[Change]:
        (txn,) = actions(self.path, "txn", version)
        name = int(txn["appId"].removeprefix("writer-")), txn["version"]
        assert name not in self.committed, f"{name} was committed twice"
        self.committed[name] = version
        operation = drawn(self.seed, *name)
        changes = operation.changes(self.rows)
        # What changes no row notes its `txn`, and nothing else.
        assert changes or isinstance(operation, (Delete, Merge, Update)), f"version {version} has nothing to do"
        for kind, key, value in sorted(changes, key=lambda change: _KINDS[change[0]]):
            if _KINDS[kind]:
                self.rows[key] = value
            else:
                del self.rows[key]
        return sorted(changes)

    def _told_changes(self, first: int) -> dict[int, list[Change]]:
        found = defaultdict(list)
        feed = bayou.read(self._spark, self.path, changes=(first, self.version))
        for version, *change in feed.select("_commit_version", "_change_type", "id", "v").collect():
            found[version].append(tuple(change))
        return {version: sorted(found[version]) for version in sorted(found)}
