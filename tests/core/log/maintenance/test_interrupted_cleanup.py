# SPDX-License-Identifier: Apache-2.0
"""A cleanup that is interrupted anywhere leaves every kept version as it was, and the next one finishes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.log.maintenance.aged_tables import ICT, KINDS, age, at_times, cleaned, commits, expired, sidecars, state, table
from tests.support.drawing import VERY_SLOW
from tests.support.tables.checkpoints import DAY

from bayou.errors import StorageError, VersionNotFoundError
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, remove


def test_a_cleanup_that_was_interrupted_is_finished_by_the_next_one():
    class Failing(MemoryStore):
        left = 1

        def delete(self, path):
            if not self.left:
                raise StorageError("no more", file=path)
            self.left -= 1
            super().delete(path)

    found = table([60, 61, 62, 63, 71], checkpoints=[1, 3])
    store = Failing()
    store._files = dict(found.store._files)
    found.store = store
    with pytest.raises(StorageError, match="no more"):
        cleaned(found)
    assert commits(found) == [1, 2, 3, 4]
    store.left = 9
    cleaned(found)
    assert commits(found) == [3, 4]


class Histories:
    """Draws a log with commits at any times, checkpoints of any kind, and other files beside them."""

    def __init__(self, draw):
        self.has_own_times = draw(st.booleans())
        count = draw(st.integers(2, 9))
        self.days = draw(st.lists(st.integers(60, 75), min_size=count, max_size=count))
        if draw(st.booleans()):
            self.days.sort()
        configuration = {"delta.enableInCommitTimestamps": "true"} if self.has_own_times else {}
        self.table = TableBuilder(store=MemoryStore())
        base = TableBuilder(store=MemoryStore()).create(configuration=configuration, protocol=ICT)
        head = [{"protocol": ICT.to_json()}, {"metaData": state(base, 0)[3].to_json()}]
        for version in range(count):
            actions = draw(st.lists(st.tuples(st.booleans(), st.sampled_from("abcd")), max_size=3, unique_by=lambda each: each[1]))
            changes = [add(path) if is_add else remove(path) for is_add, path in actions]
            info = {"inCommitTimestamp": (60 + version) * DAY + version}
            self.table.commit(*(head if not version else []), *changes, info=info)
        for version in draw(st.sets(st.integers(0, count - 1), max_size=3)):
            self.table.checkpoint(draw(st.sampled_from(KINDS)), version=version, hint=draw(st.booleans()))
        for version in draw(st.sets(st.integers(0, count - 1), max_size=2)):
            self.table.checksum(version)
        for start in draw(st.sets(st.integers(0, count - 2), max_size=2)):
            self.table.compact(start, draw(st.integers(start + 1, count - 1)))
        age(self.table, self.days)
        sidecars(self.table, 60)
        self.now = draw(st.integers(88, 110)) * DAY + draw(st.integers(0, DAY - 1))


def readable(found, count):
    states = {}
    for version in range(count):
        try:
            states[version] = state(found, version)
        except VersionNotFoundError:
            continue
    return states


@VERY_SLOW
@given(st.data())
def test_after_a_cleanup_every_kept_version_reads_as_before_wherever_it_was_interrupted(data):
    drawn = Histories(data.draw)
    found, count = drawn.table, len(drawn.days)
    before, times = readable(found, count), at_times(found, range(59, 80))
    result = expired(found, drawn.now)
    first_kept = result.first_kept or 0
    for status in result.files[: data.draw(st.integers(0, len(result.files)))]:
        found.store.delete(status.path)
    half_way = readable(found, count)
    assert half_way == {version: before[version] for version in half_way}
    assert set(range(first_kept, count)) <= set(half_way)
    assert cleaned(found, drawn.now).first_kept == result.first_kept
    assert readable(found, count) == {version: each for version, each in before.items() if version >= first_kept}
    assert at_times(found, range(59, 80)) == {day: version for day, version in times.items() if version >= first_kept}
    assert all(version >= first_kept for day, version in times.items() if day * DAY >= result.cutoff_ms)
    assert cleaned(found, drawn.now).files == ()
