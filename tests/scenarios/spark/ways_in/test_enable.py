# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from tests.support.observing import py4j_calls
from tests.support.processes import ask
from tests.support.tables.built import ids, numbers_table

import bayou
from bayou.errors import SessionError
from bayou.spark.enable import enable
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.session.session_transaction import LAST_VERSION

CALLS = 112
"""What enabling a session for the first time may ask of the JVM, the adapters compiled or not; Spark 4.3 takes some 110 calls."""
AGAIN = 4
"""What enabling a session that is enabled may ask of the JVM: whether the rule is there, and which catalog."""
VERBS = {
    "SELECT": "select * from delta.`{path}`",
    "count": "select count(*) from delta.`{path}`",
    "subquery": "select 1 where exists (select * from delta.`{path}`)",
    "INSERT SELECT": "insert into t select * from delta.`{path}`",
    "CREATE VIEW": "create or replace temp view v as select * from delta.`{path}`; select * from v",
    "CACHE TABLE": "cache table c as select * from delta.`{path}`",
}


def settings_of(spark):
    return {row["key"]: row["value"] for row in spark.sql("set").collect()}


def rules_of(spark):
    rules = spark._jsparkSession.experimental().extraOptimizations()
    return [rules.apply(i).ruleName() for i in range(rules.size())]


@pytest.fixture
def session_without_rule(spark):
    session = spark.newSession()
    session.range(1).collect()  # the rule comes with a session's first query
    getattr(session._jsparkSession.experimental(), "extraOptimizations_$eq")(Jvm.of(session).seq([]))
    yield session
    for entry in session.catalog.listTables():
        session.catalog.dropTempView(entry.name)


@pytest.mark.smoke
def test_enabling_again_installs_no_second_rule_and_returns_the_session(spark):
    assert bayou.enable(spark) is spark
    assert bayou.enable(spark) is spark
    assert rules_of(spark).count("bayou") == 1


def test_rules_that_a_user_put_on_the_session_stay(spark):
    session = spark.newSession()
    jvm = Jvm.of(session)
    rule = jvm.module("org.apache.spark.sql.catalyst.optimizer.CollapseRepartition")
    getattr(session._jsparkSession.experimental(), "extraOptimizations_$eq")(jvm.seq([rule]))
    enable(session)
    assert len(rules_of(session)) == 2
    assert rules_of(session)[1] == "bayou"


@pytest.mark.smoke
def test_enabling_reading_and_writing_change_no_setting_but_tell_of_the_last_commit(spark, table_path):
    session = spark.newSession()
    before = settings_of(session)
    enable(session)
    session.range(10).write.format("delta").save(table_path)
    assert session.read.format("delta").load(table_path).where("id > 5").count() == 4
    bayou.write(session.range(3), table_path, mode="append")
    bayou.DeltaTable.forPath(session, table_path).history().collect()
    after = settings_of(session)
    assert after.pop(LAST_VERSION) == "1"
    assert after == {key: value for key, value in before.items() if key != LAST_VERSION}


@pytest.mark.smoke
def test_reading_on_a_session_without_the_rule_is_refused_and_says_what_to_do(session_without_rule, table_path):
    numbers_table(table_path, [1, 2])
    with pytest.raises(SessionError, match=r"bayou\.enable\(session\)") as caught:
        session_without_rule.read.format("delta").load(table_path).collect()
    assert isinstance(caught.value, PySparkException)
    assert "\n\tat " not in str(caught.value)


@pytest.mark.parametrize("verb", VERBS)
def test_no_sql_verb_reads_a_table_on_a_session_without_the_rule(session_without_rule, table_path, tmp_path, verb):
    numbers_table(table_path, [1, 2])
    session = session_without_rule
    if verb == "INSERT SELECT":
        session.sql(f"create table t (id long) using parquet location '{tmp_path / 't'}'")
    *first, last = VERBS[verb].format(path=table_path).split("; ")
    for statement in first:
        session.sql(statement)
    try:
        with pytest.raises(SessionError, match=r"bayou\.enable\(session\)"):
            session.sql(last).collect()
    finally:
        session.sql("drop table if exists t")


@pytest.mark.parametrize(
    ("statement", "operation"),
    [
        ("truncate table {name}", "TRUNCATE"),
        ("merge into {name} t using (select explode(array(1L, 2L)) id) s on t.id = s.id when matched then delete", "MERGE"),
        ("update {name} set id = id + 10", "UPDATE"),
        ("delete from {name} where id < 5", "DELETE"),
    ],
    ids=["truncate", "merge", "update", "delete"],
)
def test_these_go_through_the_log_on_a_session_without_the_rule_too(
    session_without_rule, table_path, tmp_path, statement, operation
):
    numbers_table(table_path, [1, 2])
    name = f"emptied_{operation.lower()}_{tmp_path.name.replace('-', '_')}"
    session_without_rule.sql(f"create table {name} using delta location '{table_path}'")
    try:
        session_without_rule.sql(statement.format(name=name))
        assert next(iter(bayou.open(table_path).history())).operation == operation
        assert ids(bayou.read(enable(session_without_rule), table_path)) == ([11, 12] if operation == "UPDATE" else [])
    finally:
        session_without_rule.sql(f"drop table {name}")


def test_an_insert_on_a_session_without_the_rule_is_refused_and_says_what_to_do(session_without_rule, table_path, tmp_path):
    numbers_table(table_path, [1, 2])
    name = "inserted_" + tmp_path.name.replace("-", "_")
    session_without_rule.sql(f"create table {name} using delta location '{table_path}'")
    for statement in (f"insert into {name} values (3)", f"insert overwrite {name} values (4)"):
        with pytest.raises(SessionError, match=r"bayou\.enable\(session\)"):
            session_without_rule.sql(statement)
    session_without_rule.sql(f"drop table {name}")
    assert ids(bayou.read(enable(session_without_rule), table_path)) == [1, 2]


def test_enabling_again_asks_the_jvm_for_next_to_nothing(spark):
    enable(spark)
    with py4j_calls(spark) as calls:
        enable(spark)
    assert calls.value <= AGAIN


@pytest.mark.smoke
def test_a_session_that_is_made_of_an_enabled_one_is_enabled(spark, table_path):
    numbers_table(table_path, [1, 2])
    assert ids(spark.newSession().read.format("delta").load(table_path)) == [1, 2]


@pytest.mark.smoke
def test_enabling_a_new_session_makes_it_work(session_without_rule, table_path):
    numbers_table(table_path, [1, 2])
    assert ids(enable(session_without_rule).read.format("delta").load(table_path)) == [1, 2]


@pytest.mark.smoke
def test_enabling_asks_the_jvm_little_and_loads_nothing_that_only_tables_need(tmp_path):
    found = ask(str(Path(__file__).with_name("enabling_costs.py")), str(tmp_path))
    assert found["calls"] <= CALLS
    assert found["loaded"] == []
