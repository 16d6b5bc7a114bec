# SPDX-License-Identifier: Apache-2.0
"""Many writers at once, in processes and in threads: every commit lands once, and nobody is in the way of anybody."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.programs.many_writers import Report, Writer

from bayou.log.checksum.verify import verify_checksum
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder

TASKS = ["append", "disjoint", "annotate"]


def table(root=None, store=None):
    return TableBuilder(root, store=store).create({"writer": "string", "x": "long"}, partition_by=["writer"])


def in_processes(interpreters, folder, writers, commits, task):
    order = {"folder": str(folder), "writers": writers, "commits": commits, "task": task}
    done = interpreters.run("from tests.support.programs.many_writers import main; main()", given=json.dumps(order))
    assert not done.code, done.err
    return [Report(**report) for report in json.loads(done.out)]


def in_threads(builder, writers, commits, task, *, shared):
    log = builder.log()
    with ThreadPoolExecutor(writers) as pool:
        return list(pool.map(lambda number: Writer(log if shared else builder.log(), number, task).run(commits), range(writers)))


def check(builder, reports, commits, task):
    assert [report.failure for report in reports if report.failure] == []
    assert all(report.versions == sorted(report.versions) for report in reports)
    versions = sorted(version for report in reports for version in report.versions)
    assert versions == list(range(1, len(reports) * commits + 1))
    snapshot = builder.log().snapshot()
    assert snapshot.version == versions[-1]
    expected = sorted(path for report in reports for path in report.files)
    assert sorted(snapshot.files(["path"])["path"].to_pylist()) == expected
    assert sorted(found.version for found in builder.log().history()) == list(range(len(versions) + 1))
    verify_checksum(snapshot)
    if task == "annotate":
        assert snapshot.properties["note.0"] == f"writer=0/{commits - 1}.parquet"
    else:
        assert [report.conflicts for report in reports if report.conflicts] == []


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.parametrize("task", TASKS)
def test_processes_are_not_in_each_others_way(interpreters, tmp_path, task):
    builder = table(tmp_path)
    check(builder, in_processes(interpreters, tmp_path, 8, 5, task), 5, task)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("shared", [True, False], ids=["one log", "a log each"])
def test_threads_are_not_in_each_others_way(task, shared):
    builder = table(store=MemoryStore())
    check(builder, in_threads(builder, 12, 5, task, shared=shared), 5, task)


@pytest.mark.soak
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.parametrize("task", TASKS)
def test_sixteen_processes_make_a_hundred_commits_each(interpreters, tmp_path, task):
    builder = table(tmp_path)
    check(builder, in_processes(interpreters, tmp_path, 16, 100, task), 100, task)


@pytest.mark.soak
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("shared", [True, False], ids=["one log", "a log each"])
def test_sixteen_threads_make_a_hundred_commits_each_on_a_disk(tmp_path, task, shared):
    builder = table(tmp_path)
    check(builder, in_threads(builder, 16, 100, task, shared=shared), 100, task)
