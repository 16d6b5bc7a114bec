# SPDX-License-Identifier: Apache-2.0
"""The options of streams from Delta tables on Spark Connect: where a stream begins, and which commits it reads."""

from __future__ import annotations

import time
from datetime import datetime, timezone

import pytest

import bayou
from bayou.errors import InvalidOptionError, TableNotFoundError, VersionNotFoundError


def test_a_starting_version_skips_what_is_older(source):
    for each in range(3):
        source.add(each)
    source.run(startingVersion=1)
    assert source.ids() == [1, 2]


def test_a_starting_timestamp_skips_what_is_older(source):
    source.add(1)
    time.sleep(0.05)
    source.add(2)
    moment = datetime.fromtimestamp(bayou.open(source.path).history()[0].timestamp / 1000, timezone.utc)
    source.run(startingTimestamp=moment.strftime("%Y-%m-%d %H:%M:%S.%f"))
    assert source.ids() == [2]


def test_the_latest_version_is_that_of_the_first_run(source):
    source.add(1)
    source.run(startingVersion="latest")
    assert source.ids() == []
    source.add(2)
    source.run(startingVersion="latest")
    assert source.ids() == [2]


def test_an_empty_table_has_no_batch_until_rows_come(source):
    source.add(1)
    source.delete("true")
    source.run()
    assert source.ids() == []
    source.add(2)
    source.run()
    assert source.ids() == [2]


def test_compacted_files_bring_no_rows(source):
    source.add(1)
    source.add(2)
    source.run()
    bayou.DeltaTable.forPath(source.spark, source.path).optimize().executeCompaction()
    source.add(3)
    source.run()
    assert source.ids() == [1, 2, 3]


def test_options_let_commits_with_removed_files_pass(source):
    source.add(1, 2)
    source.add(3)
    source.run()
    source.delete("id = 3")
    source.run(ignoreDeletes=True)
    source.delete("id = 2")
    source.add(4)
    source.run(skipChangeCommits=True)
    assert source.ids() == [1, 2, 3, 4]


def test_changes_that_are_ignored_repeat_rows_of_rewritten_files(source):
    source.add(1, 2)
    source.run()
    source.delete("id = 2")
    source.run(ignoreChanges=True)
    assert source.ids() == [1, 1, 2]


def test_wrong_requests_fail_before_the_query_starts(source):
    source.add(1)
    with pytest.raises(InvalidOptionError):
        source.start(maxFilesPerTrigger=0)
    with pytest.raises(VersionNotFoundError):
        source.start(startingVersion=7)
    source.path += "-that-does-not-exist"
    with pytest.raises(TableNotFoundError):
        _ = source.stream().schema
