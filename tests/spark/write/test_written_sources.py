# SPDX-License-Identifier: Apache-2.0
"""Every command that writes rows takes them from a Delta table, however its query names the table."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.tables.queried import OTHER_CATALOG, add_catalog

import bayou

ROWS = [(1, "a"), (2, "b")]
OLD = (9, "a")
SOURCES = {
    "name": "{name}",
    "qualified name": "spark_catalog.default.{name}",
    "path": "delta.`{path}`",
    "view": "{name}_view",
    "temporary view": "{name}_temporary",
    "older version": "{name} version as of 1",
    "filter": "(select * from {name} where id > 0)",
    "join": "(select a.* from {name} a join delta.`{path}` b on a.id = b.id)",
    "subquery": "(select * from delta.`{path}` where id in (select id from {name}))",
}
BARE = ("name", "qualified name", "path", "view", "temporary view")
"""The sources that `spark.table` takes as they are."""


@dataclass(frozen=True)
class Names:
    """What the sources are called."""

    name: str
    path: str

    def text(self, source):
        return SOURCES[source].format(name=self.name, path=self.path)


@pytest.fixture(scope="module")
def session(spark):
    session = bayou.enable(spark.newSession())
    add_catalog(session)
    return session


@pytest.fixture(scope="module")
def sources(session, tmp_path_factory):
    names = Names(f"source_{uuid.uuid4().hex[:8]}", str(tmp_path_factory.mktemp("source") / "table"))
    session.sql(f"create table {names.name} (id bigint, part string) using delta")
    session.sql(f"insert into {names.name} values (1, 'a'), (2, 'b')")
    session.table(names.name).write.format("delta").save(names.path)
    session.sql(f"create view {names.name}_view as select * from {names.name}")
    session.sql(f"create temporary view {names.name}_temporary as select * from delta.`{names.path}`")
    yield names
    session.sql(f"drop view {names.name}_view")
    session.sql(f"drop table {names.name}")


@pytest.fixture
def target(session):
    """A name; whatever is made of it is dropped."""
    name = f"target_{uuid.uuid4().hex[:8]}"
    yield name
    session.sql(f"drop table if exists {name}")


def frames(session, sources):
    """Each source as a DataFrame: its query, and the table as it is where it is one."""
    for source in SOURCES:
        if source in BARE:
            yield f"table: {source}", session.table(sources.text(source))
        if source not in ("qualified name", "view"):
            yield source, session.sql(f"select * from {sources.text(source)}")
    yield "load", session.read.format("delta").load(sources.path)


def make(session, name, kind):
    verb = "create or replace" if kind == "delta" else "create"
    session.sql(f"{verb} table {name} (id bigint, part string) using {kind} partitioned by (part)")
    session.sql(f"insert into {name} values (9, 'a')")


def rows_of(session, name):
    return sorted((row["id"], row["part"]) for row in session.table(name).collect())


INTO = {
    "writeTo append": (lambda frame, name: frame.writeTo(name).append(), [*ROWS, OLD]),
    "writeTo overwrite": (lambda frame, name: frame.writeTo(name).overwrite(F.col("part").isNotNull()), ROWS),
    "writeTo overwritePartitions": (lambda frame, name: frame.writeTo(name).overwritePartitions(), ROWS),
    "writeTo replace": (lambda frame, name: frame.writeTo(name).using("delta").replace(), ROWS),
    "writeTo createOrReplace": (lambda frame, name: frame.writeTo(name).using("delta").createOrReplace(), ROWS),
    "saveAsTable append": (lambda frame, name: frame.write.format("delta").mode("append").saveAsTable(name), [*ROWS, OLD]),
    "saveAsTable overwrite": (
        lambda frame, name: frame.write.format("delta").mode("overwrite").partitionBy("part").saveAsTable(name),
        ROWS,
    ),
    "saveAsTable ignore": (lambda frame, name: frame.write.format("delta").mode("ignore").saveAsTable(name), [OLD]),
    "insertInto": (lambda frame, name: frame.write.insertInto(name), [*ROWS, OLD]),
    "insertInto overwrite": (lambda frame, name: frame.write.insertInto(name, overwrite=True), ROWS),
}
NEW = {
    "writeTo create": lambda frame, name, kind: frame.writeTo(name).using(kind).partitionedBy("part").create(),
    "saveAsTable": lambda frame, name, kind: frame.write.format(kind).partitionBy("part").saveAsTable(name),
    "saveAsTable overwrite": lambda frame, name, kind: frame.write.format(kind).mode("overwrite").saveAsTable(name),
}
STATEMENTS = {
    "insert into {target} select * from {source}": [*ROWS, OLD],
    "insert into {target} by name select part, id from {source}": [*ROWS, OLD],
    "insert into {target} table {source}": [*ROWS, OLD],
    "insert overwrite {target} select * from {source}": ROWS,
    "insert into {target} replace where part = 'a' select * from {source} where part = 'a'": [(1, "a")],
    "insert into {target} partition (part = 'a') select id from {source}": [(1, "a"), (2, "a"), OLD],
    "create or replace table {target} using delta as select * from {source}": ROWS,
    "replace table {target} using delta partitioned by (part) as select * from {source}": ROWS,
    "merge into {target} using {source} s on s.id = {target}.id when not matched then insert *": [*ROWS, OLD],
    "merge into {target} t using {source} s on s.part = t.part when matched then update set id = s.id + 9": [(10, "a")],
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("command", INTO)
def test_a_writer_puts_the_rows_of_a_delta_table_into_a_delta_table(session, sources, target, command):
    run, wanted = INTO[command]
    make(session, target, "delta")
    before = [OLD]
    for source, frame in frames(session, sources):
        run(frame, target)
        before = sorted([*before, *ROWS]) if OLD in wanted and ROWS[0] in wanted else wanted
        assert rows_of(session, target) == before, source


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", ["delta", "parquet"])
@pytest.mark.parametrize("command", NEW)
def test_a_writer_makes_a_table_of_the_rows_of_a_delta_table(session, sources, target, command, kind):
    found = {}
    for source, frame in frames(session, sources):
        session.sql(f"drop table if exists {target}")
        NEW[command](frame, target, kind)
        found[source] = rows_of(session, target)
    assert found == dict.fromkeys(found, ROWS)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("command", ["saveAsTable append", "insertInto", "insertInto overwrite"])
def test_a_writer_puts_the_rows_of_a_delta_table_into_a_table_of_another_source(session, sources, target, command):
    make(session, target, "parquet")
    before = [OLD]
    for source, frame in frames(session, sources):
        if command == "saveAsTable append":
            frame.write.format("parquet").mode("append").partitionBy("part").saveAsTable(target)
        else:
            frame.write.insertInto(target, overwrite=command == "insertInto overwrite")
        before = ROWS if command == "insertInto overwrite" else sorted([*before, *ROWS])
        assert rows_of(session, target) == before, source


@pytest.mark.smoke
def test_a_writer_puts_the_rows_of_a_delta_table_into_a_table_of_another_catalog(session, sources):
    name = f"{OTHER_CATALOG}.APP.T{uuid.uuid4().hex[:8].upper()}"
    found = {}
    for source, frame in frames(session, sources):
        frame.writeTo(name).create()
        frame.writeTo(name).append()
        frame.write.mode("append").saveAsTable(name)
        frame.write.insertInto(name)
        found[source] = rows_of(session, name)
        frame.writeTo(name).overwrite(F.lit(True))
        found[f"{source}, replaced"] = [row for row in rows_of(session, name) for _ in range(4)]
        session.sql(f"drop table {name}")
    assert found == dict.fromkeys(found, sorted(ROWS * 4))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_takes_the_rows_of_a_delta_table(session, sources, target, statement):
    found = {}
    for source in SOURCES:
        text = sources.text(source)
        if " table {source}" in statement and source not in BARE:
            continue  # TABLE takes a name
        if "using {source}" in statement and source == "older version":
            text = f"(select * from {text})"  # MERGE takes no version
        make(session, target, "delta")
        session.sql(statement.format(target=target, source=text))
        found[source] = rows_of(session, target)
    assert found == dict.fromkeys(found, STATEMENTS[statement])


@pytest.mark.parametrize("verb", ["append", "overwritePartitions"])
def test_a_table_is_written_into_itself(session, target, verb):
    make(session, target, "delta")
    getattr(session.table(target).writeTo(target), verb)()
    assert rows_of(session, target) == [OLD] * (2 if verb == "append" else 1)


def test_a_stream_of_a_delta_table_goes_into_a_table_by_its_name(session, sources, target, tmp_path):
    stream = session.readStream.table(sources.name).writeStream.format("delta").option("checkpointLocation", str(tmp_path))
    stream.trigger(availableNow=True).toTable(target).awaitTermination()
    assert rows_of(session, target) == ROWS
