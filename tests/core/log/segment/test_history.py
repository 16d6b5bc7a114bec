# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import time

import pytest

from bayou.errors import CorruptLogError, VersionNotFoundError
from bayou.log.segment.history import HistoryPart
from bayou.protocol.actions import file_names
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add


def table():
    return TableBuilder(store=MemoryStore()).create()


def test_history_is_newest_first_and_limited():
    log = table().commit().commit().log()
    assert [entry.version for entry in log.history()] == [2, 1, 0]
    assert [entry.version for entry in log.history(2)] == [2, 1]
    assert log.history(0) == []


def test_a_notebook_shows_the_commits_as_rows():
    shown = table().commit().log().history()._repr_html_()
    assert shown.count("<tr>") == 3
    assert "operation" in shown


def test_every_field_of_the_provenance_is_shown():
    info = {
        "userId": "7",
        "userName": "ann",
        "operation": "MERGE",
        "operationParameters": {"predicate": '["a"]', "partitionBy": [], "n": 3, "b": True, "none": None},
        "job": {"jobId": "1"},
        "notebook": {"notebookId": "2"},
        "clusterId": "c",
        "readVersion": 0,
        "isolationLevel": "Serializable",
        "isBlindAppend": False,
        "operationMetrics": {"numFiles": "1"},
        "userMetadata": "note",
        "engineInfo": "engine",
        "txnId": "t",
    }
    entry = table().commit(info=info).log().history(1)[0]
    parameters = {"predicate": '["a"]', "partitionBy": "[]", "n": "3", "b": "true", "none": None}
    assert entry.operation_parameters == parameters
    assert (entry.user_id, entry.user_name, entry.operation, entry.cluster_id) == ("7", "ann", "MERGE", "c")
    assert (entry.job, entry.notebook) == ({"jobId": "1"}, {"notebookId": "2"})
    assert (entry.read_version, entry.isolation_level, entry.is_blind_append) == (0, "Serializable", False)
    assert (entry.operation_metrics, entry.user_metadata, entry.engine_info) == ({"numFiles": "1"}, "note", "engine")
    assert entry.raw["txnId"] == "t"


def test_a_commit_without_provenance_is_listed():
    builder = table().write(file_names.commit_path(1), json.dumps(add("a")))
    entry = builder.log().history(1)[0]
    assert (entry.version, entry.operation, entry.raw) == (1, None, {})
    assert entry.timestamp > 0


def test_provenance_is_found_on_any_line():
    lines = [json.dumps(add("a")), '{"commitInfo": {"operation":"LATE"}}']
    builder = table().write(file_names.commit_path(1), "\n".join(lines))
    assert builder.log().history(1)[0].operation == "LATE"


def test_history_works_where_the_old_log_is_gone():
    builder = table().commit().commit().checkpoint().commit()
    builder.delete(file_names.commit_path(0)).delete(file_names.commit_path(1))
    assert [entry.version for entry in builder.log().history()] == [3, 2]


def test_changes_are_the_actions_of_each_commit():
    builder = table().commit(add("a")).commit(add("b"))
    found = builder.log().changes(1)
    assert [(each.version, [next(iter(action)) for action in each.actions]) for each in found] == [
        (1, ["commitInfo", "add"]),
        (2, ["commitInfo", "add"]),
    ]
    assert [each.version for each in builder.log().changes(0, 1)] == [0, 1]


@pytest.mark.parametrize(("start", "end"), [(3, None), (0, 3), (-1, None), (5, 6)])
def test_changes_of_versions_that_are_not_there_are_refused(start, end):
    with pytest.raises(VersionNotFoundError) as caught:
        table().commit().commit().log().changes(start, end)
    assert caught.value.latest == 2


def test_changes_of_a_broken_commit_are_refused():
    builder = table().write(file_names.commit_path(1), b'{"commitInfo":{}}\n{"add":')
    with pytest.raises(CorruptLogError) as caught:
        builder.log().changes(1)
    assert caught.value.file == file_names.commit_path(1)


