# SPDX-License-Identifier: Apache-2.0
"""The same UPDATE or DELETE by delta-spark and by bayou: delta-spark finds the same changes in both, and the same row ids."""

from __future__ import annotations

import pytest
from tests.interop.made_tables import TABLES, WAYS, MadeTables
from tests.interop.sampled import sampled

import bayou

pytestmark = pytest.mark.oracle

DATA = (
    "select id, id % 3 k, if(id % 4 = 0, null, id * 2) v, "
    "if(id % 5 = 0, null, named_struct('a', id, 'b', named_struct('c', cast(id as string)))) s, "
    "array(cast(id as int)) l, timestamp'2024-01-01 00:00:00' + make_interval(0, 0, 0, cast(id as int)) at "
    "from range(0, 40, 1, 1)"
)
COLUMNS = "id bigint, k bigint, v bigint, s struct<a: bigint, b: struct<c: string>>, l array<int>, at timestamp"
KINDS = {**TABLES, "ids": ("", {"delta.columnMapping.mode": "id"})}
STATEMENTS = {
    "delete one row": "delete from {t} where id = 7",
    "delete half of the rows": "delete from {t} where v >= 20",
    "delete a partition": "delete from {t} where k = 1",
    "delete a partition and rows": "delete from {t} where k = 1 and id < 30",
    "delete all rows": "delete from {t}",
    "update some": "update {t} set v = id + 1 where id between 5 and 9",
    "update all": "update {t} set v = v + 1",
    "update a partition": "update {t} set v = 0 where k = 2",
    "move to another partition": "update {t} set k = k + 10 where id < 4",
    "update a field": "update {t} set s.b.c = 'new' where id < 6",
    "update to NULL": "update {t} set s = null, l = null where id > 30",
    "swap": "update {t} set v = id, id = v where v is not null",
}
CASES = [
    *((name, "partitioned", way) for name in STATEMENTS for way in WAYS),
    *(
        (name, kind, way)
        for name in ("delete one row", "update a field", "swap")
        for kind in ("plain", "mapped", "ids")
        for way in WAYS
    ),
]
PROPERTIES = {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"}


@pytest.fixture(scope="module")
def made(delta_spark, tmp_path_factory):
    # delta-spark does not make a table of a query that has both column mapping and a change data feed.
    return MadeTables(delta_spark, tmp_path_factory.mktemp("made"), DATA, kinds=KINDS, columns=COLUMNS, properties=PROPERTIES)


def changes(delta_spark, path, version):
    columns = "to_json(struct(* except (_commit_version, _commit_timestamp))), _commit_version"
    return sorted(delta_spark.sql(f"select {columns} from table_changes_by_path('{path}', {version}, {version})"))


def row_ids(delta_spark, path):
    return sorted(
        delta_spark.sql(f"select _metadata.row_id, _metadata.row_commit_version, to_json(struct(*)) from delta.`{path}`"), key=str
    )


@pytest.mark.parametrize("case", sampled(CASES, 11), ids="-".join)
def test_delta_spark_finds_the_same_changes_and_row_ids(delta_spark, spark, made, tmp_path, case):
    name, kind, way = case
    theirs, ours = made.copies(tmp_path, kind, way)
    delta_spark.sql(STATEMENTS[name].format(t=f"delta.`{theirs}`"))
    spark.sql(STATEMENTS[name].format(t=f"delta.`{ours}`"))
    version = bayou.open(str(theirs)).version()
    assert bayou.open(str(ours)).version() == version
    expected = changes(delta_spark, theirs, version)
    assert expected
    assert changes(delta_spark, ours, version) == expected
    assert bayou.read(spark, str(ours), changes=(version, version)).count() == len(expected)
    assert row_ids(delta_spark, ours) == row_ids(delta_spark, theirs)
    found = spark.sql(f"select _metadata.row_id, _metadata.row_commit_version, to_json(struct(*)) from delta.`{theirs}`").collect()
    assert sorted(([str(row[0]), str(row[1]), row[2]] for row in found), key=str) == row_ids(delta_spark, theirs)
    mine, other = (next(iter(bayou.open(str(path)).history())).operation_metrics for path in (ours, theirs))
    assert (mine["numAddedChangeFiles"] == "0") == (other["numAddedChangeFiles"] == "0")
    bayou.open(str(ours)).verify_checksum()


@pytest.mark.parametrize("way", WAYS)
def test_ids_stay_while_both_change_one_table_in_turns(delta_spark, spark, made, tmp_path, way):
    path = made.copy(tmp_path / "t", "mapped", way)
    query = f"select id, _metadata.row_id from delta.`{path}`"
    before = dict(delta_spark.sql(query))
    spark.sql(f"update delta.`{path}` set v = 1 where id % 7 = 0")
    delta_spark.sql(f"update delta.`{path}` set v = 2 where id % 7 < 2", "select 1")
    spark.sql(f"update delta.`{path}` set v = 3, k = 9 where id % 7 < 3")
    delta_spark.sql(f"delete from delta.`{path}` where id = 13", "select 1")
    spark.sql(f"delete from delta.`{path}` where id % 11 = 0")
    after = dict(delta_spark.sql(query))
    assert after == {key: row_id for key, row_id in before.items() if int(key) % 11 and key != "13"}
