# SPDX-License-Identifier: Apache-2.0
"""We see in delta-spark's tables what delta-spark sees, at each version."""

from __future__ import annotations

import pytest
from tests.interop.sampled import sampled
from tests.interop.written_tables import TEXT

import bayou

pytestmark = pytest.mark.oracle

T = "delta.`{path}`"
DV = "tblproperties ('delta.enableDeletionVectors' = 'true')"
MAPPED = "tblproperties ('delta.columnMapping.mode' = '{mode}')"

WIDENING = "tblproperties ('delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported')"
PARSED = """tblproperties ('delta.checkpointInterval' = '2',
    'delta.checkpoint.writeStatsAsStruct' = 'true', 'delta.checkpoint.writeStatsAsJson' = 'false')"""
MERGE = """merge into {t} t using (select 1L id union all select 5000L) s on t.id = s.id
    when matched then update set s = 'merged' when not matched then insert (id, s) values (s.id, 'new')"""

TABLES = {
    "partitioned": [
        f"create table {T} (id bigint, p string, t timestamp) using delta partitioned by (p, t)",
        f"insert into {T} values (1, 'a/b=c%', timestamp'2025-11-02 05:30:00Z'), (2, null, null)",
        f"insert into {T} values (3, '', timestamp'1900-01-01 00:00:00.5Z')",
        f"insert into {T} values (4, '__HIVE_DEFAULT_PARTITION__', null), (5, 'ü', timestamp'2026-01-01')",
        f"delete from {T} where p = 'ü'",
    ],
    "deletion vectors": [
        f"create table {T} (id bigint, s string) using delta {DV}",
        f"insert into {T} select /*+ coalesce(1) */ id, cast(id as string) from range(1000)",
        f"delete from {T} where id % 7 = 3",
        f"delete from {T} where id between 100 and 300",
        f"update {T} set s = 'x' where id = 500",
        MERGE.format(t=T),
        f"optimize {T}",
    ],
    "column mapping by name": [
        f"create table {T} (id bigint, s struct<a: int, b: array<struct<c: int>>>, gone string) using delta "
        + MAPPED.format(mode="name"),
        f"insert into {T} values (1, struct(1, array(struct(2))), 'old')",
        f"alter table {T} rename column s.a to `a b`",
        f"alter table {T} rename column id to key",
        f"alter table {T} drop column gone",
        f"alter table {T} add column (gone int)",
        f"insert into {T} values (2, struct(3, array(struct(4))), 5)",
    ],
    "column mapping by id, partitioned, with vectors": [
        (
            f"create table {T} (id bigint, `p q` string) using delta partitioned by (`p q`)"
            f" tblproperties ('delta.columnMapping.mode' = 'id', 'delta.enableDeletionVectors' = 'true')"
        ),
        f"insert into {T} select id, if(id > 5, 'x', null) from range(10)",
        f"alter table {T} rename column `p q` to p",
        f"delete from {T} where id in (1, 7)",
    ],
    "type widening": [
        f"create table {T} (id bigint, b byte, i int, f float, d decimal(6, 2), t date) using delta {WIDENING}",
        f"insert into {T} values (1, 1, 2147483647, float('1.5'), 1.25, date'2026-01-01')",
        f"alter table {T} alter column b type int",
        f"alter table {T} alter column i type bigint",
        f"alter table {T} alter column f type double",
        f"alter table {T} alter column d type decimal(12, 4)",
        f"alter table {T} alter column t type timestamp_ntz",
        f"insert into {T} values (2, 1000, 9223372036854775807, 1e300D, 12345678.1234, timestamp_ntz'2026-01-01 01:02:03')",
    ],
    "v2 checkpoints": [
        (
            f"create table {T} (id bigint) using delta"
            f" tblproperties ('delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2')"
        ),
        *(f"insert into {T} values ({n})" for n in range(3)),
        f"delete from {T} where id = 1",
    ],
    "classic checkpoints with parsed statistics": [
        f"create table {T} (id bigint, p int) using delta partitioned by (p) {PARSED}",
        *(f"insert into {T} values ({n}, {n % 2})" for n in range(3)),
    ],
    "generated, identity and default columns": [
        (
            f"create table {T} (id bigint generated always as identity (start with 10 increment by 5), d date, v int) using delta"
            f" tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
        ),
        f"insert into {T} (d, v) values (date'2026-01-01', 1), (date'2026-02-01', null)",
        f"alter table {T} alter column v set default 7",
        f"insert into {T} (d) values (date'2026-03-01')",
    ],
    "constraints, NOT NULL and a change feed": [
        (
            f"create table {T} (id bigint not null, s struct<a: int not null>) using delta"
            f" tblproperties ('delta.enableChangeDataFeed' = 'true')"
        ),
        f"alter table {T} add constraint positive check (id > 0)",
        f"insert into {T} values (1, struct(1)), (2, struct(2))",
        f"delete from {T} where id = 1",
    ],
    "row tracking and clustering": [
        f"create table {T} (id bigint, k int) using delta cluster by (k) tblproperties ('delta.enableRowTracking' = 'true')",
        f"insert into {T} select id, id % 3 from range(10)",
        f"update {T} set k = 9 where id = 4",
        f"optimize {T}",
    ],
    "in-commit timestamps": [
        f"create table {T} (id bigint) using delta tblproperties ('delta.enableInCommitTimestamps' = 'true')",
        f"insert into {T} values (1)",
        f"insert overwrite {T} values (2)",
    ],
    "variants": [
        f"create table {T} (id bigint, v variant) using delta",
        f"insert into {T} select 1, parse_json('{{\"a\": [1, null]}}') union all select 2, null",
    ],
    "char and varchar": [
        f"create table {T} (id bigint, c char(5), v varchar(5)) using delta",
        f"insert into {T} values (1, 'a', 'b'), (2, null, null)",
    ],
}


