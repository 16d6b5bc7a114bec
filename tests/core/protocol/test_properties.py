# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.protocol import properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("interval 30 days", 30 * 86_400_000),
        ("INTERVAL 1 WEEK", 7 * 86_400_000),
        ("2 hours", 7_200_000),
        ("interval 1 day 2 hours 3 minutes 4 seconds 5 milliseconds", 93_784_005),
        ("interval 0 seconds", 0),
        ("1.5 seconds", 1_500),
        ("interval 1000 microseconds", 1),
    ],
)
def test_an_interval_is_read_as_spark_reads_it(text, expected):
    assert properties.interval_ms(text) == expected


@pytest.mark.parametrize("text", ["", "interval", "1 month", "interval 1 year", "days", "1 day soon", "x 1 day"])
def test_what_is_no_interval_of_days_or_smaller_is_refused(text):
    with pytest.raises(ValueError):
        properties.interval_ms(text)


def test_a_property_that_is_not_set_has_its_default():
    assert properties.CHECKPOINT_INTERVAL.read({}) == 10
    assert properties.LOG_RETENTION_MS.read({}) == 30 * 86_400_000
    assert properties.STATS_COLUMNS.read({}) is None


def test_a_value_that_is_not_of_the_property_counts_as_unset():
    assert properties.CHECKPOINT_INTERVAL.read({"delta.checkpointInterval": "ten"}) == 10
    assert properties.APPEND_ONLY.read({"delta.appendOnly": "maybe"}) is False


def test_keys_compare_without_regard_to_case():
    assert properties.APPEND_ONLY.read({"DELTA.appendonly": "TRUE"}) is True


def test_every_property_is_listed_by_its_key():
    assert properties.PROPERTIES["delta.appendOnly"] is properties.APPEND_ONLY
    assert all(key == found.key for key, found in properties.PROPERTIES.items())


def test_lists_of_columns_are_split():
    assert properties.STATS_COLUMNS.read({"delta.dataSkippingStatsColumns": "a, b.c ,"}) == ("a", "b.c")
