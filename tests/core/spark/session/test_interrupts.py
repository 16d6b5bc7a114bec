# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while an operation's jobs run, without Spark: who hears of it, and how the operation ends."""

from __future__ import annotations

import signal
import threading

import pytest

from bayou.spark.session.interrupts import check_interrupted, interruptible, listen

SECONDS = 30


class FakeSession:
    """A Spark session whose jobs a test can wait for to be cancelled."""

    def __init__(self):
        self.sparkContext = self
        self.cancels = threading.Semaphore(0)

    def cancelAllJobs(self):  # noqa: N802  (PySpark's name)
        self.cancels.release()

    def wait_until_cancelled(self):
        assert self.cancels.acquire(timeout=SECONDS)


class FakeJvm:
    """A JVM that runs the calls of each Python thread on a thread of its own, but those of `calling` on the main thread's."""

    def __init__(self):
        self.calling = set()

    def thread_id(self):
        current = threading.current_thread()
        return 1 if current is threading.main_thread() or current in self.calling else 2


@pytest.fixture
def jvm(monkeypatch):
    """The JVM of all sessions."""
    found = FakeJvm()
    monkeypatch.setattr("bayou.spark.session.interrupts.backend_of", lambda _session: found)
    return found


@pytest.fixture
def session(jvm):
    """A session."""
    return FakeSession()


@pytest.fixture
def theirs():
    """The numbers of the interrupts that the handler before bayou's gets; it raises KeyboardInterrupt, as PySpark's does."""
    before, found = signal.getsignal(signal.SIGINT), []

    def handle(number, _frame):
        found.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handle)
    yield found
    signal.signal(signal.SIGINT, before)


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_jobs_are_cancelled_and_what_failed_with_them_is_the_interrupt(session, theirs):
    def run():
        with interruptible(session):
            interrupt()
            session.wait_until_cancelled()
            raise RuntimeError("the job was cancelled")

    with pytest.raises(KeyboardInterrupt) as caught:
        run()
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert theirs == []


def test_an_interrupt_that_comes_too_late_for_the_jobs_ends_the_operation_before_its_commit(session, theirs):
    done = []

    def run():
        with interruptible(session):
            check_interrupted()
            interrupt()
            done.append("written")
            check_interrupted()
            done.append("committed")

    with pytest.raises(KeyboardInterrupt):
        run()
    assert (done, theirs) == (["written"], [])


def test_one_that_comes_too_late_for_the_commit_is_raised_behind_it(session, theirs):
    done = []

    def run():
        with interruptible(session):
            interrupt()
            done.append("committed")

    with pytest.raises(KeyboardInterrupt):
        run()
    assert (done, theirs) == (["committed"], [])


def test_a_second_interrupt_and_one_beside_operations_are_others(session, theirs):
    listen(session)
    with pytest.raises(KeyboardInterrupt):
        interrupt()

    def run():
        with interruptible(session), interruptible(session):
            interrupt()
            interrupt()

    with pytest.raises(KeyboardInterrupt):
        run()
    assert theirs == [signal.SIGINT] * 2
    check_interrupted()


def on_another_thread(session, jvm, *, is_called):
    """Whether an operation on another thread ends with an interrupt; `is_called` if the main thread has called the JVM for it."""
    begun, goes_on, caught = threading.Event(), threading.Event(), []

    def run():
        try:
            with interruptible(session):
                begun.set()
                assert goes_on.wait(SECONDS)
        except KeyboardInterrupt as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    if is_called:
        jvm.calling.add(thread)
    thread.start()
    assert begun.wait(SECONDS)
    try:
        interrupt()
    finally:
        goes_on.set()
        thread.join(SECONDS)
    return bool(caught)


def test_an_operation_that_the_jvm_runs_for_the_main_thread_is_stopped(session, jvm, theirs):
    listen(session)
    assert on_another_thread(session, jvm, is_called=True)
    session.wait_until_cancelled()
    assert theirs == []


def test_an_operation_that_the_main_thread_does_not_wait_for_is_left_to_their_handler(session, jvm, theirs):
    listen(session)
    with pytest.raises(KeyboardInterrupt):
        on_another_thread(session, jvm, is_called=False)
    assert theirs == [signal.SIGINT]


def test_the_handler_is_there_once(session, theirs):
    listen(session)
    first = signal.getsignal(signal.SIGINT)
    listen(session)
    assert signal.getsignal(signal.SIGINT) is first
    assert theirs == []


def test_errors_without_an_interrupt_stay_what_they_are(session, theirs):
    with pytest.raises(RuntimeError, match="other"), interruptible(session):
        raise RuntimeError("other")
    assert theirs == []