@pytest.mark.parametrize("table", sampled(TABLES, 3))
def test_we_read_what_delta_spark_wrote_at_each_version(spark, delta_spark, table_path, table):
    delta_spark.sql(*(statement.replace("{path}", table_path) for statement in TABLES[table]))
    latest = bayou.open(table_path).version()
    for version in range(latest + 1):
        frame = bayou.read(spark, table_path, version=version)
        expected = delta_spark.sql(f"select {TEXT} from (select * from delta.`{table_path}` version as of {version})")
        assert sorted(row[0] for row in frame.selectExpr(TEXT).collect()) == sorted(row[0] for row in expected), version
        assert frame.count() == len(expected)
    newest = bayou.read(spark, table_path)
    assert newest.dtypes == [(row[0], row[1]) for row in delta_spark.sql(f"describe (select * from delta.`{table_path}`)")]
    assert sorted(row[0] for row in newest.selectExpr(TEXT).collect()) == sorted(row[0] for row in expected)


FILTERS = {
    "deletion vectors": ["id = 3", "id >= 999", "s = 'x'", "s = 'merged'", "id between 99 and 301"],
    "column mapping by name": ["key = 1", "s.`a b` = 3", "s.b[0].c = 2", "gone is null", "gone = 5"],
    "column mapping by id, partitioned, with vectors": ["p = 'x'", "p is null", "p = 'x' and id > 7", "id = 1"],
    "type widening": [
        "b = 1",
        "i > 2147483647",
        "f = 1.5",
        "d = 1.25",
        "d > 1000",
        "b > 500",
        "t >= timestamp_ntz'2026-01-01 01:00:00'",
    ],
    "partitioned": ["p is null", "p = 'a/b=c%'", "t < timestamp'2000-01-01'", "t = timestamp'2025-11-02 05:30:00Z'", "id = 3"],
    "char and varchar": ["c = 'a'", "v = 'b'", "c is null"],
}


@pytest.mark.parametrize("table", FILTERS)
def test_our_filters_leave_what_delta_sparks_leave(spark, delta_spark, table_path, table):
    delta_spark.sql(*(statement.replace("{path}", table_path) for statement in TABLES[table]))
    for condition in FILTERS[table]:
        expected = delta_spark.sql(f"select {TEXT} from (select * from delta.`{table_path}` where {condition})")
        found = bayou.read(spark, table_path).where(condition).selectExpr(TEXT).collect()
        assert sorted(row[0] for row in found) == sorted(row[0] for row in expected), condition


def test_history_and_detail_say_what_delta_spark_says(spark, delta_spark, table_path):
    delta_spark.sql(*(statement.replace("{path}", table_path) for statement in TABLES["row tracking and clustering"]))
    theirs = delta_spark.sql(f"describe history delta.`{table_path}`")
    ours = [
        [None if value is None else str(value) for value in row]
        for row in bayou.DeltaTable.forPath(spark, table_path).history().collect()
    ]
    assert ours == theirs
    (detail,) = delta_spark.sql(f"describe detail delta.`{table_path}`")
    row = bayou.DeltaTable.forPath(spark, table_path).detail().first()
    assert [None if value is None else str(value) for value in row] == detail
