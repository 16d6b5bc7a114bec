# SPDX-License-Identifier: Apache-2.0
"""Long operations on a terminal: what they show of Spark's jobs, and that they cost nothing where nobody looks."""

from __future__ import annotations

import contextlib
import io
import re
import threading
from types import SimpleNamespace

import pytest
from tests.support.observing import py4j_calls

import bayou
from bayou.errors import ConstraintViolationError
from bayou.spark.dml.core import commit
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.job_tasks import ConsoleBar, JobTasks
from bayou.spark.session import progress
from bayou.spark.session.progress import SETTING, Display
from bayou.spark.task_counts import Tasks
from bayou.spark.write import writer

progress_line = pytest.importorskip("bayou.spark.session.progress_line")


@pytest.fixture
def terminal(spark, monkeypatch):
    """Stderr of a session that shows every operation, however short."""
    text = io.StringIO()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress_line, "sys", SimpleNamespace(stderr=text))  # pytest puts its own back before each test
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0)
    monkeypatch.setattr(progress, "INTERVAL_SECONDS", 0.01)
    spark.conf.set(SETTING, "on")
    yield text
    spark.conf.set(SETTING, "off")


@pytest.fixture
def phases(monkeypatch):
    """The operations that were shown, and the phases that they named."""
    seen = []
    start, phase = Display.start, Display.phase

    def started(display):
        seen.append(display._name)
        start(display)

    def named(display, name):
        seen.append(name)
        phase(display, name)

    monkeypatch.setattr(Display, "start", started)
    monkeypatch.setattr(Display, "phase", named)
    return seen


def threads():
    return [each.name for each in threading.enumerate() if each.name.startswith("bayou-progress")]


def taken(phases):
    found = list(phases)
    phases.clear()
    return found


def make(spark, path, **properties):
    bayou.write(spark.range(100).selectExpr("id", "id % 7 as v"), path, **properties)
    return bayou.DeltaTable.forPath(spark, path)


def merged(spark, table):
    """A MERGE whose source takes a while, so that the line is drawn."""
    waits = "if(id % 100 = 0, length(java_method('java.lang.Thread', 'sleep', 300L)), 1L)"
    source = spark.range(0, 200, 1, 3).selectExpr("id", f"{waits} as v").alias("s")
    return table.alias("t").merge(source, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


def test_a_merge_shows_its_phases_and_tasks_and_leaves_nothing(spark, table_path, terminal, phases):
    table = make(spark, table_path)
    taken(phases)
    context = spark.sparkContext
    context.setJobGroup("mine", "a group of the user's")
    context.addJobTag("mine")
    try:
        assert merged(spark, table).num_affected_rows == 200
        assert context.getLocalProperty("spark.jobGroup.id") == "mine"
        assert list(context.getJobTags()) == ["mine"]
    finally:
        context.clearJobTags()
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)
    assert taken(phases) == ["MERGE table", "reading the source", "MERGE table", "finding rows", "writing", "committing"]
    drawn = re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", terminal.getvalue())
    assert re.search(r"MERGE table +(reading the source|finding rows|writing) .* \d+/\d+ tasks +\d+ s", drawn), drawn
    assert re.search(r"\rMERGE table: version 1, 100 updated, 100 inserted, \d+\.\d s\n$", drawn), drawn
    assert not threads()


def test_each_operation_names_what_it_does(spark, table_path, terminal, phases):
    table = make(spark, table_path, **{"delta.enableDeletionVectors": "true"})
    assert taken(phases) == ["WRITE table", "writing", "committing"]
    table.addConstraint("small", "v < 10")
    assert taken(phases) == ["ADD CONSTRAINT table", "checking rows", "committing"]
    spark.sql(f"DELETE FROM delta.`{table_path}` WHERE v = 3")
    assert taken(phases) == ["DELETE table", "finding rows", "marking rows", "committing"]
    table.update("v = 4", {"v": "5"})
    assert taken(phases) == ["UPDATE table", "finding rows", "writing", "marking rows", "committing"]
    with pytest.raises(ConstraintViolationError):
        table.update("v = 5", {"v": "50"})
    assert taken(phases) == ["UPDATE table", "finding rows", "writing"]
    assert not threads()
    table.dropFeatureSupport("deletionVectors")
    found = taken(phases)
    assert (found[0], found[-1]) == ("DROP FEATURE table", "committing")
    assert "writing" in found
    assert not [phase for phase in found if phase.startswith("REORG")]
    assert not threads()


