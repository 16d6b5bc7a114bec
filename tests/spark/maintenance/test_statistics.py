# SPDX-License-Identifier: Apache-2.0
"""COMPUTE STATS on a session: from footers where they tell everything, else from one scan of live rows."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from tests.support.observing import jobs, last, without_statistics

import bayou
from bayou import DeltaTable
from bayou.errors import DataFileNotFoundError, InvalidOptionError, UnreadableDataFileError
from bayou.log.operations import compute_statistics as operation
from bayou.spark.maintenance import statistics

ROWS = (
    "id",
    "id % 2 as p",
    "if(id = 3, null, concat(repeat('ü', 40), id)) as text",
    "double(if(id = 5, null, id)) as d",
    "cast(id / 7 as decimal(12, 5)) as dec",
    "timestamp_micros(id * 1000001) as moment",
    "cast(timestamp_micros(id * 1000001) as timestamp_ntz) as wall",
    "date_from_unix_date(int(id) - 5) as day",
    "if(id = 2, null, named_struct('a', id, 'in', named_struct('b', if(id = 4, null, 'x')))) as s",
    "if(id = 6, null, array(id)) as l",
    "id > 3 as flag",
)


@pytest.fixture
def table(spark, table_path):
    def make(count=10, files=1, **options):
        rows = spark.range(0, count, 1, files).selectExpr(*ROWS)
        rows.write.format("delta").partitionBy("p").options(**options).save(table_path)
        return DeltaTable.forPath(spark, table_path)

    return make


def stats(path):
    files = bayou.open(path).snapshot().files(["path", "stats"])
    texts = zip(files["path"].to_pylist(), files["stats"].to_pylist(), strict=True)
    return {name: None if text is None else json.loads(text, parse_float=Decimal) for name, text in texts}


def answer(frame):
    (row,) = frame.collect()
    return (row.num_files, row.num_updated_files, row.num_scanned_files)


@pytest.fixture
def scans(monkeypatch):
    """Footers tell nothing."""
    stated_statistics = operation.stated_statistics

    def told(footer, leaves):
        return stated_statistics(footer, leaves)[0], {leaf.path for leaf in leaves}

    return lambda: monkeypatch.setattr(operation, "stated_statistics", told)


def test_footers_and_a_scan_tell_what_the_write_told(spark, table_path, table, scans):
    made = table(files=2)
    written = stats(table_path)
    without_statistics(table_path)
    with jobs(spark) as count:
        assert answer(made.computeStatistics()) == (4, 4, 1)  # a file with an array that is NULL
    assert count.value <= 2
    from_footers = stats(table_path)
    complete = {name: {**each, "nullCount": {"l": 1, **each["nullCount"]}} for name, each in written.items()}
    assert from_footers == complete
    entry = last(table_path)
    assert (entry.operation, dict(entry.operation_parameters)) == ("COMPUTE STATS", {"predicate": '["true"]'})
    assert answer(made.computeStatistics()) == (4, 0, 1)
    scans()
    assert answer(made.computeStatistics()) == (4, 0, 4)
    assert bayou.open(table_path).version() == 1


def test_the_live_rows_of_files_with_deletion_vectors_count(spark, table_path, table):
    made = table(**{"delta.enableDeletionVectors": "true"})
    made.delete("id in (0, 3, 9)")
    before = bayou.open(table_path).snapshot().files()
    assert answer(made.computeStatistics(missing_only=True)) == (2, 2, 2)
    after = bayou.open(table_path).snapshot().files()
    columns = [name for name in before.column_names if name not in {"stats", "data_change"}]
    assert after.select(columns).sort_by("path") == before.select(columns).sort_by("path")
    found = stats(table_path)
    assert {each["tightBounds"] for each in found.values()} == {True}
    assert sorted(each["numRecords"] for each in found.values()) == [5, 5]
    bounds = sorted((each["minValues"]["id"], each["maxValues"]["id"], each["nullCount"]["text"]) for each in found.values())
    assert bounds == [(1, 7, 0), (2, 8, 0)]
    assert answer(made.computeStatistics(missing_only=True)) == (0, 0, 0)
    rows = spark.read.format("delta").load(table_path)
    assert [row.id for row in rows.where("id < 2 or id > 7").orderBy("id").collect()] == [1, 8]
    made.delete("id = 1")  # the bounds become wide again
    assert sorted(each["tightBounds"] for each in stats(table_path).values()) == [False, True]
    made.delete("p = 1 and id > 0")


def test_a_file_without_live_rows_has_no_bounds(table_path, table):
    made = table(**{"delta.enableDeletionVectors": "true"})
    made.delete("id in (1, 3, 5, 7)")
    made.computeStatistics()
    made.delete("id = 9")
    made.computeStatistics()
    assert bayou.open(table_path).snapshot().num_files == 1


def test_columns_are_those_of_the_table_whatever_their_names_are_in_the_files(table_path, table, scans):
    made = table(**{"delta.columnMapping.mode": "name"})
    written = stats(table_path)
    without_statistics(table_path)
    made.renameColumn("text", "a.new name")
    scans()
    assert answer(made.computeStatistics()) == (2, 2, 2)
    for name, found in stats(table_path).items():
        known = written[name]
        assert found["minValues"] == known["minValues"]
        assert found["maxValues"] == known["maxValues"]
        assert {**found["nullCount"], **known["nullCount"]} == found["nullCount"]


def test_int96_timestamps_and_nan_are_scanned(session, table_path):
    session.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    folder = f"{table_path}_parquet"
    rows = session.sql("select timestamp'2026-01-01 00:00:00.123456Z' as t, double('NaN') as d, 1L as id").coalesce(1)
    rows.write.parquet(folder)
    (file,) = Path(folder).glob("*.parquet")
    made = DeltaTable.createIfNotExists(session).location(table_path).addColumns(session.read.parquet(folder).schema).execute()
    Path(table_path, "f.parquet").write_bytes(file.read_bytes())
    bayou.open(table_path).append(["f.parquet"])
    assert "t" not in stats(table_path)["f.parquet"]["minValues"]
    assert answer(made.computeStatistics()) == (1, 1, 1)
    found = stats(table_path)["f.parquet"]
    assert found["minValues"] == {"t": "2026-01-01T00:00:00.123Z", "d": "NaN", "id": 1}
    assert found["nullCount"] == {"t": 0, "d": 0, "id": 0}


def test_partitions_are_chosen(table_path, table):
    made = table()
    without_statistics(table_path)
    assert answer(made.computeStatistics("p = 1"))[:2] == (1, 1)
    assert last(table_path).operation_parameters["predicate"] == '["p = 1"]'
    assert [name.partition("/")[0] for name, each in stats(table_path).items() if each is None] == ["p=0"]
    with pytest.raises(InvalidOptionError) as refused:
        made.computeStatistics("id = 1")
    assert refused.value.getErrorClass() == "DELTA_NON_PARTITION_COLUMN_REFERENCE"
    with pytest.raises(ValueError, match="where needs to be a string"):
        made.computeStatistics(1)
    with pytest.raises(ValueError, match="missing_only needs to be a boolean"):
        made.computeStatistics(missing_only="yes")


@pytest.mark.parametrize(("damage", "error"), [("gone", DataFileNotFoundError), ("damaged", UnreadableDataFileError)])
def test_a_file_without_a_readable_footer_is_named(table_path, table, damage, error):
    made = table()
    without_statistics(table_path)
    version = bayou.open(table_path).version()
    path = next(path for path in stats(table_path) if path.startswith("p=1"))
    file = Path(table_path, path)
    file.unlink() if damage == "gone" else file.write_bytes(b"no Parquet")
    for call in (made.computeStatistics, bayou.open(table_path).compute_statistics):
        with pytest.raises(error) as caught:
            call()
        assert caught.value.file == path
    assert bayou.open(table_path).version() == version


def test_it_goes_beside_appends_and_other_vectors(spark, table_path, table, monkeypatch):
    made = table(**{"delta.enableDeletionVectors": "true"})
    without_statistics(table_path)
    made.delete("id = 1")
    scanned = statistics._scanned

    def meanwhile(*arguments):
        found = scanned(*arguments)
        made.delete("id = 3")
        spark.range(20, 21).selectExpr(*ROWS).write.format("delta").mode("append").save(table_path)
        return found

    monkeypatch.setattr(statistics, "_scanned", meanwhile)
    assert answer(made.computeStatistics()) == (2, 1, 2)
    assert sorted(each["tightBounds"] for each in stats(table_path).values()) == [False, True, True]
    assert sorted(row.id for row in made.toDF().select("id").collect()) == [0, 2, 4, 5, 6, 7, 8, 9, 20]
