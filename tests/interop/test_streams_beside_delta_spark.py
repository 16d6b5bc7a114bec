# SPDX-License-Identifier: Apache-2.0
"""Streams beside delta-spark's: queries that change engines on one checkpoint, and the same rows in the same batches."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from tests.interop.oracle import STOPPED, run_stream, version_of
from tests.interop.sampled import sampled
from tests.spark.streams import forget_last_commit

pytestmark = pytest.mark.oracle


class Engines:
    """Either engine by its name, on one checkpoint and one pair of tables."""

    def __init__(self, spark, delta_spark, folder):
        self.spark = spark
        self.delta_spark = delta_spark
        self.folder = folder
        self.table = str(folder / "table")

    def run(self, engine, *, stop_at=None, name="", columns=None, sink=False, **options):
        """Runs the query under an engine; what stopped it, or None."""
        options = {key: str(value) for key, value in options.items()}
        given = {"stream": self.table, "into": self.into(name), "checkpoint": str(self.folder / f"checkpoint{name}")}
        given |= {"options": options, "stop_at": stop_at, "columns": columns, "sink": sink}
        return self.delta_spark.stream(**given) if engine == "delta-spark" else run_stream(self.spark, given).get("error")

    def into(self, name=""):
        return str(self.folder / f"out{name}")

    def rows(self, name="", *without):
        """The rows that the query has written, each with the number of its batch."""
        if not Path(self.into(name), "_delta_log").exists():
            return []
        return sorted(map(str, self.spark.read.format("delta").load(self.into(name)).drop("_commit_timestamp", *without).collect()))

    def offsets(self, name=""):
        """The offsets in the checkpoint, as they are written."""
        notes = Path(self.folder, f"checkpoint{name}", "offsets")
        return {int(each.name): each.read_text().splitlines()[2] for each in notes.iterdir() if each.name.isdigit()}

    def sql(self, *statements):
        self.delta_spark.sql(*(each.format(table=f"delta.`{self.table}`") for each in statements))


@pytest.fixture
def engines(spark, delta_spark, tmp_path):
    return Engines(spark, delta_spark, tmp_path)


def make(engines, *, files=5, properties=""):
    """A table of several files, one commit each."""
    engines.sql(f"create table {{table}} (id bigint, p int) using delta partitioned by (p) {properties}")
    for number in range(files):
        engines.sql(f"insert into {{table}} select id, {number} from range({number * 10}, {number * 10 + 3}, 1, 1)")


ORDERS = [("delta-spark", "bayou", "delta-spark"), ("bayou", "delta-spark", "bayou")]


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_a_query_changes_engines_in_the_snapshot_and_in_the_log(engines, order):
    make(engines)
    first, second, third = order
    assert engines.run(first, stop_at=2, maxFilesPerTrigger=1) == STOPPED
    assert engines.run(second, stop_at=4, maxFilesPerTrigger=1) == STOPPED
    assert engines.run(third, maxFilesPerTrigger=1) is None
    engines.sql("insert into {table} select id, 9 from range(100, 110, 1, 3)", "insert into {table} values (200, 1)")
    assert engines.run(first, stop_at=7, maxFilesPerTrigger=1) == STOPPED
    assert engines.run(second, stop_at=8, maxFilesPerTrigger=2) == STOPPED
    assert engines.run(third) is None
    assert engines.run(second) is None
    there = sorted(row.id for row in engines.spark.read.format("delta").load(engines.table).collect())
    written = engines.spark.read.format("delta").load(engines.into()).collect()
    assert sorted(row.id for row in written) == there


@pytest.mark.parametrize("order", [("delta-spark", "bayou"), ("bayou", "delta-spark")], ids=" ".join)
def test_a_batch_that_one_sink_committed_the_other_passes_over(engines, order):
    make(engines, files=2)
    first, second = order
    assert engines.run(first, sink=True) is None
    forget_last_commit(engines.folder / "checkpoint")
    version = version_of(engines.into())
    engines.sql("insert into {table} values (200, 1)")
    assert engines.run(second, sink=True) is None
    assert engines.rows() == sorted(map(str, engines.spark.read.format("delta").load(engines.table).collect()))
    assert version_of(engines.into()) == version + 1


@pytest.mark.parametrize("engine", ["delta-spark", "bayou"])
def test_a_query_of_one_engine_alone_has_the_offsets_of_the_other(engines, engine):
    make(engines)
    for name in ("delta-spark", "bayou"):
        assert engines.run(name, name=name, maxFilesPerTrigger=2) is None
    engines.sql("insert into {table} select id, 9 from range(100, 110, 1, 3)", "insert into {table} values (200, 1)")
    for name in ("delta-spark", "bayou"):
        assert engines.run(name, name=name, maxFilesPerTrigger=2) is None
    assert engines.rows("delta-spark") == engines.rows("bayou")
    assert engines.offsets("delta-spark") == engines.offsets("bayou")
    assert engines.run(engine, name="delta-spark" if engine == "bayou" else "bayou") is None


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_a_stream_of_changes_changes_engines(engines, order):
    make(engines, files=3, properties="tblproperties ('delta.enableChangeDataFeed' = 'true')")
    options = {"readChangeFeed": "true", "maxFilesPerTrigger": 1, "columns": ["id", "p", "_change_type", "_commit_version"]}
    first, second, third = order
    assert engines.run(first, stop_at=1, **options) == STOPPED
    assert engines.run(second, **options) is None
    engines.sql(
        "update {table} set id = id + 1000 where id = 1", "delete from {table} where id = 2", "insert into {table} values (7, 7)"
    )
    assert engines.run(third, stop_at=4, **options) == STOPPED
    assert engines.run(first, **options) is None
    rows = engines.spark.read.format("delta").load(engines.into()).select("id", "_change_type", "_commit_version").collect()
    changes = sorted((row.id, row[1], row[2]) for row in rows if row[2] > 3)
    assert changes == [(1, "update_preimage", 4), (2, "delete", 5), (7, "insert", 6), (1001, "update_postimage", 4)]
    assert sum(row[2] <= 3 for row in rows) == 9


TRACKED = [
    (["alter table {table} rename column v to w", "insert into {table} values (2, 20)"], {"allowSourceColumnRename": "always"}),
    (["alter table {table} drop column v", "insert into {table} values (2)"], {"allowSourceColumnDrop": "always"}),
    (["alter table {table} add columns (more int)", "insert into {table} values (2, 20, 3)"], {}),
    (
        [
            "alter table {table} rename column v to w",
            "alter table {table} rename column w to x",
            "insert into {table} values (2, 20)",
        ],
        {"allowSourceColumnRename": "always"},
    ),
]


TURNS = [("bayou", "delta-spark") * 3, ("bayou",) * 6, ("delta-spark", "bayou") * 3, ("delta-spark",) * 6]


@pytest.mark.parametrize("case", sampled(list(itertools.product(range(len(TRACKED)), TURNS)), 10))
def test_a_stream_follows_changes_of_the_schema_under_either_engine(engines, case):
    changes, order = case
    statements, allowed = TRACKED[changes]
    properties = "tblproperties ('delta.columnMapping.mode' = 'name')"
    engines.sql(f"create table {{table}} (id bigint, v int) using delta {properties}", "insert into {table} values (1, 10)")
    options = {"schemaTrackingLocation": str(engines.folder / "checkpoint" / "_schemas")}
    said = [kind_of(engines.run(order[0], **options))]
    engines.sql(*statements)
    said += [kind_of(engines.run(engine, **options, **(allowed if number > 1 else {}))) for number, engine in enumerate(order[1:])]
    blocked = "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION"
    stops = ["DELTA_STREAMING_METADATA_EVOLUTION", *([blocked] if allowed else [None]), None, None, None]
    assert said == [None, *stops], said
    assert [row.id for row in engines.spark.read.format("delta").load(engines.into()).orderBy("id").collect()] == [1, 2]


def kind_of(error):
    """What a stream stopped for: the error class, without what is beneath it."""
    if error is None:
        return None
    found = re.search(r"\[?((?:DELTA|DIFFERENT_DELTA)_[A-Z_]+)", error)
    return found.group(1) if found else error.splitlines()[0][:300]


class Story:
    """A random table, random commits on it, and the options of a stream that reads it."""

    COMMITS = (
        "insert into {table} select id, {n}, {n} from range({a}, {b}, 1, {files})",
        "insert into {table} select id, {n}, {n} from range({a}, {b}, 1, {files})",
        "delete from {table} where id % 7 = {n} % 7",
        "delete from {table} where p = {n}",
        "update {table} set v = v + 1 where id % 5 = 0",
        "optimize {table}",
        "alter table {table} add columns (c{n} int)",
        "alter table {table} set tblproperties ('note' = '{n}')",
        "merge into {table} t using (select {a}L as id) s on t.id = s.id when not matched then insert (id, p) values (s.id, 0)",
        "restore table {table} to version as of 1",
    )

    def __init__(self, seed):
        self.random = random.Random(seed)
        feed = self.random.random() < 0.35
        properties = {"delta.enableDeletionVectors": self.random.choice(["true", "false"])}
        properties |= {"delta.enableChangeDataFeed": "true"} if feed else {}
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        partition = self.random.choice(["", "partitioned by (p)"])
        self.create = f"create table {{table}} (id bigint, p int, v int) using delta {partition} tblproperties ({listed})"
        self.options = {"readChangeFeed": "true"} if feed else {}
        for name, values in {
            "maxFilesPerTrigger": [1, 2, 5],
            "maxBytesPerTrigger": ["1b", "1500b", "1m"],
            "ignoreDeletes": ["true"],
            "ignoreChanges": ["true"],
            "skipChangeCommits": ["true"],
            "startingVersion": [0, 1, 2],
            "excludeRegex": ["p=1", "part-00000"],
        }.items():
            if self.random.random() < 0.3:
                self.options[name] = self.random.choice(values)

    def commits(self):
        for _ in range(self.random.randint(1, 3)):
            n = self.random.randint(0, 9)
            a = self.random.randint(0, 500)
            text = self.random.choice(self.COMMITS)
            yield text.format(table="{table}", n=n, a=a, b=a + self.random.randint(1, 30), files=self.random.randint(1, 3))


@pytest.mark.parametrize("seed", sampled(range(60), 20))
def test_both_engines_emit_the_same_rows_in_the_same_batches_or_stop_for_the_same_reason(engines, seed):
    story = Story(seed)
    engines.sql(story.create, "insert into {table} select id, id % 3, 0 from range(0, 20, 1, 2)")
    for _ in range(3):
        for commit in story.commits():
            engines.delta_spark._ask([commit.format(table=f"delta.`{engines.table}`")])  # some cannot be; that is theirs to say
        said = {name: engines.run(name, name=name, **story.options) for name in ("delta-spark", "bayou")}
        kinds = {name: kind_of(error) for name, error in said.items()}
        assert kinds["delta-spark"] == kinds["bayou"], (story.options, said)
        without = [f"c{number}" for number in range(10)]  # new columns are NULL; a batch without rows adds them, too
        # Files that are left out count for delta-spark's limits, and its streams of changes stop before commits without files.
        without += ["batch"] if {"excludeRegex", "readChangeFeed"} & set(story.options) else []
        theirs, ours = (engines.rows(name, *without) for name in ("delta-spark", "bayou"))
        if kinds["bayou"] is not None:
            assert not Counter(theirs) - Counter(ours), story.options  # before it stops, bayou reads what was committed before
            break
        assert theirs == ours, story.options
