# SPDX-License-Identifier: Apache-2.0
"""The deleted rows and the sizes of files that a version checksum counts."""

from __future__ import annotations

import json
from bisect import bisect_right

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.log.checksum_commits import ENABLED, VECTORS, after, start, vector

from bayou.log.snapshot.file_size_histogram import (
    DEFAULT_BOUNDARIES,
    DELETED_RECORD_BOUNDARIES,
    FileSizeHistogram,
    deleted_record_counts,
)
from bayou.testing.table_builder import add, metadata, remove


@pytest.mark.parametrize(
    ("protocol", "configuration", "counted"),
    [(VECTORS, ENABLED, True), (VECTORS, {}, False), (None, ENABLED, False), (None, {}, False)],
)
def test_deletion_vectors_are_counted_where_the_table_may_get_some(protocol, configuration, counted):
    assert ("numDeletionVectorsOpt" in start(protocol=protocol, configuration=configuration)) is counted


def test_deletion_vectors_are_counted_from_the_commit_on_that_brings_the_feature():
    known = start(add("a"), add("b"))
    enabled = after(known, {"protocol": VECTORS.to_json()}, metadata(configuration=ENABLED))
    assert enabled["numDeletionVectorsOpt"] == 0
    found = after(enabled, remove("a", size=100), add("a", deletionVector=vector(1, 1)), version=2)
    assert (found["numDeletionVectorsOpt"], found["numDeletedRecordsOpt"]) == (1, 1)
    assert found["deletedRecordCountsHistogramOpt"]["deletedRecordCounts"][:2] == [1, 1]
    disabled = after(found, metadata(configuration={}), version=3)
    assert disabled["numDeletionVectorsOpt"] == 1


def test_deletion_vectors_of_a_table_that_may_have_some_already_are_not_guessed():
    known = start(add("a"), protocol=VECTORS)
    assert "numDeletionVectorsOpt" not in after(known, metadata(configuration=ENABLED))


def test_a_histogram_under_its_older_name_and_with_other_bins_is_continued():
    known = start()
    histogram = {"sortedBinBoundaries": [0, 50], "fileCounts": [1, 0], "totalBytes": [20, 0]}
    known = {**known, "histogramOpt": histogram, "numFiles": 1, "tableSizeBytes": 20}
    del known["fileSizeHistogram"], known["allFiles"]
    found = after(known, add("b", size=60), remove("a", size=20))
    assert found["fileSizeHistogram"] == {"sortedBinBoundaries": [0, 50], "fileCounts": [0, 1], "totalBytes": [0, 60]}
    assert "histogramOpt" not in found
    without = {name: value for name, value in known.items() if name != "histogramOpt"}
    assert "fileSizeHistogram" not in after(without, add("b"))


SIZES = st.integers(0, 2**41) | st.sampled_from([edge + step for edge in DEFAULT_BOUNDARIES for step in (-1, 0, 1)][1:])


@given(st.lists(SIZES, max_size=20))
def test_a_histogram_puts_each_file_into_the_bin_that_begins_at_or_before_its_size(sizes):
    counts, totals = [0] * len(DEFAULT_BOUNDARIES), [0] * len(DEFAULT_BOUNDARIES)
    for size in sizes:
        place = bisect_right(DEFAULT_BOUNDARIES, size) - 1
        counts[place] += 1
        totals[place] += size
    found = FileSizeHistogram.of(pa.chunked_array([sizes[:3], sizes[3:]], pa.int64()))
    assert (list(found.file_counts), list(found.total_bytes)) == (counts, totals)
    assert FileSizeHistogram.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert found.changed(pa.array([], pa.int64()), pa.array(sizes, pa.int64())) == FileSizeHistogram.of(pa.array([], pa.int64()))


def test_deleted_records_are_counted_by_the_power_of_ten():
    edges = [0, 1, 9, 10, 99, 100, 10_000_000, 2_147_483_646, 2_147_483_647, 2**62]
    assert deleted_record_counts(pa.array(edges)) == (1, 2, 2, 1, 0, 0, 0, 0, 2, 2)
    assert len(DELETED_RECORD_BOUNDARIES) == 10


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"sortedBinBoundaries": [0], "fileCounts": [1], "totalBytes": []},
        {"sortedBinBoundaries": [1], "fileCounts": [1], "totalBytes": [1]},
        {"sortedBinBoundaries": [0, 0], "fileCounts": [1, 1], "totalBytes": [1, 1]},
        {"sortedBinBoundaries": [0], "fileCounts": [True], "totalBytes": [1]},
        {"sortedBinBoundaries": [0], "fileCounts": ["1"], "totalBytes": [1]},
    ],
)
def test_what_is_no_histogram_is_refused(document):
    with pytest.raises(ValueError, match="histogram"):
        FileSizeHistogram.from_json(document)
