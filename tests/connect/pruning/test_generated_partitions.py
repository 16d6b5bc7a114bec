# SPDX-License-Identifier: Apache-2.0
"""A filter on a column leaves out the partitions that are generated from it, in DataFrames, in SQL and in statements."""

from __future__ import annotations

import pytest
from tests.support.cases import in_one_test

import bayou
from bayou import DeltaTable
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField, StructType
from bayou.testing.table_builder import TableBuilder, add

SOURCES = {"at": "timestamp", "day": "date", "name": "string"}
PROTOCOL = Protocol(3, 7, (), ("generatedColumns",))
MARCH = "timestamp'2024-03-15 12:00:00Z'"
COLUMNS = (
    ("p", "date", "CAST(at AS DATE)"),
    ("m", "string", "date_format(day, 'yyyy-MM')"),
    ("n", "string", "substring(name, 1, 1)"),
)
VALUES = (
    ("2024-03-13", "2024-02", "a"),
    ("2024-03-15", "2024-03", "b"),
    ("2024-03-17", "2024-04", "c"),
    *(("2025-01-01", "2025-01", "x"),) * 3,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A table of six files that are in the log alone, without statistics."""
    path = tmp_path_factory.mktemp("generated") / "t"
    fields = [StructField(name, kind) for name, kind in SOURCES.items()]
    fields += [StructField(name, kind, metadata={"delta.generationExpression": text}) for name, kind, text in COLUMNS]
    names = [name for name, _, _ in COLUMNS]
    files = (add(f"{n}.parquet", partitionValues=dict(zip(names, each, strict=True))) for n, each in enumerate(VALUES))
    TableBuilder(path).create(StructType(tuple(fields)), partition_by=names, protocol=PROTOCOL).commit(*files)
    return str(path)


FILTERS = {
    f"at = {MARCH}": [1],
    f"at < {MARCH}": [0, 1],
    "at >= '2024-03-15 12:00:00Z' and name <= 'cd'": [1, 2],
    "day = date'2024-03-15'": [1],
    "day in (date'2024-02-15', '2024-04-15')": [0, 2],
    "name like 'b%'": [1],
    f"at = {MARCH} or name = 'abc'": [0, 1],
    f"at = {MARCH} or upper(name) = 'B'": [0, 1, 2, 3, 4, 5],
    "upper(name) = 'B'": [0, 1, 2, 3, 4, 5],
}


@in_one_test("condition", FILTERS)
def test_a_filter_leaves_the_partitions_that_may_have_its_rows(spark, path, condition):
    frames = [spark.read.format("delta").load(path).where(condition), spark.sql(f"select * from delta.`{path}` where {condition}")]
    for frame in frames:
        assert sorted(int(each.rpartition("/")[2].partition(".")[0]) for each in frame.inputFiles()) == FILTERS[condition]


def test_a_delete_searches_the_partitions_that_may_have_its_rows(spark, path):
    assert DeltaTable.forPath(spark, path).plan_delete(f"at = {MARCH} and name = 'b'").plan.to_read.files == 1


def test_rows_are_found_whatever_the_zone_of_their_writer(spark, tmp_path):
    path = str(tmp_path / "t")
    table = DeltaTable.create(spark).location(path).addColumn("at", "TIMESTAMP")
    table.addColumn("day", "DATE", generatedAlwaysAs="CAST(at AS DATE)").partitionedBy("day").execute()
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        for name in ("Pacific/Kiritimati", "Pacific/Midway"):
            spark.conf.set("spark.sql.session.timeZone", name)
            spark.sql("select timestamp'2024-02-22 23:30:00Z' as at").write.format("delta").mode("append").save(path)
            assert bayou.read(spark, path).where("at = '2024-02-22 23:30:00Z'").count() >= 1
        assert spark.sql(f"select * from delta.`{path}` where at = timestamp'2024-02-22 23:30:00Z'").count() == 2
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
