# SPDX-License-Identifier: Apache-2.0
"""Writers in processes of their own, on one table on HDFS: nobody is in the way of anybody, and one that is killed harms nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.programs.many_writers import Report

from bayou.spark.jvm.core.adapters import Adapters
from bayou.spark.jvm.core.bridge import Jvm
from bayou.storage import open_store, qualify
from bayou.testing.table_builder import TableBuilder

ROOT = Path(__file__).resolve().parents[2]
TASKS = ["append", "disjoint", "annotate"]
# A commit of the table below makes so many calls of Hadoop's client at most, hooks and checkpoint included.
CALLS = 60


class Process:
    """A writer in a process group of its own."""

    def __init__(self, folder, number, task="append", commits=1, **death):
        adapters = Adapters.of(Jvm.running()).load("bayou.Rule").getProtectionDomain().getCodeSource().getLocation().getPath()
        order = {"folder": folder, "adapters": adapters, "number": number, "commits": commits, "task": task, **death}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.hadoop.hdfs_writer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
            text=True,
            start_new_session=True,
        )
        self._say(json.dumps(order))

    def _say(self, line):
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def wait_until_ready(self):
        line = self._process.stdout.readline()
        assert line == "ready\n", self._process.stderr.read()

    def go(self):
        self._say("go")

    def end(self):
        """The process's exit code, the commits that it told of, and its report, if it came to that."""
        said, errors = self._process.communicate(timeout=3000)
        lines = [json.loads(line) for line in said.splitlines() if line.endswith("}")]
        reports = [Report(**line) for line in lines if "attempts" in line]
        assert self._process.returncode or reports, errors
        return self._process.returncode, [line for line in lines if "version" in line], reports[0] if reports else None


def table(folder):
    builder = TableBuilder(store=open_store(qualify(folder)))
    return builder.create(
        {"writer": "string", "x": "long"}, partition_by=["writer"], configuration={"delta.checkpointInterval": "3"}
    )


def all_at_once(folder, writers, commits, task):
    processes = [Process(folder, number, task, commits) for number in range(96, 96 + writers)]
    for process in processes:
        process.wait_until_ready()
    for process in processes:
        process.go()
    return [process.end()[2] for process in processes]


def check(builder, reports, commits, task):
    assert [report.failure for report in reports if report.failure] == []
    versions = sorted(version for report in reports for version in report.versions)
    assert versions == list(range(1, len(reports) * commits + 1))
    snapshot = builder.log().snapshot()
    assert snapshot.version == versions[-1]
    assert sorted(snapshot.files(["path"])["path"].to_pylist()) == sorted(path for report in reports for path in report.files)
    assert sorted(found.version for found in builder.log().history()) == list(range(len(versions) + 1))
    if task != "annotate":
        assert [report.conflicts for report in reports if report.conflicts] == []


@pytest.mark.parametrize("task", TASKS)
def test_processes_on_hdfs_are_not_in_each_others_way(spark, folder, task):
    builder = table(folder)
    check(builder, all_at_once(folder, 2, 8, task), 8, task)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("task", TASKS)
def test_sixteen_processes_make_a_hundred_commits_each_on_hdfs(spark, folder, task):
    builder = table(folder)
    check(builder, all_at_once(folder, 16, 100, task), 100, task)


def kill(builder, folder, number, dies_at, *, after):
    """A writer dies at a call; what it told of is there once, the table opens, and the next writer goes on."""
    before = builder.log().snapshot()
    live = set(before.files(["path"])["path"].to_pylist())
    process = Process(folder, number, commits=4, dies_at=dies_at, after=after)
    process.wait_until_ready()
    process.go()
    code, told, report = process.end()
    assert (code != 0) == (report is None)
    snapshot = builder.log().snapshot()
    found = snapshot.files(["path"])["path"].to_pylist()
    known = told[-1]["files"] if told else []
    assert len(found) == len(set(found))
    assert live.union(known) <= set(found)
    assert {path.split("/")[0] for path in set(found) - live - set(known)} <= {f"writer={number}"}
    assert len(set(found) - live - set(known)) <= 1  # the commit of which it could not tell any more
    assert sorted(entry.version for entry in builder.log().history()) == list(range(snapshot.version + 1))
    return code != 0


@pytest.mark.skipif(sys.platform == "win32", reason="kills process groups")
def test_a_writer_that_is_killed_at_a_call_of_hadoops_client_leaves_a_sound_table(spark, folder):
    builder = table(folder)
    died = [kill(builder, folder, number, dies_at, after=bool(number % 2)) for number, dies_at in enumerate((8, 10))]
    assert all(died)
    (next_writer,) = all_at_once(folder, 1, 3, "append")
    assert not next_writer.failure
    assert set(next_writer.files) <= set(builder.log().snapshot().files(["path"])["path"].to_pylist())


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.skipif(sys.platform == "win32", reason="kills process groups")
def test_a_hundred_killed_writers_leave_a_sound_table_on_hdfs(spark, folder):
    builder = table(folder)
    died = [kill(builder, folder, number, 1 + number // 2, after=bool(number % 2)) for number in range(2 * CALLS)]
    assert sum(died) >= 100
