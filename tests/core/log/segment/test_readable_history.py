# SPDX-License-Identifier: Apache-2.0
"""What a log says of its older versions where its newest files are broken, and where a checkpoint stands for a commit."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test
from tests.support.drawing import SLOW

from bayou.errors import CorruptLogError, DeltaError, VersionNotFoundError
from bayou.log.changes.range import ChangeBounds
from bayou.log.events import HistoryCutEvent, add_listener
from bayou.log.segment.listing import list_log, sort_listing
from bayou.log.segment.segment import earliest_version
from bayou.protocol.actions.file_names import LAST_CHECKPOINT, commit_path
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add

ICT = {"delta.enableInCommitTimestamps": "true"}
FIRST_TIME = 1_700_000_000_000
BROKEN = [b"", b"\n", b"nonsense", b'{"protocol":{}}', b'{"metaData":{"schemaString":3}}', b'{"commitInfo":{}}\n{"metaData":{"id":']


def table(commits, *, ict=False):
    """Version n is committed n seconds after the first, by both clocks."""
    builder = TableBuilder(store=MemoryStore())
    for version in range(commits):
        info = {"operation": f"OP {version}", "inCommitTimestamp": FIRST_TIME + 1000 * version}
        if version:
            builder.commit(add(f"f{version}"), info=info)
        else:
            builder.create(configuration=ICT if ict else {})
            lines = builder.store.read(commit_path(0)).splitlines()
            kept = [line for line in lines if b"commitInfo" not in line]
            builder.write(commit_path(0), b"\n".join([json.dumps({"commitInfo": info}).encode(), *kept]))
        set_time(builder, version)
    return builder


def set_time(builder, version):
    builder.store.set_modification_time(commit_path(version), FIRST_TIME + 1000 * version)


def versions(log, **options):
    return [entry.version for entry in log.history(**options)]


@pytest.fixture
def heard():
    found = []
    remove = add_listener(found.append)
    yield found
    remove()


@pytest.mark.parametrize("checkpoint", [3, 10])
def test_a_history_goes_on_before_a_checkpoint_whose_commit_is_gone(checkpoint):
    log = table(11).checkpoint(version=checkpoint).delete(commit_path(checkpoint)).log()
    assert versions(log) == [version for version in range(10, -1, -1) if version != checkpoint]
    assert versions(log, version=2) == [2, 1, 0]
    assert versions(log, limit=3, version=checkpoint) == [checkpoint - 1, checkpoint - 2, checkpoint - 3]
    assert log.history()[-1].timestamp == FIRST_TIME


@SLOW
@given(st.sets(st.integers(0, 8)), st.sets(st.integers(0, 8)), st.none() | st.integers(0, 8))
def test_every_version_from_the_earliest_on_can_be_read(gone, checkpoints, last):
    builder = table(9)
    for version in checkpoints:
        builder.checkpoint(version=version, hint=False)
    for version in gone:
        builder.delete(commit_path(version))
    listing = sort_listing(list_log(builder.store, "_delta_log/"))
    end = listing.latest if last is None else last
    log = builder.log()
    readable = [version for version in range(9) if is_readable(log, version)]
    expected = end
    while expected is not None and expected - 1 in readable:
        expected -= 1
    assert earliest_version(listing, last) == (expected if end in readable else None)
    if end in readable:
        commits = sorted(set(range(expected, end + 1)) - gone, reverse=True)
        assert versions(log, version=end) == commits


def is_readable(log, version):
    try:
        log.snapshot(version)
    except DeltaError:
        return False
    return True


def test_the_times_of_commits_rise_across_a_checkpoint_whose_commit_is_gone():
    builder = table(7).checkpoint(version=3).delete(commit_path(3))
    for version in range(7):
        if version != 3:
            builder.store.set_modification_time(commit_path(version), FIRST_TIME - 1000 * version)
    log = builder.log()
    times = [entry.timestamp for entry in log.history()]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == len(times) == 6


def test_a_change_feed_does_not_begin_before_a_commit_that_is_gone():
    log = table(8).checkpoint(version=4).delete(commit_path(4)).log()
    with pytest.raises(VersionNotFoundError) as caught:
        log.change_range(ChangeBounds(starting_version=2))
    assert (caught.value.earliest, caught.value.latest) == (5, 7)
    assert log.change_range(ChangeBounds(starting_version=5)).start == 5
    assert log.change_range(ChangeBounds(starting_version=1, ending_version=3)).end == 3


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize("ict", [False, True])
def test_a_history_begins_at_the_latest_version_that_can_be_read(text, ict, heard):
    log = table(5, ict=ict).write(commit_path(5), text).log()
    assert versions(log) == [4, 3, 2, 1, 0]
    assert versions(log, limit=1) == [4]
    cut = [event for event in heard if isinstance(event, HistoryCutEvent)]
    assert [event.version for event in cut] == [4, 4]
    assert commit_path(5) in cut[0].error
    with pytest.raises(CorruptLogError):
        log.snapshot()


@pytest.mark.parametrize("text", BROKEN)
def test_a_version_before_a_broken_one_needs_nothing_after_it(text, heard):
    log = table(6).write(commit_path(4), text).log()
    assert versions(log, version=3) == [3, 2, 1, 0]
    assert versions(log, version=2, limit=2) == [2, 1]
    assert [each.version for each in log.changes(0, 3)] == [0, 1, 2, 3]
    assert log.change_range(ChangeBounds(starting_version=1, ending_version=3)).end == 3
    assert not heard
    for read in (lambda: log.changes(0), lambda: log.changes(0, 5), lambda: log.change_range(ChangeBounds(starting_version=0))):
        with pytest.raises(CorruptLogError):
            read()


@given(st.sets(st.integers(0, 8), min_size=1), st.sampled_from([*BROKEN, None]))
def test_any_broken_or_missing_commits_cut_a_history_before_the_first_of_them(broken, text):
    builder = table(9)
    for version in broken:
        builder = builder.delete(commit_path(version)) if text is None else builder.write(commit_path(version), text)
    if not builder.store.list_from("_delta_log/"):
        return
    if 0 in broken or broken == set(range(9)):
        with pytest.raises(DeltaError):
            builder.log().history()
    else:
        expected = range(min(broken) - 1, -1, -1)
        found = versions(builder.log())
        assert found == list(expected) or (text is None and broken >= set(range(min(broken), 9)))


@in_one_test("text", BROKEN)
@in_one_test("ict", [False, True])
def test_a_time_before_a_broken_commit_is_found(text, ict):
    builder = table(5, ict=ict).write(commit_path(5), text)
    set_time(builder, 5)
    log = builder.log()
    assert [log.version_at(at(second)) for second in (0, 1.5, 4)] == [0, 1, 4]
    assert log.snapshot(timestamp=at(3)).version == 3
    for second in (5, 6):
        with pytest.raises(CorruptLogError):
            log.version_at(at(second))
    with pytest.raises(DeltaError, match="earliest commit"):
        log.version_at(at(-1))


def at(second):
    import datetime as dt

    return dt.datetime.fromtimestamp((FIRST_TIME + 1000 * second) / 1000, dt.timezone.utc)


def test_a_broken_checkpoint_whose_commits_are_gone_cuts_nothing_that_an_older_one_holds():
    builder = table(8).checkpoint(version=2).checkpoint(version=5)
    for version in (0, 1, 4):
        builder.delete(commit_path(version))
    (path,) = [each.path for each in builder.store.list_from("_delta_log/") if each.name.endswith("5.checkpoint.parquet")]
    builder.write(path, b"nonsense")
    log = builder.log()
    assert versions(log) == [3, 2]
    assert versions(log, version=3) == [3, 2]


@pytest.mark.parametrize("kind", ["folder", "link", "unreadable"])
def test_the_hint_at_a_checkpoint_fails_no_write(kind, tmp_path, heard):
    builder = TableBuilder(tmp_path).create()
    hint = tmp_path / LAST_CHECKPOINT
    if kind == "folder":
        hint.mkdir()
    elif kind == "link":
        hint.symlink_to(tmp_path / "nowhere" / "at-all")
    else:
        hint.write_bytes(b"\xff")
    log = builder.log()
    assert log.checkpoint().version == 0
    assert builder.log().snapshot().segment.checkpoint is not None
    assert log.clean_up(dry_run=True).files == ()
