# SPDX-License-Identifier: Apache-2.0
"""Sizes and partition values in a change feed: from which action they are where a removed file does not say them."""

from __future__ import annotations

import pytest
from tests.core.log.changes.change_feeds import DAY, facts, feed_of, table
from tests.support.tables.feed_actions import cdc, gone

from bayou.errors import CorruptLogError
from bayou.protocol.actions import file_names
from bayou.testing.table_builder import add, remove


def test_a_removed_file_without_facts_has_those_of_the_state_before_the_range():
    builder = table(partition_by=["day"]).commit(add("a", size=11, **DAY)).commit(remove("a"))
    assert facts(builder, 2) == [("a", 11, {"day": "1"})]


def test_a_removed_file_without_facts_has_those_of_its_add_in_the_range():
    builder = table(partition_by=["day"]).commit(add("a", size=11, dataChange=False, **DAY), cdc("c", **DAY))
    builder.commit(remove("a"), gone("b", **DAY))
    assert sorted(facts(builder, 2)) == [("a", 11, {"day": "1"}), ("b", 100, {"day": "1"})]
    assert sorted(facts(builder, 1)) == [("a", 11, {"day": "1"}), ("b", 100, {"day": "1"}), ("c", 7, {"day": "1"})]


def test_a_removed_file_with_a_size_and_no_partition_values_is_looked_up_where_the_table_is_partitioned():
    builder = table(partition_by=["day"]).commit(add("a", **DAY)).commit(remove("a", size=5, partitionValues={}))
    assert facts(builder, 2) == [("a", 100, {"day": "1"})]
    assert facts(table().commit(add("a")).commit(remove("a", size=5, partitionValues={})), 2) == [("a", 5, {})]


def test_what_an_add_or_a_change_file_does_not_say_is_not_looked_up():
    builder = table(partition_by=["day"]).commit(add("a")).commit(cdc("c"))
    assert facts(builder, 1) == [("a", 100, {}), ("c", 7, {})]


def test_a_removed_file_without_facts_has_those_of_the_first_version_that_is_left():
    builder = table(partition_by=["day"]).commit(add("a", size=11, **DAY)).commit(add("b", **DAY)).checkpoint()
    builder.commit(remove("a"))
    for version in (0, 1):
        builder.store.delete(file_names.commit_path(version))
    assert sorted(facts(builder, 2)) == [("a", 11, {"day": "1"}), ("b", 100, {"day": "1"})]


def test_a_removed_file_whose_facts_are_lost_is_an_error():
    builder = table(partition_by=["day"]).commit(remove("lost"))
    with pytest.raises(CorruptLogError) as caught:
        feed_of(builder)
    assert caught.value.getErrorClass() == "DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA"
    assert (caught.value.version, caught.value.file, caught.value.num_files) == (1, "lost", 1)


def test_a_file_of_changes_without_its_size_is_an_error_and_not_a_file_without_rows():
    with pytest.raises(CorruptLogError) as caught:
        feed_of(table().commit(add("a")).commit(cdc("c", size=None)))
    assert (caught.value.version, caught.value.file) == (2, "c")
    assert "size" in str(caught.value)