def test_what_is_not_shown_asks_the_jvm_nothing_and_starts_no_thread(spark, tmp_path, phases, monkeypatch):
    paths = [str(tmp_path / str(number)) for number in range(3)]
    for path in paths:
        make(spark, path)

    def calls(path):
        with py4j_calls(spark) as counted:
            bayou.write(spark.range(3).selectExpr("id", "id as v"), path, mode="append")
            bayou.DeltaTable.forPath(spark, path).delete("id = 3")
        return counted.value

    calls(paths[0])  # what is looked up once is not to be counted
    not_shown = calls(paths[1])
    for module in (writer, commit):
        monkeypatch.setattr(module, "operation", lambda *_: contextlib.nullcontext())
    assert calls(paths[2]) == not_shown
    assert not phases


def test_tasks_are_those_of_the_thread_s_jobs_since_it_began_to_count(spark):
    context = spark.sparkContext
    tasks = JobTasks(spark)
    context.parallelize(range(8), 5).count()
    tasks.begin()
    context.parallelize(range(8), 3).count()
    other = threading.Thread(target=lambda: context.parallelize(range(8), 7).count())
    other.start()
    other.join()
    context._jsc.sc().listenerBus().waitUntilEmpty()
    assert tasks.count() == Tasks(3, 3, is_running=False)
    tasks.begin()
    assert tasks.count() == Tasks()
    context.parallelize(range(8), 2).count()
    context._jsc.sc().listenerBus().waitUntilEmpty()
    assert tasks.count() == Tasks(2, 2, is_running=False)
    assert not tasks.are_drawn_by_spark
    tasks.end()
    assert not context.getJobTags()


@pytest.fixture
def bar(spark):
    """A bar of Spark's: the session of the tests has none."""
    jvm = Jvm.of(spark)
    made = jvm.construct(jvm.java_class("org.apache.spark.ui.ConsoleProgressBar"), jvm.context)
    yield made
    made.stop()


def milliseconds(bar, name):
    field = bar.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.getLong(bar)


@pytest.mark.smoke
def test_spark_draws_its_bar_again_later_than_the_line_is_drawn(bar):
    java = SimpleNamespace(progressBar=lambda: SimpleNamespace(get=lambda: bar))
    session = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: java)))
    assert milliseconds(bar, "lastFinishTime") == 0
    ConsoleBar(session).clear()
    assert milliseconds(bar, "lastFinishTime") > 0
    assert milliseconds(bar, "firstDelayMSec") > 1500 * progress.INTERVAL_SECONDS


def test_operations_on_the_log_and_on_files_have_a_closing_line(spark, table_path, tmp_path, terminal, monkeypatch):
    table, closed = make(spark, table_path), []
    close = Display.close

    def noted(display, *, succeeded=False):
        closed.append((display._name, display.outcome, succeeded))
        close(display, succeeded=succeeded)

    monkeypatch.setattr(Display, "close", noted)
    bayou.write(spark.range(1).selectExpr("id", "id as v"), table_path, mode="append")
    spark.range(1).coalesce(1).write.parquet(str(tmp_path / "folder"))
    closed.clear()
    table.optimize().executeCompaction()
    table.restoreToVersion(0)
    table.vacuum(dry_run=True)
    table.clone(str(tmp_path / "copy"))
    table.computeStatistics()
    table.checkpoint()
    table.generate("symlink_format_manifest")
    bayou.DeltaTable.convertToDelta(spark, f"parquet.`{tmp_path}/folder`")
    bayou.DeltaTable.forPath(spark, str(tmp_path / "folder")).vacuum()
    texts = [f"{name}: {re.sub(r'[0-9.,]+ (B|KiB)', 'SIZE', outcome)}" for name, outcome, succeeded in closed if succeeded]
    files = len(bayou.open(table_path).snapshot(0).files())
    assert texts == [
        f"OPTIMIZE table: version 2, 1 file added, {files + 1} files removed",
        f"RESTORE table: version 3, {files} files restored, 1 file removed",
        "VACUUM table: would delete 0 files and folders, SIZE",
        f"CLONE copy: version 0, {files} files copied",
        f"COMPUTE STATS table: 0 of {files} files updated",
        "CHECKPOINT table: ",
        "GENERATE table: ",
        "CONVERT folder: 1 file",
        "VACUUM folder: deleted 0 files and folders, SIZE",
    ]
