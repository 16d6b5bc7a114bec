# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of streams from Delta tables on Spark Connect: which are accepted, and what they hold."""

from __future__ import annotations

import json

import pytest

import bayou
from bayou.errors import StreamingSourceError
from bayou.log.streaming.request.offsets import SourceOffset

COMPACTS = "spark.sql.streaming.fileSource.log.compactInterval"
CHECKPOINTS = "spark.sql.streaming.checkpointLocation"


def test_a_checkpoint_of_a_classic_session_is_refused(source):
    source.add(1)
    offset = SourceOffset(bayou.open(source.path).snapshot().metadata.id, 1).to_json()
    (source.checkpoint / "offsets").mkdir(parents=True)
    (source.checkpoint / "offsets" / "0").write_text(f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{{}}}}\n{offset}')
    with pytest.raises(StreamingSourceError, match=r"belongs to a query of a classic session.*Next: "):
        source.start()


def test_a_checkpoint_of_another_source_is_refused(source):
    source.add(1)
    stream = source.spark.readStream.format("rate").load().select("value")
    writer = stream.writeStream.format("parquet").option("path", str(source.target))
    query = writer.option("checkpointLocation", str(source.checkpoint)).start()
    query.processAllAvailable()
    query.stop()
    with pytest.raises(StreamingSourceError, match="not one that bayou started"):
        source.start()


def test_offsets_are_read_from_a_checkpoint_that_spark_has_compacted(source):
    source.spark.conf.set(COMPACTS, "2")
    try:
        source.add(0)
        query = source.start(trigger={})
        for each in (1, 2, 3):
            query.processAllAvailable()
            source.add(each)
        query.processAllAvailable()
        query.stop()
    finally:
        source.spark.conf.unset(COMPACTS)
    assert list((source.checkpoint / "sources" / "0").glob("*.compact"))
    source.add(4)
    source.run()
    assert source.ids() == [0, 1, 2, 3, 4]


def test_the_names_of_batches_are_the_only_state(source):
    source.add(1)
    source.run()
    document = json.loads((source.checkpoint / "sources" / "0" / "0").read_text().splitlines()[1])
    assert f"{source.path}/_bayou_scratch/stream-" in document["path"]
    assert document["path"].endswith("-0.-100s-1.-100c")


def test_a_checkpoint_that_the_session_names(source):
    source.add(1)
    source.spark.conf.set(CHECKPOINTS, str(source.folder))
    try:
        for each in (2, 3):
            writer = source.stream().writeStream.format("parquet").option("path", str(source.target)).queryName("checkpoint")
            query = writer.trigger(availableNow=True).start()
            assert query.awaitTermination(60)
            source.add(each)
    finally:
        source.spark.conf.unset(CHECKPOINTS)
    assert source.ids() == [1, 2]
    assert source.batches() == 2
