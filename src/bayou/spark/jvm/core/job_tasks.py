# SPDX-License-Identifier: Apache-2.0
"""Report the progress of the jobs that one thread started. A tag finds the jobs; the job group stays the user's."""

from __future__ import annotations

import uuid
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bayou.spark.task_counts import Tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject


class JobTasks:
    """Counts the tasks of the jobs that a thread starts after `begin`. Another thread reads the count.

    It reads Spark's own store of jobs, which exists also without the web UI and omits jobs that it has dropped.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self._tag = ""
        self._finished: dict[int, Tasks] = {}

    def begin(self) -> None:
        """Start counting the jobs of this thread from here."""
        self.end()
        tag = f"bayou-{uuid.uuid4().hex}"
        self._context.addJobTag(tag)
        self._tag = tag

    def end(self) -> None:
        """Stop counting. Call it on the thread that began."""
        if self._tag:
            self._context.removeJobTag(self._tag)
            self._tag = ""

    @cached_property
    def are_drawn_by_spark(self) -> bool:
        """Whether Spark draws a progress bar on the terminal (`spark.ui.showConsoleProgress`)."""
        return bool(self._java.progressBar().isDefined())

    def count(self) -> Tasks:
        """Return the tasks so far."""
        tasks_of_jobs = [self._of_job(job) for job in self._jobs()]
        return Tasks(
            sum(tasks.done for tasks in tasks_of_jobs),
            sum(tasks.total for tasks in tasks_of_jobs),
            any(tasks.is_running for tasks in tasks_of_jobs),
            sum(tasks.rows for tasks in tasks_of_jobs),
            sum(tasks.size_bytes for tasks in tasks_of_jobs),
        )

    @cached_property
    def _java(self) -> JavaObject:
        return self._context._jsc.sc()  # noqa: SLF001  (the bridge)

    @cached_property
    def _view(self) -> Any:
        return self._context._jvm  # noqa: SLF001  (the bridge would load PySpark even if no progress is shown)

    def _jobs(self) -> list[int]:
        ids = self._java.statusTracker().getJobIdsForTag(self._tag)
        text: str = self._view.java.util.Arrays.toString(ids)  # one call for all of them
        return [int(number) for number in text.strip("[]").split(",") if number]

    def _of_job(self, job: int) -> Tasks:
        if job not in self._finished:
            data = self._java.statusStore().job(job)
            is_running = not data.completionTime().isDefined()
            rows, size_bytes = self._volume(data)
            tasks = Tasks(data.numCompletedIndices(), data.numTasks() - data.numSkippedTasks(), is_running, rows, size_bytes)
            if is_running:
                return tasks
            self._finished[job] = tasks
        return self._finished[job]

    def _volume(self, job: JavaObject) -> tuple[int, int]:
        """Return the rows that a job has written and the bytes that it has read. Stages that Spark has dropped do not count."""
        from bayou.spark.jvm.gateway import Py4JJavaError  # noqa: PLC0415  (this module must not load py4j if no progress is shown)

        rows = size_bytes = 0
        for stage in filter(None, job.stageIds().mkString(",").split(",")):
            try:
                data = self._java.statusStore().lastStageAttempt(int(stage))
            except Py4JJavaError:
                continue
            rows += data.outputRecords()
            size_bytes += data.inputBytes()
        return rows, size_bytes


class ConsoleBar:
    """Spark's own progress bar (`spark.ui.showConsoleProgress`), if the application has one."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext

    def clear(self) -> None:
        """Erase the bar. Spark redraws it after half a second at the earliest, if stages are running.

        Spark does the same after each job. Frequent calls keep the bar away without changing a setting.

        Source: `finishAll` and `firstDelayMSec` of Spark's `ConsoleProgressBar`, the same from Spark 3.5 to 4.3.
        """
        self._bar.finishAll()

    @cached_property
    def _bar(self) -> JavaObject:
        return self._context._jsc.sc().progressBar().get()  # noqa: SLF001  (the bridge)
