# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import json
import logging
import threading

import pytest

from bayou.log import events
from bayou.log.events import (
    CheckpointEvent,
    ChecksumEvent,
    CommitEvent,
    ConflictEvent,
    HistoryCutEvent,
    HookFailedEvent,
    LogCleanupEvent,
    RetryEvent,
    UnknownOutcomeEvent,
    WinningCommitEvent,
    add_listener,
    emit,
)

TABLE = "file:///data/orders"
COMMIT = CommitEvent(table=TABLE, version=7, operation="WRITE", txn_id="t-1", read_version=6, duration_seconds=0.25)

EVENTS = [
    COMMIT,
    WinningCommitEvent(table=TABLE, version=7, operation="WRITE", txn_id="t-1", attempt=1, winning_operation="MERGE"),
    RetryEvent(table=TABLE, version=8, operation="WRITE", txn_id="t-1", attempt=2, wait_seconds=0.1),
    ConflictEvent(table=TABLE, version=8, operation="DELETE", txn_id="t-1", attempts=2, reason="changed the metadata"),
    ConflictEvent(table=TABLE, version=None, operation="DELETE", txn_id="t-1", attempts=1000),
    UnknownOutcomeEvent(table=TABLE, version=8, operation="WRITE", txn_id="t-1", attempts=1, error="no answer"),
    CheckpointEvent(table=TABLE, version=10, num_actions=100, num_parts=2, size_bytes=5_000, duration_seconds=1.5),
    ChecksumEvent(table=TABLE, version=10, size_bytes=100),
    LogCleanupEvent(table=TABLE, version=3, num_deleted=12),
    HookFailedEvent(table=TABLE, version=10, hook="checkpoint", error="disk full"),
    HistoryCutEvent(table=TABLE, version=9, error="the file is empty"),
]
each_event = pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)


@pytest.fixture(autouse=True)
def _own_listeners(monkeypatch):
    monkeypatch.setattr(events, "_listeners", events._Listeners())


@pytest.fixture
def records():
    """What the logger was given, in order."""
    found = []
    handler = logging.Handler()
    handler.emit = found.append
    logger = logging.getLogger("bayou.log")
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)
    logger.setLevel(before)


@each_event
def test_an_event_is_one_record_of_one_line(event, records):
    emit(event)
    (record,) = records
    assert (record.name, record.bayou_event) == ("bayou.log", event)
    text = record.getMessage()
    assert text.startswith(f"{event.name} on {TABLE}: version=") or event.version is None
    assert "\n" not in text
    assert "None" not in text
    warns = isinstance(event, (HistoryCutEvent, HookFailedEvent, UnknownOutcomeEvent))
    assert record.levelno == (logging.WARNING if warns else logging.INFO)


def test_the_line_says_what_happened(records):
    emit(COMMIT)
    assert records[0].getMessage() == (
        "commit on file:///data/orders: version=7, operation=WRITE, txn_id=t-1, read_version=6, attempts=1, duration_seconds=0.250"
    )


@each_event
def test_an_event_is_json(event):
    document = event.to_dict()
    assert json.loads(json.dumps(document)) == document
    assert list(document)[:3] == ["event", "table", "version"]
    assert set(document) == {"event", *(each.name for each in dataclasses.fields(event))}
    assert document.pop("event") == event.name
    assert type(event)(**document) == event


def test_every_event_has_a_name_of_its_own():
    kinds = {type(event) for event in EVENTS}
    assert len({kind.name for kind in kinds}) == len(kinds) == 10


def test_an_event_does_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        COMMIT.version = 8


def test_listeners_are_called_in_the_order_in_which_they_came():
    seen = []
    add_listener(lambda event: seen.append(("first", event)))
    add_listener(lambda event: seen.append(("second", event)))
    emit(COMMIT)
    assert seen == [("first", COMMIT), ("second", COMMIT)]


def test_a_listener_is_called_in_the_thread_where_it_happens():
    seen = []
    add_listener(lambda _event: seen.append(threading.get_ident()))
    emit(COMMIT)
    assert seen == [threading.get_ident()]


def test_a_listener_that_was_removed_is_not_called():
    seen = []
    remove = add_listener(seen.append)
    again = add_listener(seen.append)
    emit(COMMIT)
    remove()
    remove()
    emit(COMMIT)
    assert len(seen) == 3
    again()
    emit(COMMIT)
    assert len(seen) == 3


def test_a_listener_may_remove_itself():
    seen = []

    def once(event):
        seen.append(event)
        remove()

    remove = add_listener(once)
    add_listener(seen.append)
    emit(COMMIT)
    emit(COMMIT)
    assert len(seen) == 3


def test_a_listener_that_fails_is_reported_and_disturbs_nobody(records):
    def fail(_event):
        message = "no metrics today"
        raise RuntimeError(message)

    seen = []
    add_listener(fail)
    add_listener(seen.append)
    emit(COMMIT)
    assert seen == [COMMIT]
    _, report = records
    assert report.levelno == logging.ERROR
    assert "fail" in report.getMessage()
    assert "no metrics today" in str(report.exc_info[1])


def test_a_log_that_fails_disturbs_nobody(records):
    def fail(_record):
        message = "the log is gone"
        raise OSError(message)

    logging.getLogger("bayou.log").handlers[-1].emit = fail
    seen = []
    add_listener(seen.append)
    emit(COMMIT)
    assert (seen, records) == ([COMMIT], [])


def test_an_interrupt_is_not_held_back():
    def interrupt(_event):
        raise KeyboardInterrupt

    add_listener(interrupt)
    with pytest.raises(KeyboardInterrupt):
        emit(COMMIT)


def test_listeners_come_and_go_while_events_happen():
    def come_and_go():
        for _ in range(200):
            add_listener(lambda _event: None)()

    threads = [threading.Thread(target=come_and_go) for _ in range(4)]
    seen = []
    add_listener(seen.append)
    for thread in threads:
        thread.start()
    for _ in range(100):
        emit(COMMIT)
    for thread in threads:
        thread.join()
    assert len(seen) == 100
    assert events._listeners.current() == (seen.append,)


def test_an_event_holds_no_secret(records):
    event = HookFailedEvent(
        table="s3a://key:secret@bucket/t",
        version=1,
        hook="checkpoint",
        error="PUT 'https://host/t/a?sig=secret' failed,\nthen s3://key:se,cret)secret@bucket/x (retry)",
    )
    emit(event)
    for text in (str(event), repr(event), json.dumps(event.to_dict()), records[0].getMessage()):
        assert "secret" not in text
        assert "s3a://bucket/t" in text
    assert event.error == "PUT 'https://host/t/a' failed,\nthen s3://bucket/x (retry)"


def test_a_path_in_an_event_stays_as_it_is():
    assert LogCleanupEvent(table="file:///data/a b?c#d", version=1, num_deleted=0).table == "file:///data/a b?c#d"


def test_a_container_is_no_secret():
    uri = "abfss://lake@account.dfs.core.windows.net/t"
    assert ChecksumEvent(table=uri, version=1).table == uri
