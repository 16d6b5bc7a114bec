# SPDX-License-Identifier: Apache-2.0
"""Threads of a program, and of a server, write tables by name as the program's own thread does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.tables.built import ids

import bayou
from bayou.spark.jvm.core.bridge import Jvm

THREADS = 8
WRITES = {
    "saveAsTable": lambda frame, name: frame.write.format("delta").mode("append").saveAsTable(name),
    "writeTo": lambda frame, name: frame.writeTo(name).append(),
    "insertInto": lambda frame, name: frame.write.insertInto(name),
    "INSERT": lambda frame, name: frame.sparkSession.sql(f"insert into {name} select * from {{rows}}", rows=frame),
}
SESSIONS = {
    "one session": lambda session: session,
    "sessions of their own": lambda session: session.newSession(),
    "sessions that are enabled": lambda session: bayou.enable(session.newSession()),
}


@pytest.mark.parametrize("way", WRITES)
@pytest.mark.parametrize("kind", SESSIONS)
def test_threads_append_to_a_table_by_name(spark, name, kind, way):
    spark.sql(f"create table {name} (id bigint) using delta")

    def append(number):
        WRITES[way](SESSIONS[kind](spark).range(number, number + 1), name)

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(append, range(2 * THREADS)))
    assert ids(spark.table(name)) == list(range(2 * THREADS))


@pytest.mark.smoke
def test_a_session_that_another_thread_makes_takes_nothing_from_a_thread_without_one(spark, name):
    spark.sql(f"create table {name} (id bigint) using delta")

    def append(number):
        spark.newSession()
        spark.range(number, number + 1).write.format("delta").mode("append").saveAsTable(name)

    for number in range(3):
        with ThreadPoolExecutor(1) as thread:  # one that has not run a query yet
            thread.submit(append, number).result()
    assert ids(spark.table(name)) == [0, 1, 2]


LOADERS = {
    "Spark's own": lambda jvm: jvm.java_class("org.apache.spark.sql.SparkSession").getClassLoader(),
    "one on top of Spark's own": lambda jvm: jvm.static("java.net.URLClassLoader")(
        jvm.gateway.new_array(jvm.static("java.net.URL"), 0), jvm.java_class("org.apache.spark.sql.SparkSession").getClassLoader()
    ),
}


@pytest.mark.parametrize("loader", LOADERS)
def test_a_thread_with_another_class_loader_reads_and_writes(spark, name, tmp_path, loader):
    jvm = Jvm.of(spark)
    path = str(tmp_path / "table")

    def work():
        thread = jvm.static("java.lang.Thread").currentThread()
        program = thread.getContextClassLoader()
        thread.setContextClassLoader(LOADERS[loader](jvm))
        try:
            session = spark.newSession()
            session.sql("use default")
            session.sql(f"create table {name} (id bigint) using delta")
            session.sql(f"insert into {name} values (1)")
            session.range(2, 3).write.format("delta").mode("append").saveAsTable(name)
            session.table(name).write.format("delta").save(path)
            session.sql(f"delete from {name} where id = 1")
            return ids(session.table(name)), ids(session.sql(f"select * from delta.`{path}`"))
        finally:
            thread.setContextClassLoader(program)

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(work).result() == ([2], [1, 2])
