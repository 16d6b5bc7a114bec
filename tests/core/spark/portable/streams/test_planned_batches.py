# SPDX-License-Identifier: Apache-2.0
"""The names of a stream's batches hold their offsets."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("pyspark")

from bayou.log.streaming.request.offsets import BASE_INDEX, SourceOffset
from bayou.spark.portable.streams.planned_batches import PlannedBatch

ID = "1b6d5bd5-8a5c-4b0d-9a21-6d9a5f1e55c2"


@pytest.mark.parametrize("table_id", [ID, "", "not a uuid/ü"])
@pytest.mark.parametrize(
    ("start", "end"),
    [
        ((3, BASE_INDEX, True), (3, 7, True)),
        ((3, 7, True), (12, BASE_INDEX, False)),
        ((0, 4, False), (0, 4, False)),
    ],
)
def test_a_name_gives_the_batch_back(table_id, start, end):
    batch = PlannedBatch(41, SourceOffset(table_id, *start), SourceOffset(table_id, *end))
    assert PlannedBatch.of(batch.name) == batch
    assert re.fullmatch(r"[\w.-]+", batch.name)


@pytest.mark.parametrize(
    "name", ["", "part-0.parquet", "bayou-batch-x", PlannedBatch(0, SourceOffset(ID, 0), SourceOffset(ID, 1)).name + "x"]
)
def test_other_names_are_no_batches(name):
    assert PlannedBatch.of(name) is None
