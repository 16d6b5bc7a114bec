# SPDX-License-Identifier: Apache-2.0
"""Tables with features, as statements that bayou and delta-spark both run, and what delta-rs makes of such a table."""

from __future__ import annotations

import bayou

MAPPED = "tblproperties ('delta.columnMapping.mode' = '{mode}')"
KINDS = {
    "clustered": ["create table {t} (id bigint, v string) using delta cluster by (v)", "insert into {t} values (1, 'a'), (2, 'b')"],
    "defaults": [
        (
            "create table {t} (id bigint, v string default 'none') using delta"
            " tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
        ),
        "insert into {t} (id) values (1), (2)",
    ],
    "row tracking": [
        "create table {t} (id bigint, v string) using delta tblproperties ('delta.enableRowTracking' = 'true')",
        "insert into {t} values (1, 'a'), (2, 'b')",
        "update {t} set v = 'c' where id = 1",
    ],
    "type widening": [
        "create table {t} (id int, v float) using delta tblproperties ('delta.enableTypeWidening' = 'true')",
        "insert into {t} values (1, 0.5)",
        "alter table {t} alter column id type bigint",
        "alter table {t} alter column v type double",
        "insert into {t} values (5000000000, 0.1)",
    ],
    "vectors": [
        "create table {t} (id bigint) using delta tblproperties ('delta.enableDeletionVectors' = 'true')",
        "insert into {t} select id from range(0, 10, 1, 1)",
        "delete from {t} where id in (3, 7)",
    ],
    "vectors purged": [
        "create table {t} (id bigint) using delta tblproperties ('delta.enableDeletionVectors' = 'true')",
        "insert into {t} select id from range(0, 10, 1, 1)",
        "delete from {t} where id in (3, 7)",
        "drop feature deletionVectors",
    ],
    "mapping by name": [
        "create table {t} (id bigint, `a b` struct<`x y`: int>, p string) using delta partitioned by (p) "
        + MAPPED.format(mode="name"),
        "insert into {t} values (1, struct(2), 'p'), (2, null, null)",
        "alter table {t} rename column id to number",
    ],
    "mapping by id": [
        f"create table {{t}} (id bigint, s struct<x: int>) using delta {MAPPED.format(mode='id')}",
        "insert into {t} values (1, struct(2))",
    ],
    "mapping removed": [
        f"create table {{t}} (id bigint, s struct<x: int>, p int) using delta partitioned by (p) {MAPPED.format(mode='name')}",
        "insert into {t} values (1, struct(2), 3)",
        "alter table {t} rename column id to number",
        "alter table {t} set tblproperties ('delta.columnMapping.mode' = 'none')",
    ],
    "widening dropped": [
        "create table {t} (id int) using delta tblproperties ('delta.enableTypeWidening' = 'true')",
        "insert into {t} values (1)",
        "alter table {t} alter column id type bigint",
        "drop feature typeWidening",
    ],
    "change feed": [
        "create table {t} (id bigint, v string) using delta tblproperties ('delta.enableChangeDataFeed' = 'true')",
        "insert into {t} values (1, 'a'), (2, 'b')",
        "update {t} set v = 'c' where id = 1",
    ],
    "generated": [
        ("create table {t} (at timestamp, day date generated always as (cast(at as date))) using delta partitioned by (day)"),
        "insert into {t} (at) values (timestamp'2024-01-02 03:04:05')",
    ],
    "in-commit timestamps": [
        "create table {t} (id bigint) using delta tblproperties ('delta.enableInCommitTimestamps' = 'true')",
        "insert into {t} values (1)",
    ],
    "timestamps without a zone": [
        "create table {t} (id bigint, at timestamp_ntz) using delta",
        "insert into {t} values (1, timestamp_ntz'2024-01-02 03:04:05.123456')",
    ],
    "not null": ["create table {t} (id bigint not null) using delta", "insert into {t} values (1)"],
    "char and varchar": ["create table {t} (c char(3), v varchar(4)) using delta", "insert into {t} values ('abc', 'b')"],
    "materialized partitions": [
        (
            "create table {t} (id bigint, p string, d date) using delta partitioned by (p, d)"
            " tblproperties ('delta.feature.materializePartitionColumns' = 'supported')"
        ),
        "insert into {t} values (1, 'a/b', date'2024-01-02'), (2, null, null)",
    ],
    "append only": [
        "create table {t} (id bigint) using delta tblproperties ('delta.appendOnly' = 'true')",
        "insert into {t} values (1)",
    ],
    "truncated": [
        "create table {t} (id bigint) using delta",
        "insert into {t} values (1)",
        "truncate table {t}",
        "insert into {t} values (2)",
    ],
}


def made_by_us(spark, path, statements):
    for statement in statements:
        if statement.startswith("drop feature"):
            bayou.DeltaTable.forPath(spark, path).dropFeatureSupport(statement.split()[-1])
        elif statement.endswith("sync identity"):
            bayou.DeltaTable.forPath(spark, path).syncIdentity(statement.split()[-3])
        else:
            spark.sql(statement.format(t=f"delta.`{path}`"))


def made_by_them(delta_spark, path, statements):
    table = f"delta.`{path}`"
    delta_spark.sql(
        *(f"alter table {table} {each}" if each.startswith("drop feature") else each.format(t=table) for each in statements)
    )
