# SPDX-License-Identifier: Apache-2.0
"""A stream from a Delta table into a Delta table on Spark Connect: each row comes once, whatever is interrupted."""

from __future__ import annotations

import pytest
from pyspark.errors.exceptions.connect import SparkException, StreamingQueryException

import bayou

SECONDS = 120


class Copy:
    """A query that copies the table of a source."""

    def __init__(self, source):
        self.source = source
        self.path = str(source.folder / "copy")

    def run(self, change=None):
        stream = self.source.stream(maxFilesPerTrigger=1)
        writer = (stream if change is None else change(stream)).writeStream.format("delta").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(self.source.checkpoint))
        for last in (False, False, True):
            try:
                query = writer.start(self.path)
            except SparkException as error:  # a server gives its Python ten seconds to start
                if last or "failed to connect back" not in str(error):
                    raise
            else:
                assert query.awaitTermination(SECONDS)
                return

    def ids(self):
        return sorted(row.id for row in self.source.spark.read.format("delta").load(self.path).collect())


@pytest.fixture
def copy(source):
    return Copy(source)


def test_a_copy_has_each_row_once_and_one_commit_a_batch(source, copy):
    source.add(1)
    source.add(2, 3)
    copy.run()
    source.add(4)
    copy.run()
    assert copy.ids() == [1, 2, 3, 4]
    (query,) = bayou.open(copy.path).snapshot().transactions.values()
    assert query.version == source.batches() - 1 == 2


def test_a_batch_that_was_committed_and_not_completed_is_not_written_again(source, copy):
    source.add(1)
    source.add(2)
    copy.run()
    # As after a crash of the server between the commit of the table and that of the batch.
    for name in ("1", ".1.crc"):
        (source.checkpoint / "commits" / name).unlink()
    source.add(3)
    copy.run()
    assert copy.ids() == [1, 2, 3]


def test_an_error_of_the_source_leaves_what_was_read_before(source, copy):
    source.add(1)
    copy.run()
    source.add(2)
    source.delete("id = 1")
    with pytest.raises(StreamingQueryException, match="DELTA_SOURCE_IGNORE_DELETE"):
        copy.run()
    assert copy.ids() == [1, 2]
