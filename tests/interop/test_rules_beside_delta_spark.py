# SPDX-License-Identifier: Apache-2.0
"""Tables with rules for their rows: delta-spark makes them, we append, it reads and goes on, and we read on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.interop.sampled import sampled

import bayou
from bayou.errors import ConstraintViolationError, DeltaError

pytestmark = pytest.mark.oracle

SUPPORTED = "'supported'"
# How delta-spark makes the table, what we append, what it appends, and a row that both refuse.
TABLES = {
    "checks": {
        "make": [
            "create table {t} (id bigint, name string) using delta",
            "alter table {t} add constraint positive check (id >= 0)",
            "alter table {t} add constraint short check (length(name) < 5)",
        ],
        "ours": "select id, cast(id as string) name from range(3)",
        "theirs": "values (10, 'x')",
        "bad": "select -1L id, 'x' name",
        "error": "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
    },
    "not null": {
        "make": ["create table {t} (id bigint not null, s struct<x: int not null, y: int>) using delta"],
        "ours": "select id, struct(1 as x, 2 as y) s from range(3)",
        "theirs": "values (10, struct(1, 2))",
        "bad": "select cast(null as bigint) id, struct(1 as x, 2 as y) s",
        "error": "DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
    },
    "generated": {
        "make": [
            "create table {t} (at timestamp, day date generated always as (cast(at as date))) using delta partitioned by (day)"
        ],
        "ours": "select timestamp'2024-01-02 03:04:05' at",
        "theirs": "values (timestamp'2024-02-02 03:04:05', date'2024-02-02')",
        "bad": "select timestamp'2024-01-02 03:04:05' at, date'2020-01-01' day",
        "error": "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
    },
    "identity": {
        "make": ["create table {t} (k bigint generated always as identity (start with 5 increment by 2), v string) using delta"],
        "ours": "select cast(id as string) v from range(20)",
        "theirs": "(v) values ('mine'), ('too')",
        "distinct": "k",
    },
    "default": {
        "make": [
            (
                "create table {t} (a int, b string default 'none') using delta"
                " tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
            ),
        ],
        "ours": "select 1 a",
        "theirs": "(a) values (2)",
    },
    "materialized partitions": {
        "make": [
            (
                "create table {t} (id bigint, p string) using delta partitioned by (p)"
                " tblproperties ('delta.feature.materializePartitionColumns' = 'supported')"
            ),
        ],
        "ours": "select id, concat('p/', id) p from range(3)",
        "theirs": "values (10, 'x')",
    },
    "mapping by name": {
        "make": [
            (
                "create table {t} (`a b` int, s struct<`x y`: int, z: array<struct<q: int>>>, p string)"
                " using delta partitioned by (p) tblproperties ('delta.columnMapping.mode' = 'name')"
            ),
            "insert into {t} values (0, struct(1, array(struct(2))), 'p0')",
            "alter table {t} rename column `a b` to c",
            "alter table {t} add column d int",
        ],
        "ours": "select 1 c, struct(2 as `x y`, array(struct(3 as q)) as z) s, 'p 1' p, 7 d",
        "theirs": "values (5, struct(6, array(struct(7))), 'p1', 8)",
    },
    "mapping by id": {
        "make": [
            "create table {t} (a int, m map<string, struct<q: int>>) using delta tblproperties ('delta.columnMapping.mode' = 'id')"
        ],
        "ours": "select 1 a, map('k', struct(3 as q)) m",
        "theirs": "values (5, map('l', struct(6)))",
    },
    "row tracking": {
        "make": [
            "create table {t} (a bigint) using delta tblproperties ('delta.enableRowTracking' = 'true')",
            "insert into {t} values (100)",
        ],
        "ours": "select id a from range(10)",
        "theirs": "values (5)",
        "also": "select count(distinct _metadata.row_id), count(*), max(_metadata.row_commit_version) from {t}",
        "gives": [["12", "12", "3"]],
    },
    "change data feed": {
        "make": ["create table {t} (a bigint) using delta tblproperties ('delta.enableChangeDataFeed' = 'true')"],
        "ours": "select id a from range(3)",
        "theirs": "values (5)",
        "also": "select a, _change_type, _commit_version from table_changes_by_path('{p}', 0) order by a",
        "gives": [["0", "insert", "1"], ["1", "insert", "1"], ["2", "insert", "1"], ["5", "insert", "2"]],
    },
    "varchar": {
        "make": ["create table {t} (v varchar(3), c char(3)) using delta"],
        "ours": "select 'abc' v, 'xyz' c",
        "theirs": "values ('d', 'uvw')",
        "bad": "select 'abcd' v, 'xyz' c",
        "error": "DELTA_EXCEED_CHAR_VARCHAR_LIMIT",
    },
    "type widening": {
        "make": [
            "create table {t} (a int) using delta tblproperties ('delta.enableTypeWidening' = 'true')",
            "insert into {t} values (1)",
            "alter table {t} alter column a type bigint",
        ],
        "ours": "select 5000000000L a",
        "theirs": "values (7)",
    },
    "in-commit timestamps": {
        "make": ["create table {t} (a bigint) using delta tblproperties ('delta.enableInCommitTimestamps' = 'true')"],
        "ours": "select id a from range(3)",
        "theirs": "values (5)",
    },
    "variant": {
        "make": ["create table {t} (v variant, n timestamp_ntz) using delta"],
        "ours": "select parse_json('{{\"a\":1}}') v, timestamp_ntz'2024-01-02 03:04:05' n",
        "theirs": "values (parse_json('2'), timestamp_ntz'2024-01-02 03:04:06')",
        "show": "cast(v as string), n",
    },
    "deletion vectors": {
        "make": [
            "create table {t} (a bigint) using delta tblproperties ('delta.enableDeletionVectors' = 'true')",
            "insert into {t} select id from range(10)",
            "delete from {t} where a = 3",
        ],
        "ours": "select 77L a",
        "theirs": "values (5)",
    },
    "legacy version 6": {
        "make": [
            "create table {t} (a bigint) using delta tblproperties ('delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '6')"
        ],
        "ours": "select id a from range(3)",
        "theirs": "values (5)",
    },
}


def texts(rows):
    return sorted([None if value is None else str(value) for value in row] for row in rows)


@pytest.mark.parametrize("kind", sampled(TABLES, 3))
def test_we_append_to_its_table_and_it_goes_on(delta_spark, spark, tmp_path, kind):
    case = TABLES[kind]
    path = str(tmp_path / "t")
    name = f"delta.`{path}`"
    delta_spark.sql(*(each.format(t=name) for each in case["make"]), "select 1")
    rows = spark.sql(case["ours"].replace("{{", "{").replace("}}", "}"))
    rows.write.format("delta").mode("append").save(path)
    if "bad" in case:
        before = bayou.open(path).version()
        with pytest.raises(DeltaError) as caught:
            spark.sql(case["bad"]).write.format("delta").mode("append").save(path)
        assert isinstance(caught.value, ConstraintViolationError)
        assert caught.value.getErrorClass() == case["error"]
        columns = ", ".join(f"`{each}`" for each in spark.sql(case["bad"]).columns)
        assert case["error"] in delta_spark.refused(f"insert into {name} ({columns}) {case['bad']}")
        assert bayou.open(path).version() == before
    delta_spark.sql(f"insert into {name} {case['theirs']}", "select 1")
    shown = case.get("show", "*")
    found = texts(delta_spark.sql(f"select to_json(struct({shown})) from {name}"))
    ours = texts(spark.read.format("delta").load(path).selectExpr(f"to_json(struct({shown}))").collect())
    assert ours == found
    if "distinct" in case:
        keys = [json.loads(row[0])[case["distinct"]] for row in found]
        assert len(keys) == len(set(keys))
    if "also" in case:
        assert texts(delta_spark.sql(case["also"].format(t=name, p=path))) == sorted(case["gives"])
    bayou.open(path).verify_checksum()  # it raises where the checksum is wrong


NEW = {
    "plain": {},
    "change data feed": {"delta.enableChangeDataFeed": "true"},
    "deletion vectors": {"delta.enableDeletionVectors": "true"},
    "append only": {"delta.appendOnly": "true"},
    "column mapping": {"delta.columnMapping.mode": "name"},
    "in-commit timestamps": {"delta.enableInCommitTimestamps": "true"},
    "row tracking": {"delta.enableRowTracking": "true"},
    "type widening": {"delta.enableTypeWidening": "true"},
    "v2 checkpoints": {"delta.checkpointPolicy": "v2"},
    "versions": {"delta.minReaderVersion": "2", "delta.minWriterVersion": "5"},
    "a feature": {"delta.feature.vacuumProtocolCheck": "supported"},
    "retention": {"delta.logRetentionDuration": "interval 60 days", "delta.deletedFileRetentionDuration": "interval 2 days"},
    "own": {"my.own": "x", "delta.checkpointInterval": "20"},
}
RANDOM = ("materializedRow", "delta.columnMapping.maxColumnId")


@pytest.mark.parametrize("kind", sampled(NEW, 3))
def test_a_new_table_has_the_protocol_and_the_properties_that_delta_spark_gives_it(delta_spark, spark, tmp_path, kind):
    theirs, ours = str(tmp_path / "theirs"), str(tmp_path / "ours")
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in NEW[kind].items())
    properties = f"tblproperties ({listed})" if listed else ""
    query = "select id, cast(id as string) name, cast(id as timestamp) at from range(3)"
    delta_spark.sql(f"create table delta.`{theirs}` using delta {properties} as {query}", "select 1")
    bayou.write(spark.sql(query), ours, **NEW[kind])
    first, second = bayou.open(theirs).snapshot(), bayou.open(ours).snapshot()
    assert listed_features(second.protocol) == listed_features(first.protocol)
    own = {key: value for key, value in NEW[kind].items() if not key.startswith("delta.")}
    expected = {key: value for key, value in first.properties.items() if key not in own and not any(r in key for r in RANDOM)}
    assert {key: value for key, value in second.properties.items() if not any(r in key for r in RANDOM)} == expected
    if "mapping" not in kind:
        assert second.metadata.schema_string == first.metadata.schema_string
    assert texts(delta_spark.sql(f"select * from delta.`{ours}`")) == texts(delta_spark.sql(f"select * from delta.`{theirs}`"))
    assert Path(ours, "_delta_log").is_dir()


def listed_features(protocol):
    return (
        protocol.min_reader_version,
        protocol.min_writer_version,
        sorted(protocol.reader_features or ()),
        sorted(protocol.writer_features or ()),
    )
