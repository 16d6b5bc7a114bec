# SPDX-License-Identifier: Apache-2.0
"""The change data feed of tables that delta-spark changed is the one that delta-spark reads."""

from __future__ import annotations

import pytest
from tests.interop.sampled import sampled

import bayou

pytestmark = pytest.mark.oracle

KINDS = {
    "plain": ("", ""),
    "vectors": ("", ", 'delta.enableDeletionVectors' = 'true'"),
    "partitions": ("partitioned by (part)", ""),
    "partitions and vectors": ("partitioned by (part)", ", 'delta.enableDeletionVectors' = 'true'"),
    "column mapping": ("partitioned by (part)", ", 'delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true'"),
    "in-commit timestamps": ("", ", 'delta.enableInCommitTimestamps' = 'true'"),
}
COLUMNS = "id, part, name, _change_type, _commit_version, cast(_commit_timestamp as string)"


def changed_table(delta_spark, path, kind):
    """Ten versions of everything that changes rows."""
    partitions, more = KINDS[kind]
    table = f"delta.`{path}`"
    rows = "select id, cast(id % 3 as string) as part, concat('n', id) as name from range(40)"
    delta_spark.sql(
        f"create table {table} (id bigint, part string, name string) using delta {partitions}"
        f" tblproperties ('delta.enableChangeDataFeed' = 'true'{more})",
        f"insert into {table} {rows}",
        f"insert into {table} values (100, null, 'x'), (101, '', null)",
        f"delete from {table} where id in (1, 5, 7)",
        f"update {table} set name = 'new' where id between 10 and 14",
        f"merge into {table} t using (select id, 'm' as name from range(8, 45, 9)) s on t.id = s.id"
        " when matched and t.id < 20 then delete when matched then update set name = s.name"
        " when not matched then insert (id, part, name) values (s.id, '1', s.name)",
        f"delete from {table} where part = '2'",
        f"optimize {table}",
        f"delete from {table} where id = 30",
        f"restore table {table} to version as of 3",
        f"insert overwrite {table} values (7, '1', 'last')",
    )


def in_order(rows):
    return sorted(rows, key=str)


def ours(spark, path, start, end):
    frame = bayou.read(spark, path, changes=(start, end)).selectExpr(*COLUMNS.split(", "))
    return in_order(tuple(None if value is None else str(value) for value in row) for row in frame.collect())


def theirs(delta_spark, path, start, end):
    return in_order(map(tuple, delta_spark.sql(f"select {COLUMNS} from table_changes_by_path('{path}', {start}, {end})")))


@pytest.mark.parametrize("kind", sampled(KINDS, 4))
def test_each_range_has_the_rows_that_delta_spark_finds_in_it(spark, delta_spark, table_path, kind):
    changed_table(delta_spark, table_path, kind)
    last = bayou.open(table_path).snapshot().version
    assert last == 10
    for start, end in [(0, last), (1, 4), (3, 3), (5, 9), (8, last)]:
        assert ours(spark, table_path, start, end) == theirs(delta_spark, table_path, start, end), (start, end)


def test_delta_spark_finds_the_changes_that_we_wrote(spark, delta_spark, table_path):
    rows = spark.range(20).selectExpr("id", "cast(id % 3 as string) as part", "concat('n', id) as name")
    options = {"delta.enableChangeDataFeed": "true"}
    bayou.write(rows, table_path, partition_by=["part"], **options)
    bayou.write(rows.where("id < 3"), table_path, mode="append")
    bayou.write(rows.where("part = '1'"), table_path, mode="overwrite", replaceWhere="part = '1'")
    bayou.write(rows.limit(2), table_path, mode="overwrite")
    for start, end in [(0, 3), (1, 2), (2, 2), (3, 3)]:
        assert ours(spark, table_path, start, end) == theirs(delta_spark, table_path, start, end)


@pytest.mark.parametrize(
    "arguments", ["2, 1", "99", "0", "'2999-01-01'", "'1999-01-01', '1999-01-02'", "0, '1999-01-02'", "1, '2999-01-01'"]
)
def test_ranges_are_refused_with_delta_sparks_error_classes(spark, delta_spark, table_path, arguments):
    table = f"delta.`{table_path}`"
    delta_spark.sql(
        f"create table {table} (id bigint) using delta",
        f"insert into {table} values (1)",
        f"alter table {table} set tblproperties ('delta.enableChangeDataFeed' = 'true')",
        f"insert into {table} values (2)",
    )
    said = delta_spark.refused(f"select * from table_changes_by_path('{table_path}', {arguments})")
    values = [each.strip() for each in arguments.split(",")]
    start, end = [*(each.strip("'") if each.startswith("'") else int(each) for each in values), None][:2]
    with pytest.raises(bayou.errors.DeltaError) as caught:
        bayou.read(spark, table_path, changes=(start, end))
    assert f"[{caught.value.error_class}]" in said
