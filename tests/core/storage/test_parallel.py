# SPDX-License-Identifier: Apache-2.0
"""Many files are read at a time where each read is a request, in their order, and no thread waits for a result to be taken."""

from __future__ import annotations

import threading

import pytest

from bayou.storage.parallel import read_each


class FarStore:
    """A store whose files are not on a local disk."""

    def local_path(self, _path):
        return None


def readers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("bayou-read")]


def test_each_is_read_once_and_in_order():
    read = []
    found = list(read_each(FarStore(), range(100), lambda number: read.append(number) or number * 2))
    assert found == [number * 2 for number in range(100)]
    assert sorted(read) == list(range(100))


def test_reads_run_at_the_same_time():
    together = threading.Barrier(32, timeout=30)
    assert list(read_each(FarStore(), range(32), lambda number: together.wait() >= 0 and number)) == list(range(32))


def test_what_is_not_taken_is_not_read_and_holds_no_thread():
    read = []
    found = read_each(FarStore(), range(100), lambda number: read.append(number) or number)
    assert next(found) == 0
    assert len(read) <= 32
    assert readers() == []


def test_an_error_of_a_read_is_raised():
    def read(number):
        if number == 5:
            raise OSError("gone")
        return number

    with pytest.raises(OSError, match="gone"):
        list(read_each(FarStore(), range(10), read))
    assert readers() == []
