# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while an operation's jobs run, without Spark: who hears of it, and how the operation ends."""

from __future__ import annotations

import signal
import threading

import pytest

from bayou.spark.session.interrupts import interruptible, listen

SECONDS = 30


class FakeContext:
    """A Spark context whose jobs a test can wait for to be stopped."""

    def __init__(self):
        self.calls = []
        self.stopped = threading.Event()

    def addJobTag(self, tag):  # noqa: N802  (PySpark's name)
        self.tag = tag
        self.calls.append("begin")

    def removeJobTag(self, tag):  # noqa: N802  (PySpark's name)
        assert tag == self.tag
        self.calls.append("end")

    def cancelJobsWithTag(self, tag):  # noqa: N802  (PySpark's name)
        assert tag == self.tag
        self.calls.append("stop")
        self.stopped.set()


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


def test_jobs_are_stopped_and_what_failed_with_them_is_the_interrupt(theirs):
    context = FakeContext()

    def run():
        with interruptible(context):
            interrupt()
            assert context.stopped.wait(SECONDS)
            raise RuntimeError("the job was cancelled")

    with pytest.raises(KeyboardInterrupt) as caught:
        run()
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert context.calls == ["begin", "stop", "end"]
    assert theirs == []


def test_an_interrupt_that_comes_too_late_for_the_jobs_is_raised_behind_them(theirs):
    context, done = FakeContext(), []

    def run():
        with interruptible(context) as jobs:
            interrupt()
            with pytest.raises(KeyboardInterrupt):
                jobs.check()
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        run()
    assert (done, theirs) == ([1], [])


def test_a_second_interrupt_and_one_beside_operations_are_others(theirs):
    listen()
    with pytest.raises(KeyboardInterrupt):
        interrupt()

    def run():
        with interruptible(FakeContext()):
            interrupt()
            interrupt()

    with pytest.raises(KeyboardInterrupt):
        run()
    assert theirs == [signal.SIGINT] * 2


def test_an_operation_on_another_thread_is_stopped_too(theirs):
    listen()
    context, begun, caught = FakeContext(), threading.Event(), []

    def run():
        try:
            with interruptible(context):
                begun.set()
                assert context.stopped.wait(SECONDS)
        except KeyboardInterrupt as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(SECONDS)
    interrupt()
    thread.join(SECONDS)
    assert len(caught) == 1
    assert theirs == []


def test_the_handler_is_there_once(theirs):
    listen()
    first = signal.getsignal(signal.SIGINT)
    listen()
    assert signal.getsignal(signal.SIGINT) is first
    assert theirs == []


def test_errors_without_an_interrupt_stay_what_they_are(theirs):
    context = FakeContext()
    with pytest.raises(RuntimeError, match="other"), interruptible(context):
        raise RuntimeError("other")
    assert context.calls == ["begin", "end"]
    assert theirs == []
