# SPDX-License-Identifier: Apache-2.0
"""Files written by Spark's own writer straight to their final place.

Spark's streaming file sink has a commit protocol that writes files where they will stay, renames nothing and returns what it
wrote; `FileFormatWriter` is driven with it, inside `SQLExecution`, so that the SQL tab, listeners and `observe` see the write.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bayou.spark.jvm.callbacks import Block

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.spark.jvm.bridge import JavaObject, Jvm

_STREAMING = "org.apache.spark.sql.execution.streaming"
_DATASOURCES = "org.apache.spark.sql.execution.datasources"
# Spark's default, INT96, has no statistics in the footer.
_SETTINGS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
# Spark 3.5 refuses dates before 1582 unless told that they are meant as they are, as every reader of a Delta table takes them.
# Tasks read this one from the properties of the job's thread.
_REBASE = ("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that the job wrote.

    Attributes:
        uri: its absolute URI, percent-encoded.
        size: bytes.
        modification_time: milliseconds since the epoch.
    """

    uri: str
    size: int
    modification_time: int


@dataclass(frozen=True, slots=True)
class WriteJob:
    """Where and how the files are written.

    Attributes:
        root: the folder's URI, not percent-encoded.
        partition_by: the partition columns; they become folders and are not written into the files.
        options: the Parquet writer's options.
        hadoop: settings of the file system.
    """

    root: str
    partition_by: Sequence[str]
    options: Mapping[str, str]
    hadoop: Mapping[str, str]


def write_files(jvm: Jvm, frame: DataFrame, job: WriteJob) -> list[WrittenFile]:
    """Writes the rows of a DataFrame as Parquet files under a folder, in one job."""
    manifest = tempfile.mkdtemp(prefix="bayou-manifest-")
    try:
        plan = frame._jdf.queryExecution()  # noqa: SLF001  (the bridge)
        block = Block(jvm, lambda: _run(jvm, frame, job, manifest))
        execution = jvm.module("org.apache.spark.sql.execution.SQLExecution")
        jvm.call(execution, "withNewExecutionId", plan, jvm.some("bayou write"), block)
        return _written(manifest)
    finally:
        shutil.rmtree(manifest, ignore_errors=True)


def _run(jvm: Jvm, frame: DataFrame, job: WriteJob, manifest: str) -> None:
    session = frame.sparkSession._jsparkSession.cloneSession()  # noqa: SLF001  (the bridge)
    for name, value in _SETTINGS.items():
        session.conf().set(name, value)
    context = session.sparkContext()
    given = context.getLocalProperty(_REBASE[0])
    context.setLocalProperty(*_REBASE)
    try:
        _call_writer(jvm, session, frame, job, manifest)
    finally:
        context.setLocalProperty(_REBASE[0], given)


def _call_writer(jvm: Jvm, session: JavaObject, frame: DataFrame, job: WriteJob, manifest: str) -> None:
    plan = frame._jdf.queryExecution().executedPlan()  # noqa: SLF001  (the bridge)
    output = plan.output()
    attributes = {attribute.name(): attribute for attribute in jvm.list_of(output)} if job.partition_by else {}
    spec = jvm.java_class(f"{_DATASOURCES}.FileFormatWriter$OutputSpec")
    configuration = session.sessionState().newHadoopConf()
    for name, value in job.hadoop.items():
        configuration.set(name, value)
    jvm.call(
        jvm.module(f"{_DATASOURCES}.FileFormatWriter"),
        "write",
        session,
        plan,
        jvm.view.org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat(),
        _commit_protocol(jvm, session, job.root, manifest),
        jvm.construct(spec, job.root, jvm.scala_map({}), output),
        configuration,
        jvm.seq(attributes[name] for name in job.partition_by),
        jvm.none,
        jvm.seq([]),
        jvm.scala_map(dict(job.options)),
        0,
    )


def _commit_protocol(jvm: Jvm, session: JavaObject, root: str, manifest: str) -> JavaObject:
    log_class = jvm.java_class(f"{_STREAMING}.sinks.FileStreamSinkLog", f"{_STREAMING}.FileStreamSinkLog")
    log = jvm.construct(log_class, 1, session, f"file:{manifest}", jvm.none)
    protocol = jvm.construct(jvm.java_class(f"{_STREAMING}.ManifestFileCommitProtocol"), str(uuid.uuid4()), root)
    protocol.setupManifestOptions(log, 0)
    return protocol


def _written(manifest: str) -> list[WrittenFile]:
    listed = Path(manifest, "0")
    if not listed.exists():
        return []
    with listed.open(encoding="utf-8") as lines:
        next(lines)  # the format's version
        facts = [json.loads(line) for line in lines]
    return [WrittenFile(fact["path"], fact["size"], fact["modificationTime"]) for fact in facts]
