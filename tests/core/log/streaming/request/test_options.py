# SPDX-License-Identifier: Apache-2.0
"""The options of a stream, and what is refused of them."""

from __future__ import annotations

import pytest

from bayou.errors import InvalidOptionError, TimeTravelError
from bayou.log.streaming.request.limits import ReadLimits
from bayou.log.streaming.request.options import StreamOptions, option_names
from bayou.log.streaming.request.path_filter import PathFilter


def options(**given):
    return StreamOptions.from_options(given, "/t")


def refused(kind=InvalidOptionError, **given):
    with pytest.raises(kind) as raised:
        options(**given)
    return raised.value


def test_a_stream_without_options_reads_a_thousand_files_a_batch_and_fails_where_commits_are_missing():
    found = options()
    assert found == StreamOptions()
    assert found.limits == ReadLimits(1000)
    assert found.fail_on_data_loss
    assert not found.has_start


def test_the_names_of_options_are_read_in_any_case_and_unknown_ones_are_ignored():
    assert options(MAXFILESPERTRIGGER="7", path="/t", mergeSchema="x").max_files == 7


def test_the_names_of_all_options_are_known():
    assert sorted(option_names()) == [
        *("allowSourceColumnDrop", "allowSourceColumnRename", "allowSourceColumnTypeChange", "excludeRegex", "failOnDataLoss"),
        *("ignoreChanges", "ignoreDeletes", "ignoreFileDeletion", "maxBytesPerTrigger", "maxFilesPerTrigger", "readChangeData"),
        *("readChangeFeed", "schemaLocation", "schemaTrackingLocation", "skipChangeCommits", "startingTimestamp"),
        *("startingVersion", "streamingSourceTrackingId", "withEventTimeOrder"),
    ]


def test_every_option_has_a_field():
    found = options(
        maxFilesPerTrigger="2",
        maxBytesPerTrigger="10k",
        startingVersion="3",
        ignoreDeletes="TRUE",
        ignoreFileDeletion="true",
        skipChangeCommits="true",
        failOnDataLoss="true",
        excludeRegex="a+",
        readChangeData="true",
        schemaLocation="/c/s",
        streamingSourceTrackingId="one",
        allowSourceColumnRename="always",
        allowSourceColumnDrop="7",
        allowSourceColumnTypeChange="Always",
        withEventTimeOrder="true",
    )
    assert found == StreamOptions(
        max_files=2,
        max_bytes=10240,
        starting_version=3,
        ignore_deletes=True,
        ignore_changes=True,
        skip_change_commits=True,
        exclude_regex="a+",
        read_change_feed=True,
        schema_location="/c/s",
        tracking_id="one",
        allow_rename="always",
        allow_drop="7",
        allow_type_change="always",
        with_event_time_order=True,
    )
    assert found.limits == ReadLimits(2, 10240)


def test_a_limit_of_bytes_alone_takes_any_number_of_files():
    assert options(maxBytesPerTrigger="1g").limits == ReadLimits(None, 1 << 30)


@pytest.mark.parametrize(
    ("text", "size"),
    [("5", 5), ("5b", 5), ("1k", 1024), ("1KB", 1024), (" 2m ", 2 << 20), ("10g", 10 << 30), ("1tb", 1 << 40), ("1p", 1 << 50)],
)
def test_sizes_are_read_as_spark_reads_them(text, size):
    assert options(maxBytesPerTrigger=text).max_bytes == size


@pytest.mark.parametrize("text", ["0", "-1", "1.5g", "g", "1bb", "1kbb", "99999999p", ""])
def test_what_is_no_size_is_refused(text):
    error = refused(maxBytesPerTrigger=text)
    assert (error.error_class, error.option) == ("DELTA_ILLEGAL_OPTION", "maxBytesPerTrigger")
    assert f"'{text}'" in str(error)


@pytest.mark.parametrize("text", ["0", "-1", "ten", "1.5", "1_0", "2147483648", ""])
def test_what_is_no_number_of_files_is_refused(text):
    error = refused(maxFilesPerTrigger=text)
    assert (error.error_class, error.option) == ("DELTA_ILLEGAL_OPTION", "maxFilesPerTrigger")
    assert f"'{text}'" in str(error)


def test_the_latest_version_is_a_start_by_its_name():
    assert options(startingVersion="latest").starting_version == "latest"


@pytest.mark.parametrize("text", ["-1", "LATEST", "one", "9223372036854775808"])
def test_what_is_no_version_is_refused_as_a_start(text):
    error = refused(startingVersion=text)
    assert (error.error_class, error.option) == ("DELTA_ILLEGAL_OPTION", "startingVersion")


def test_a_version_and_a_timestamp_cannot_both_be_the_start():
    error = refused(startingVersion="1", startingTimestamp="2026-01-01")
    assert error.error_class == "DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET"


@pytest.mark.parametrize("name", ["ignoreDeletes", "ignoreChanges", "ignoreFileDeletion", "skipChangeCommits", "failOnDataLoss"])
def test_a_switch_is_true_or_false(name):
    error = refused(**{name: "yes"})
    assert (error.error_class, error.option) == ("DELTA_ILLEGAL_OPTION", name)


@pytest.mark.parametrize("name", ["versionAsOf", "timestampasof"])
def test_a_stream_cannot_travel_in_time(name):
    assert refused(TimeTravelError, **{name: "1"}).error_class == "DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS"


def test_a_pattern_that_cannot_be_read_is_refused():
    assert refused(excludeRegex="(a").error_class == "DELTA_REGEX_OPT_SYNTAX_ERROR"


@pytest.mark.parametrize("pattern", ["b", "b$", "(?<!a)b", "(?=b)"])
def test_a_pattern_leaves_out_the_paths_that_it_finds(pattern):
    import pyarrow as pa

    assert PathFilter(pattern).keeps(pa.array(["a", "x/b", "c"])).to_pylist() == [True, False, True]


def test_schema_tracking_cannot_tolerate_missing_commits():
    assert refused(schemaTrackingLocation="/c", failOnDataLoss="false").option == "failOnDataLoss"


def test_a_permission_is_a_version_or_always():
    assert refused(allowSourceColumnDrop="true").option == "allowSourceColumnDrop"


@pytest.mark.parametrize("text", ["", " "])
@pytest.mark.parametrize("option", ["schemaTrackingLocation", "schemaLocation"])
def test_an_empty_location_is_refused(option, text):
    assert refused(**{option: text}).option == option
    assert refused(**{"schemaTrackingLocation": "/a", option: text}).option == option


def test_the_alias_of_the_location_counts_where_the_location_is_not_given():
    assert options(schemaLocation="/b").schema_location == "/b"
    assert options(schemaTrackingLocation="/a", schemaLocation="/b").schema_location == "/a"
