# SPDX-License-Identifier: Apache-2.0
"""A session whose own catalog is somebody else's: Delta tables are bayou's on top of it, all else is that catalog's."""

from __future__ import annotations

import contextlib

import pytest
from pyspark.errors import PySparkException
from tests.scenarios.spark.sessions.session_catalogs import PACKAGE, compile_catalogs, notes_of, session_with
from tests.support.tables.built import ids
from tests.support.tables.queried import log_of

import bayou
from bayou.errors import UnsupportedFeatureError
from bayou.spark.jvm.core.bridge import Jvm

SETTING = "spark.sql.catalog.spark_catalog"


@pytest.fixture(scope="module", autouse=True)
def catalogs(spark, tmp_path_factory):
    before = spark._jsparkSession.sharedState().conf().get(SETTING)
    compile_catalogs(spark, tmp_path_factory.mktemp("catalogs"))
    yield
    spark._jsparkSession.sharedState().conf().set(SETTING, before)


@pytest.fixture(params=["Delegating", "Staging", "Plain"])
def catalog(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["fresh", "loaded"])
def session(spark, catalog, request):
    found = session_with(spark, catalog, mark="given")
    if request.param:
        found.sql("show tables").collect()
    return bayou.enable(found)


def partitions_of(session, name):
    return log_of(session, name).snapshot().partition_columns


@pytest.mark.smoke
def test_partitioned_tables_are_partitioned_in_the_log(session, name):
    rows = session.range(4).selectExpr("id", "id % 2 p")
    rows.write.format("delta").partitionBy("p").saveAsTable(name)
    assert list(partitions_of(session, name)) == ["p"]
    session.sql(f"create or replace table {name} using delta partitioned by (id) as select id, 1 p from range(3)")
    assert list(partitions_of(session, name)) == ["id"]
    rows.writeTo(name).using("delta").partitionedBy("p").createOrReplace()
    assert list(partitions_of(session, name)) == ["p"]
    assert ids(session.table(name)) == [0, 1, 2, 3]


@pytest.mark.in_turn(2)
def test_statements_on_delta_tables_work(session, name, tmp_path):
    session.sql(f"create table {name} (id bigint, v int) using delta location '{tmp_path / 't'}'")
    session.sql(f"insert into {name} values (1, 1), (2, 2)")
    session.range(3, 5).selectExpr("id", "9 v").writeTo(name).append()
    session.table(name).where("id = 4").selectExpr("id + 1 id", "v").write.mode("append").format("delta").saveAsTable(name)
    assert tuple(session.sql(f"delete from {name} where id = 1").first()) == (1,)
    session.sql(f"update {name} set v = 0 where id = 2")
    session.sql(f"merge into {name} t using (select 2L id, 7 v) s on s.id = t.id when matched then update set *")
    session.sql(f"insert into delta.`{tmp_path / 't'}` values (9, 9)")
    session.sql(f"alter table {name} add columns (more string)")
    assert ids(session.table(name)) == [2, 3, 4, 5, 9]
    assert session.sql(f"select count(*) from {name} version as of 1").first()[0] == 2
    session.sql(f"truncate table {name}")
    session.sql(f"create or replace table {name} (x int) using delta location '{tmp_path / 't'}'")
    assert session.table(name).columns == ["x"]


@pytest.mark.parametrize("provider", ["parquet", "json"])
def test_tables_of_other_sources_are_read_and_written(session, name, provider):
    session.sql(f"create table {name} (id bigint) using {provider}")
    session.sql(f"insert into {name} values (1)")
    assert ids(session.table(name)) == [1]
    session.sql(f"drop table {name}")
    session.sql(f"create table {name} using {provider} as select 2L id")
    assert ids(session.table(name)) == [2]
    session.range(3, 4).write.format(provider).mode("overwrite").saveAsTable(name)
    assert ids(session.table(name)) == [3]


def test_the_other_catalog_makes_the_tables_that_are_not_of_delta(session, catalog, name):
    before = len(notes_of(session, catalog))
    for statement in ("create table", "create or replace table"):  # of a source that has no tables in catalogs
        with contextlib.suppress(PySparkException):
            session.sql(f"{statement} {name} using noop")
    notes = notes_of(session, catalog)[before:]
    assert ("stage noop" if catalog == "Staging" else "create noop") in notes
    session.sql(f"drop table if exists {name}")
    session.sql(f"create table {name} (id bigint) using delta")
    assert not any(each.endswith(" delta") for each in notes_of(session, catalog))


def test_the_other_catalog_has_its_options_and_its_interfaces(session, catalog):
    session.sql("show tables").collect()
    current = session._jsparkSession.sessionState().catalogManager().currentCatalog()
    assert Jvm.of(session).loader.loadClass(f"{PACKAGE}.Extra").isInstance(current)
    assert "initialize given" in notes_of(session, catalog)


def test_sessions_made_of_such_a_session_have_both(session, name):
    other = session.newSession()
    other.range(2).selectExpr("id", "1 v").write.format("delta").partitionBy("id").saveAsTable(name)
    assert list(partitions_of(session, name)) == ["id"]
    assert bayou.enable(other) is other


@pytest.mark.parametrize("catalog", ["Sealed", "Alone"])
def test_a_catalog_that_nothing_goes_on_top_of_is_told_of_once_and_no_partitions_get_lost(spark, catalog, name, table_path):
    session = session_with(spark, catalog)
    with pytest.warns(UserWarning, match=rf"(?s){catalog}.*CREATE TABLE.*Next: "):
        bayou.enable(session)
    assert bayou.enable(session) is session
    assert session.conf.get(SETTING) == f"{PACKAGE}.{catalog}"
    bayou.write(session.range(2), table_path)
    assert ids(session.read.format("delta").load(table_path)) == [0, 1]
    if catalog == "Sealed":
        writer = session.range(4).selectExpr("id", "id % 2 p").write.format("delta").partitionBy("p")
        with pytest.raises(UnsupportedFeatureError, match=r"partition columns \(p\)"):
            writer.saveAsTable(name)
        with pytest.raises(PySparkException):
            session.table(name)
        session.range(2).write.format("delta").saveAsTable(name)
        assert ids(session.table(name)) == [0, 1]
