# SPDX-License-Identifier: Apache-2.0
"""The same DELETE or UPDATE by delta-spark and by bayou: the same rows, the same counts in the history, and both read on."""

from __future__ import annotations

import pytest
from tests.interop.made_tables import WAYS, MadeTables
from tests.interop.sampled import sampled

import bayou

pytestmark = pytest.mark.oracle

DATA = (
    "select id, id % 3 k, if(id % 4 = 0, null, id * 2) v, "
    "if(id % 5 = 0, null, named_struct('a', id, 'b', named_struct('c', cast(id as string)))) s, "
    "array(cast(id as int)) l, cast(id as decimal(12, 2)) d, date_add(date'2024-01-01', cast(id as int)) day, "
    "timestamp'2024-01-01 00:00:00' + make_interval(0, 0, 0, cast(id as int)) at "
    "from range(0, 40, 1, 1)"
)
STATEMENTS = {
    "one row": "delete from {t} where id = 7",
    "half of the rows": "delete from {t} where id >= 20",
    "a condition that is NULL for rows": "delete from {t} where v > 10",
    "NULL itself": "delete from {t} where v is null or s is null",
    "a field of a struct": "delete from {t} where s.b.c like '1%'",
    "a partition": "delete from {t} where k = 1",
    "a partition and rows": "delete from {t} where k = 1 and id < 30",
    "rows of dates": "delete from {t} where day >= '2024-02-01'",
    "rows of times": "delete from {t} where at < '2024-01-05'",
    "rows of a UDF-like expression": "delete from {t} where abs(hash(id)) % 3 = 0",
    "no row": "delete from {t} where id > 1000",
    "all rows": "delete from {t}",
    "all rows by a condition": "delete from {t} where id >= 0",
    "set some": "update {t} set v = id + 1, d = 7 where id between 5 and 9",
    "set where the condition is NULL for rows": "update {t} set v = -1 where v < 30",
    "set all": "update {t} set v = v + 1",
    "set a partition's": "update {t} set v = 0 where k = 2",
    "move to another partition": "update {t} set k = k + 10 where id < 4",
    "set a field": "update {t} set s.b.c = 'new' where id < 6",
    "set a struct": "update {t} set s = named_struct('a', id + 1, 'b', named_struct('c', 'z')) where id < 6",
    "set to NULL": "update {t} set s = null, l = null where id > 30",
    "set by text": "update {t} set day = '2020-02-02', d = '1.5' where id = 3",
    "swap": "update {t} set v = id, id = v where v is not null",
    "set nothing": "update {t} set v = 1 where id > 1000",
}
# Where delta-spark counts by vectors, it counts a file whose vector an UPDATE changes as removed, and no bytes of removed files.
OTHERWISE_COUNTED = {"numRemovedFiles", "numRemovedBytes"}


def counts(entry, *, by_vectors):
    left_out = {"numAddedBytes", *(OTHERWISE_COUNTED if by_vectors else {"numRemovedBytes"})}
    return {key: value for key, value in entry.items() if not key.endswith("TimeMs") and key not in left_out}


def texts(rows):
    return sorted([None if value is None else str(value) for value in row] for row in rows)


@pytest.fixture(scope="module")
def made(delta_spark, tmp_path_factory):
    return MadeTables(delta_spark, tmp_path_factory.mktemp("made"), DATA)


# Where the kind of table makes a difference.
ELSEWHERE = ("half of the rows", "a field of a struct", "all rows", "set all", "set a field", "set to NULL")
CASES = [
    *((name, "partitioned", way) for name in STATEMENTS for way in WAYS),
    *((name, kind, way) for name in ELSEWHERE for kind, way in (("plain", "files"), ("mapped", "vectors"), ("mapped", "files"))),
]


@pytest.mark.parametrize("case", sampled(CASES, 13), ids="-".join)
def test_both_change_the_same_rows_and_count_the_same(delta_spark, spark, made, tmp_path, case):
    name, kind, way = case
    theirs, ours = made.copies(tmp_path, kind, way)
    affected = delta_spark.sql(STATEMENTS[name].format(t=f"delta.`{theirs}`"))
    before = bayou.open(str(ours)).version()
    spark.sql(STATEMENTS[name].format(t=f"delta.`{ours}`"))
    query = "select '{1}', to_json(struct(*)) from delta.`{0}`"
    found = delta_spark.sql(f"{query.format(theirs, 'theirs')} union all {query.format(ours, 'ours')}")
    expected = texts([[row] for table, row in found if table == "theirs"])
    assert texts([[row] for table, row in found if table == "ours"]) == expected
    assert texts([[row[1]] for row in spark.sql(query.format(ours, "")).collect()]) == expected
    mine, other = (next(iter(bayou.open(str(path)).history())) for path in (ours, theirs))
    assert mine.version == other.version
    if mine.version > before:
        assert mine.operation == other.operation
        by_vectors = way == "vectors"
        assert counts(mine.operation_metrics, by_vectors=by_vectors) == counts(other.operation_metrics, by_vectors=by_vectors)
        changed = mine.operation_metrics.get("numDeletedRows") or mine.operation_metrics["numUpdatedRows"]
        assert [[changed]] == affected
    bayou.open(str(ours)).verify_checksum()


@pytest.mark.parametrize("way", WAYS)
def test_each_goes_on_where_the_other_left_off(delta_spark, spark, made, tmp_path, way):
    path = made.copy(tmp_path / "t", "partitioned", way)
    t = f"delta.`{path}`"
    for number, statement in enumerate(
        ["delete from {t} where id % 7 = 0", "delete from {t} where id % 7 = 1", "update {t} set v = 5 where id % 7 = 2"] * 2
    ):
        if number % 2:
            delta_spark.sql(statement.format(t=t).replace("% 7", "% 6"), "select 1")
        else:
            spark.sql(statement.format(t=t))
    query = f"select to_json(struct(*)) from {t}"
    assert texts(spark.sql(query).collect()) == texts(delta_spark.sql(query))
    ids = {row.id for row in spark.sql(f"select id from {t}").collect()}
    assert ids == {each for each in range(40) if each % 7 and each % 6 != 1 and each % 6 and each % 7 != 1}


@pytest.mark.parametrize("way", WAYS)
def test_delta_rs_reads_what_is_left(spark, made, tmp_path, way):
    deltalake = pytest.importorskip("deltalake")
    path = made.copy(tmp_path / "t", "partitioned", way)
    spark.sql(f"delete from delta.`{path}` where id % 3 = 0 and v is not null")
    spark.sql(f"update delta.`{path}` set v = 77 where id < 10")
    expected = sorted((row.id, row.v) for row in spark.sql(f"select id, v from delta.`{path}`").collect())
    try:
        found = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(path))).execute("select id, v from t")
    except Exception as error:  # noqa: BLE001  (whatever it says of a feature that it does not read)
        pytest.skip(f"this delta-rs does not read the table: {error}")
    rows = found.read_all() if hasattr(found, "read_all") else found
    columns = [rows["id"].to_pylist(), rows["v"].to_pylist()]
    assert sorted(zip(*columns, strict=True)) == expected
