# SPDX-License-Identifier: Apache-2.0
"""The same statements by us and by delta-spark: INSERT that changes the schema, TRUNCATE, CREATE TABLE LIKE, DROP FEATURE."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest
from tests.interop.sampled import sampled

import bayou

pytestmark = pytest.mark.oracle
AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"

INSERTS = {
    "by position": ("id bigint, name string", "", "insert into {t} select 1L, 'a', 5 as more"),
    "values": ("id bigint, name string", "", "insert into {t} values (1, 'a', 9)"),
    "by name": ("id bigint, name string", "", "insert into {t} by name select 5 as more, 'a' name, 1L id"),
    "by name with a column left out": ("id bigint, name string", "", "insert into {t} by name select 1L id, 5 as more"),
    "a name that is there": ("id bigint, name string", "", "insert into {t} select 1L, 'x', 7L as id"),
    "overwrite": ("id bigint, name string", "", "insert overwrite {t} select 1L, 'a', 6 as extra"),
    "replace where": ("id bigint, name string", "", "insert into {t} replace where id = 1 select 1L, 'a', 9 as z"),
    "nested by position": ("id bigint, s struct<x: int>", "", "insert into {t} select 1L, named_struct('q', 1, 'y', 'b')"),
    "nested by name": ("id bigint, s struct<x: int>", "", "insert into {t} by name select named_struct('y', 'b', 'x', 1) s, 1L id"),
    "too few": ("id bigint, name string", "", "insert into {t} select 1L"),
    "a partition": ("id bigint, p int", "partitioned by (p)", "insert into {t} partition (p = 1) select 7L, 8 as other"),
    "a wider type": (
        "id int, d decimal(5, 2)",
        "tblproperties ('delta.enableTypeWidening' = 'true')",
        "insert into {t} select 5000000000L, cast(1.5 as decimal(8, 2))",
    ),
    "a wider type without the feature": ("id int", "", "insert into {t} select 5000000000L"),
}


def state(path):
    found = bayou.open(path).snapshot()
    return [(f.name, f.type, f.nullable) for f in found.schema.fields], found.version


def ours(spark, statement):
    """The error class, or None where the statement is carried out."""
    try:
        spark.sql(statement)
    except Exception as error:  # noqa: BLE001  (compared)
        return re.match(r"\[([A-Z_]+)", str(error))[1]
    return None


EVOLVES = ("by position", "by name", "nested by name", "a partition", "overwrite", "a wider type", "too few")


@pytest.mark.parametrize(
    "case",
    sampled([*itertools.product(INSERTS, ("false", "true")), *((insert, "clause") for insert in EVOLVES)], 3),
    ids="-".join,
)
def test_an_insert_changes_the_schema_as_delta_spark_changes_it(spark, delta_spark, tmp_path, case):
    insert, merges = case
    columns, more, statement = INSERTS[insert]
    if merges == "clause":
        merges, statement = "false", statement.replace("insert", "insert with schema evolution", 1)
    mine, their = str(tmp_path / "ours"), str(tmp_path / "theirs")
    make = f"create table {{t}} ({columns}) using delta {more}"
    spark.sql(make.format(t=f"delta.`{mine}`"))
    delta_spark.sql(make.format(t=f"delta.`{their}`"), f"set {AUTO_MERGE} = {merges}")
    spark.conf.set(AUTO_MERGE, merges)
    try:
        error = ours(spark, statement.format(t=f"delta.`{mine}`"))
    finally:
        spark.conf.unset(AUTO_MERGE)
    answer = delta_spark._ask([statement.format(t=f"delta.`{their}`")])
    delta_spark.sql(f"set {AUTO_MERGE} = false")
    if "error" in answer:
        assert error is not None
        assert error in answer["error"]
    else:
        assert error is None
    assert state(mine) == state(their)
    read = "select * from delta.`{}`"
    assert delta_spark.sql(read.format(mine)) == delta_spark.sql(read.format(their))


@pytest.mark.parametrize(
    "condition",
    ["id>0", "name <> ')' /* never */ AND`s`.x<=>1 -- the end\n", "id BETWEEN -5 AND 5.5 OR s.x IN(1,2)", "length(name)<5L"],
)
def test_a_constraint_in_sql_is_kept_as_delta_spark_keeps_it(spark, delta_spark, tmp_path, condition):
    found = []
    for path, run in ((str(tmp_path / "ours"), spark.sql), (str(tmp_path / "theirs"), delta_spark.sql)):
        table = f"delta.`{path}`"
        run(f"create table {table} (id bigint, name string, s struct<x: int>) using delta")
        run(f"insert into {table} values (1, 'a', struct(1))")
        run(f"alter table {table} add constraint `Some One` check ({condition})")
        added = bayou.open(path).history()[0]
        kept = dict(bayou.open(path).snapshot().properties)
        run(f"alter table {table} drop constraint if exists `some one`")
        dropped = bayou.open(path).history()[0]
        assert dict(bayou.open(path).snapshot().properties) == {}
        found.append((kept, *((each.operation, dict(each.operation_parameters)) for each in (added, dropped))))
    assert found[0] == found[1]


def test_a_truncated_table_is_what_delta_spark_makes_of_it(spark, delta_spark, tmp_path):
    found = []
    for path, run in ((str(tmp_path / "ours"), spark.sql), (str(tmp_path / "theirs"), delta_spark.sql)):
        table = f"delta.`{path}`"
        feeds = "tblproperties ('delta.enableChangeDataFeed' = 'true')"
        run(f"create table {table} (id bigint, p int) using delta partitioned by (p) {feeds}")
        run(f"insert into {table} values (1, 1), (2, 2)")
        run(f"truncate table {table}")
        lines = [json.loads(line) for line in Path(path, f"_delta_log/{2:020}.json").read_text().splitlines()]
        info = lines.pop(0)["commitInfo"]
        removes = sorted((each["remove"]["partitionValues"]["p"], each["remove"]["dataChange"]) for each in lines)
        found.append((info["operation"], info["operationParameters"], sorted(info["operationMetrics"]), removes))
        assert delta_spark.sql(f"select * from {table}") == []
        run(f"truncate table {table}")
        assert bayou.open(path).version() == 2
    assert found[0] == found[1]


def test_a_table_like_another_one_is_what_delta_spark_makes_of_it(spark, delta_spark, tmp_path):
    source = str(tmp_path / "source")
    delta_spark.sql(
        f"create table delta.`{source}` (id bigint not null comment 'c', name varchar(5), g int generated always as"
        " (cast(id as int)), p int default 3) using delta partitioned by (p) comment 'tc' tblproperties ("
        "'delta.feature.allowColumnDefaults' = 'supported', 'delta.enableChangeDataFeed' = 'true', 'mine' = 'x')",
        f"alter table delta.`{source}` add constraint c check (id > 0)",
        f"insert into delta.`{source}` (id, name) values (1, 'a')",
    )
    found = []
    for path, run in ((str(tmp_path / "ours"), spark.sql), (str(tmp_path / "theirs"), delta_spark.sql)):
        run(f"create table delta.`{path}` like delta.`{source}` tblproperties ('more' = 'y')")
        snapshot = bayou.open(path).snapshot()
        entry = bayou.open(path).history()[0]
        metadata, protocol = snapshot.metadata, snapshot.protocol
        found.append(
            (
                snapshot.schema,
                metadata.partition_columns,
                dict(metadata.configuration),
                metadata.description,
                (protocol.min_reader_version, protocol.min_writer_version, sorted(protocol.writer_features)),
                (entry.operation, json.loads(entry.operation_parameters["partitionBy"])),
            )
        )
        delta_spark.sql(f"insert into delta.`{path}` (id, name) values (5, 'abcde')")
        assert delta_spark.sql(f"select * from delta.`{path}`") == [["5", "abcde", "5", "3"]]
    assert found[0] == found[1]


DEFAULTS = {"appendOnly": "true", "enableDeletionVectors": "true", "checkpointInterval": "7", "feature.domainMetadata": "supported"}


@pytest.mark.parametrize("ignored", ["false", "true"])
def test_a_sessions_defaults_are_under_what_is_copied_as_delta_spark_has_it(spark, delta_spark, tmp_path, ignored):
    source = str(tmp_path / "source")
    delta_spark.sql(f"create table delta.`{source}` (id bigint) using delta tblproperties ('delta.appendOnly' = 'false')")
    settings = {f"spark.databricks.delta.properties.defaults.{key}": value for key, value in DEFAULTS.items()}
    more = f"tblproperties ('delta.checkpointInterval' = '9', 'delta.ignoreProtocolDefaults' = '{ignored}')"
    found = []
    for path, run in ((str(tmp_path / "ours"), spark.sql), (str(tmp_path / "theirs"), delta_spark.sql)):
        for name, value in settings.items():
            run(f"set {name} = {value}")
        try:
            run(f"create table delta.`{path}` like delta.`{source}` {more}")
        finally:
            for name in settings:
                run(f"reset {name}")
        snapshot = bayou.open(path).snapshot()
        protocol = {key: sorted(each) if isinstance(each, list) else each for key, each in snapshot.protocol.to_json().items()}
        found.append((dict(snapshot.metadata.configuration), protocol))
    assert found[0] == found[1]
    assert found[0][0]["delta.enableDeletionVectors"] == "true"


DROPS = {
    "deletionVectors": ["delete from {t} where id < 4"],
    "columnMapping": ["alter table {t} rename column s.x to z"],
    "typeWidening": ["alter table {t} alter column v type bigint"],
}


@pytest.mark.parametrize("case", sampled(list(itertools.product(("false", "true"), DROPS)), 2), ids="-".join)
def test_delta_spark_reads_on_after_a_feature_was_dropped_with_a_rewrite(spark, delta_spark, tmp_path, case):
    tracks, feature = case
    path = str(tmp_path / "t")
    table = f"delta.`{path}`"
    asked = {
        "deletionVectors": "'delta.enableDeletionVectors' = 'true'",
        "columnMapping": "'delta.columnMapping.mode' = 'name'",
        "typeWidening": "'delta.enableTypeWidening' = 'true'",
    }
    delta_spark.sql(
        f"create table {table} (id bigint, v int, s struct<x: int>, p string) using delta partitioned by (p)"
        f" tblproperties ({asked[feature]}, 'delta.enableRowTracking' = '{tracks}')",
        f"insert into {table} select id, cast(id as int), struct(1), concat('p', id % 2) from range(0, 20, 1, 2)",
        *(each.format(t=table) for each in DROPS[feature]),
    )
    columns = "*, _metadata.row_id, _metadata.row_commit_version" if tracks == "true" else "*"
    before = delta_spark.sql(f"select {columns} from {table} order by id")
    bayou.DeltaTable.forPath(spark, path).dropFeatureSupport(feature)
    assert delta_spark.sql(f"select {columns} from {table} order by id") == before
    features = delta_spark.sql(f"describe detail {table}")[0][-1]
    assert feature not in features
    delta_spark.sql(f"insert into {table} values (100, 1, struct(2), 'p0')", f"update {table} set v = 7 where id = 5")
    assert len(delta_spark.sql(f"select * from {table}")) == len(before) + 1
    assert bayou.read(spark, path).where("v = 7 and id = 5").count() == 1