def test_a_thousand_commits_are_listed_in_a_moment(tmp_path):
    builder = TableBuilder(tmp_path)
    folder = tmp_path / "_delta_log"
    folder.mkdir()
    builder.store.put = lambda path, data: (tmp_path / path).write_bytes(data)
    builder.create()
    for number in range(999):
        builder.commit(add(f"f{number}", stats={"numRecords": 1}))
    log = builder.log()
    log.update()
    fastest = min(_timed(log.history) for _ in range(3))
    assert fastest < 0.5  # a loaded machine; measured well below a tenth of that


def _timed(call):
    start = time.perf_counter()
    assert len(call()) == 1000
    return time.perf_counter() - start


class CountingStore(MemoryStore):
    """A store that notes which commits are read."""

    def __init__(self):
        super().__init__()
        self.commits = []

    def read(self, path, *arguments, **options):
        version = path.rpartition("/")[2].removesuffix(".json")
        if version.isdecimal():
            self.commits.append(int(version))
        return super().read(path, *arguments, **options)


def counted(builder, **options):
    """The versions of a part of the history, and which commits were read for it."""
    log = builder.log()
    log.update()
    builder.store.commits.clear()
    entries = log.history(options.pop("limit", None), part=HistoryPart(**options))
    return [entry.version for entry in entries], sorted(builder.store.commits)


@pytest.fixture
def ten():
    """A table with the versions 0 to 9, one second apart."""
    builder = TableBuilder(store=CountingStore()).create()
    for _ in range(9):
        builder.commit()
    for version in range(10):
        builder.store.set_modification_time(file_names.commit_path(version), 1_000_000 + version * 1_000)
    return builder


@pytest.mark.parametrize(
    ("part", "versions"),
    [
        ({"first": 7}, [9, 8, 7]),
        ({"last": 1}, [1, 0]),
        ({"first": 3, "last": 4}, [4, 3]),
        ({"first": 4, "last": 3}, []),
        ({"since": 1_007_001}, [9, 8]),
        ({"until": 1_001_000}, [1, 0]),
        ({"since": 1_003_000, "until": 1_004_999}, [4, 3]),
        ({"newest": 3}, [9, 8, 7]),
        ({"newest": 3, "last": 7}, [7]),
        ({"limit": 2, "oldest": True}, [1, 0]),
        ({"limit": 2, "first": 5, "oldest": True}, [6, 5]),
        ({"limit": 2, "last": 5}, [5, 4]),
        ({"limit": 0, "oldest": True}, []),
    ],
)
def test_no_commit_outside_of_a_part_is_read(ten, part, versions):
    assert counted(ten, **part) == (versions, sorted(versions))


def test_versions_and_times_alone_need_no_commit(ten):
    assert counted(ten, reads=False) == ([9, 8, 7, 6, 5, 4, 3, 2, 1, 0], [])


def test_times_that_commits_carry_are_searched_with_few_reads():
    builder = TableBuilder(store=CountingStore()).create(configuration={"delta.enableInCommitTimestamps": "true"})
    text = builder.store.read(file_names.commit_path(0))
    builder.write(file_names.commit_path(0), text.replace(b'"timestamp"', b'"inCommitTimestamp":5000,"timestamp"'))
    for version in range(1, 100):
        builder.commit(info={"inCommitTimestamp": 5_000 + version, "operation": "WRITE"})
    versions, read = counted(builder, since=5_090, until=5_092)
    assert versions == [92, 91, 90]
    assert len(read) < 20


def test_a_commit_without_its_timestamp_counts_with_the_time_of_its_file():
    builder = TableBuilder(store=CountingStore()).create(configuration={"delta.enableInCommitTimestamps": "true"})
    text = builder.store.read(file_names.commit_path(0))
    builder.write(file_names.commit_path(0), text.replace(b'"timestamp"', b'"inCommitTimestamp":5000,"timestamp"'))
    builder.store.set_modification_time(file_names.commit_path(0), 5_000)
    for version in range(1, 9):
        builder.commit(info={"operation": "WRITE"} | ({"inCommitTimestamp": 5_000 + version} if version != 4 else {}))
        builder.store.set_modification_time(file_names.commit_path(version), 5_000 + version)
    assert counted(builder, since=5_003, until=5_005)[0] == [5, 4, 3]
    assert counted(builder, until=5_001)[0] == [1, 0]
