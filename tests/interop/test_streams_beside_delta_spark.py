# SPDX-License-Identifier: Apache-2.0
"""Streams beside delta-spark's: queries that change engines on one checkpoint."""

from __future__ import annotations

import itertools

import pytest
from tests.interop.oracle import STOPPED, version_of
from tests.interop.sampled import sampled
from tests.interop.stream_engines import kind_of
from tests.support.operations.streams import forget_last_commit

pytestmark = pytest.mark.oracle


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
    assert engines.rows() == sorted(str(row.asDict()) for row in engines.spark.read.format("delta").load(engines.table).collect())
    assert version_of(engines.into()) == version + 1


@pytest.mark.parametrize("order", [("delta-spark", "bayou"), ("bayou", "delta-spark")], ids=" ".join)
def test_a_query_that_began_after_the_latest_version_changes_engines(engines, order):
    make(engines)
    first, second = order
    insert = "insert into {table} select id, 9 from range(100, 104, 1, 2)"
    assert engines.run(first, startingVersion="latest", during=[insert]) is None
    assert len(engines.rows()) == 4
    engines.sql("insert into {table} values (200, 1)", "insert into {table} values (201, 1)")
    assert engines.run(second, startingVersion="latest", maxFilesPerTrigger=1) is None
    assert engines.run(first, startingVersion="latest") is None
    assert sorted(row.id for row in engines.spark.read.format("delta").load(engines.into()).collect()) == [
        *range(100, 104),
        200,
        201,
    ]


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
