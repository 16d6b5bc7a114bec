# SPDX-License-Identifier: Apache-2.0
"""The lock for the start of a stream: one client at a time, and no lock of a client that is gone."""

from __future__ import annotations

import threading
import time

import pytest

from bayou.errors import StreamingSourceError
from bayou.spark.portable.scratch.folders import Scratch
from bayou.spark.portable.streams import start_lock
from bayou.spark.portable.streams.start_lock import StartLock
from bayou.storage.memory import MemoryStore

SECONDS = 30


@pytest.fixture
def lock(monkeypatch):
    """Return a function that makes locks of one query, each as of another client."""
    monkeypatch.setattr(start_lock, "RENEWED_EACH", 0.02)
    monkeypatch.setattr(start_lock, "GONE_AFTER", 1.0)
    store = MemoryStore()
    return lambda checkpoint="/checkpoint": StartLock(Scratch("memory:/t", store, "scratch/"), checkpoint, "memory:/t")


def test_the_second_client_waits_for_the_first(lock):
    first, second = lock(), lock()
    first.acquire()
    waits = threading.Thread(target=second.acquire)
    waits.start()
    waits.join(1.5)  # longer than a lock may stay the same
    assert waits.is_alive()
    first.check()
    first.release()
    waits.join(SECONDS)
    second.check()
    with pytest.raises(StreamingSourceError, match="/checkpoint"):
        first.check()
    first.release()
    second.check()
    second.release()
    second.release()


def test_a_client_does_not_wait_for_ever(lock, monkeypatch):
    monkeypatch.setattr(start_lock, "WAITS", 0.2)
    first = lock()
    first.acquire()
    with pytest.raises(StreamingSourceError, match="Another client starts the query"):
        lock().acquire()
    lock("/another").acquire()
    first.release()
    lock().acquire()


def test_the_lock_of_a_client_that_is_gone_is_taken(lock, monkeypatch):
    monkeypatch.setattr(StartLock, "_renew", lambda _: None)
    gone, waiting = lock(), lock()
    gone.acquire()
    waiting.acquire()
    waiting.check()
    with pytest.raises(StreamingSourceError):
        gone.check()
    gone.release()
    waiting.check()


def test_a_lock_that_nobody_releases_is_released(lock, monkeypatch):
    monkeypatch.setattr(start_lock, "HELD_FOR", 0.1)
    monkeypatch.setattr(start_lock, "GONE_AFTER", SECONDS)
    held = lock()
    held.acquire()
    held.check()
    lock().acquire()


def test_a_lock_is_held_as_long_as_its_holder_prepares_the_start(lock, monkeypatch):
    monkeypatch.setattr(start_lock, "HELD_FOR", 0.1)
    held = lock()
    held.acquire()
    time.sleep(0.5)
    held.check()
    held.release()


def test_a_checkpoint_has_one_lock_however_it_is_spelled(lock, monkeypatch):
    monkeypatch.setattr(start_lock, "WAITS", 0.2)
    lock("/checkpoint/").acquire()
    with pytest.raises(StreamingSourceError):
        lock("file:///checkpoint").acquire()
