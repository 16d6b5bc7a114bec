# SPDX-License-Identifier: Apache-2.0
"""Write files with Spark's own writer directly to their final location.

The commit protocol of Spark's streaming file sink writes files in place, renames nothing and returns the written files. This module
runs `FileFormatWriter` with it, inside `SQLExecution`, so that the SQL tab, listeners and `observe` see the write.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
import uuid
from typing import TYPE_CHECKING

from bayou.spark.backend import WriteJob, WrittenFile, WrittenRows
from bayou.spark.jvm.catalyst.expression_list import names_of_output
from bayou.spark.jvm.core.adapters import Adapters
from bayou.spark.jvm.core.callbacks import Block
from bayou.spark.jvm.core.own_sessions import pinned_session
from bayou.spark.jvm.relations.relation import executed_plan, observed
from bayou.spark.pinned_settings import Job, for_writer, is_unset_in_hadoop
from bayou.spark.pinned_settings import values as pinned_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_STREAMING = "org.apache.spark.sql.execution.streaming"
_DATASOURCES = "org.apache.spark.sql.execution.datasources"
_OPEN_FILES = "spark.sql.maxConcurrentOutputFileWriters"
# A key of Hadoop's configuration in the string of a Java map.
_KEY = re.compile(r"(?:^\{|, )([^=]+)=")


def write_files(jvm: Jvm, frame: DataFrame, job: WriteJob) -> WrittenRows:
    """Write the rows of a DataFrame as Parquet files under a folder, in one job."""
    plan = frame._jdf.queryExecution()  # noqa: SLF001  (the bridge)
    block = Block(jvm, lambda: _run(jvm, frame, job))
    execution = jvm.module("org.apache.spark.sql.execution.SQLExecution")
    jvm.call(execution, "withNewExecutionId", plan, jvm.some("bayou write"), block)
    written: WrittenRows = block.result
    return written


def _run(jvm: Jvm, frame: DataFrame, job: WriteJob) -> WrittenRows:
    open_files = {} if job.open_files is None else {_OPEN_FILES: str(job.open_files)}
    pinned = pinned_values(Job.WRITE)
    session = pinned_session(jvm, frame.sparkSession._jsparkSession, {**pinned, **open_files})  # noqa: SLF001  (the bridge)
    # Spark requires an existing folder for the log, which keeps its entries in memory.
    log = Adapters.of(jvm).new("bayou.WrittenFiles", session, f"file:{tempfile.gettempdir()}")
    with _pinned_in_tasks(jvm, session.sparkContext(), pinned):
        _call_writer(jvm, session, frame, job, log)
        values = observed(jvm, executed_plan(frame), job.observations) if job.observations else {}
        return WrittenRows(_facts(log.text()), values)


@contextlib.contextmanager
def _pinned_in_tasks(jvm: Jvm, context: JavaObject, pinned: Mapping[str, str]) -> Iterator[None]:
    """Set the properties of the job's thread, from which tasks read some settings instead of from the session."""
    before = context.getLocalProperties()
    own = before.clone()
    own.load(jvm.static("java.io.StringReader")("".join(f"{name}={value}\n" for name, value in pinned.items())))
    context.setLocalProperties(own)
    try:
        yield
    finally:
        context.setLocalProperties(before)


def _call_writer(jvm: Jvm, session: JavaObject, frame: DataFrame, job: WriteJob, log: JavaObject) -> None:
    plan = executed_plan(frame)
    output = plan.output()
    places = {name: place for place, name in enumerate(names_of_output(jvm, output))} if job.partition_by else {}
    spec = jvm.java_class(f"{_DATASOURCES}.FileFormatWriter$OutputSpec")
    configuration = _configuration(jvm, session, job)
    jvm.call(
        jvm.module(f"{_DATASOURCES}.FileFormatWriter"),
        "write",
        session,
        plan,
        jvm.static(f"{_DATASOURCES}.parquet.ParquetFileFormat")(),
        _commit_protocol(jvm, job.root, log),
        jvm.construct(spec, job.root, jvm.scala_map({}), output),
        configuration,
        jvm.seq(output.apply(places[name]) for name in job.partition_by),
        jvm.none,
        jvm.seq([]),
        jvm.scala_map(for_writer(job.options)),
        0,
    )


def _configuration(jvm: Jvm, session: JavaObject, job: WriteJob) -> JavaObject:
    configuration = session.sessionState().newHadoopConf()
    if job.root.startswith("file:"):
        configuration = jvm.static("bayou.LocalSettings").of(configuration)
    for name, value in for_writer(job.hadoop).items():
        configuration.set(name, value)
    pinned = pinned_values(Job.WRITE)
    for name in _names_in(configuration, "parquet."):
        if is_unset_in_hadoop(name):
            configuration.unset(name)
    for name in _names_in(configuration, "spark.sql."):  # for Spark's writer these take precedence over the session
        if name in pinned:
            configuration.set(name, pinned[name])
    return configuration


def _names_in(configuration: JavaObject, prefix: str) -> list[str]:
    """Return the keys of Hadoop's configuration with a prefix, in two calls."""
    return [prefix + name for name in _KEY.findall(configuration.getPropsWithPrefix(prefix).toString())]


def _commit_protocol(jvm: Jvm, root: str, log: JavaObject) -> JavaObject:
    protocol = jvm.construct(jvm.java_class(f"{_STREAMING}.ManifestFileCommitProtocol"), str(uuid.uuid4()), root)
    protocol.setupManifestOptions(log, 0)
    return protocol


def _facts(text: str) -> list[WrittenFile]:
    facts = [json.loads(line) for line in text.split("\n")[1:] if line]  # the first line is the format's version
    return [WrittenFile(fact["path"], fact["size"], fact["modificationTime"]) for fact in facts]
