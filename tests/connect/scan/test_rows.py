# SPDX-License-Identifier: Apache-2.0
"""Rows of scans on a stock Spark Connect server: types, partition values, deletion vectors, names and numbers of files."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from tests.support.tables.built import file_of, numbers, without_rows

import bayou
from bayou.errors import SessionError, UnsupportedFeatureError
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField, StructType
from bayou.spark.portable.scan import constants, sources
from bayou.spark.portable.scan import rows as scans
from bayou.spark.scan.row_ids import FILE, METADATA, RowIdColumns
from bayou.testing.table_builder import TableBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

MONTHS = sorted((10 * month + i, month) for month in range(1, 13) for i in range(10) if month % 3 or i != 2)


@pytest.fixture(params=["list", "list and join", "paths", "paths and join"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How Spark gets files, and how it gets deletion vectors."""
    if request.param.startswith("paths"):
        monkeypatch.setattr(sources, "scratch_of", lambda *_: None)
    if request.param.endswith("join"):
        monkeypatch.setattr(scans, "MOST_WORDS_IN_REQUEST", -1)
    return str(request.param)


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def positions(path: str, *months: int) -> pa.Array:
    found = bayou.open(path).snapshot().files(["path"])["path"].to_pylist()
    return pa.array([place for place, name in enumerate(found) if int(Path(name).stem) in months], pa.int64())


@pytest.mark.usefixtures("way", "ansi")
def test_a_scan_has_the_rows_of_the_table(months: str, scan: Callable[..., DataFrame]) -> None:
    assert sorted(map(tuple, scan(months).collect())) == MONTHS
    assert scan(months).count() == len(MONTHS)
    assert scan(months, None, ["month"]).count() == len(MONTHS)
    assert rows(scan(months, None, []).limit(3)) == [(), (), ()]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("chosen", [(), (3,), (2, 3), tuple(range(2, 13)), tuple(range(1, 13))])
def test_chosen_files(months: str, scan: Callable[..., DataFrame], chosen: tuple[int, ...]) -> None:
    frame = scan(months, positions(months, *chosen))
    assert sorted(map(tuple, frame.collect())) == [row for row in MONTHS if row[1] in chosen]
    assert frame.columns == ["id", "month"]


@pytest.mark.usefixtures("way", "ansi")
@pytest.mark.parametrize("chosen", [(3, 4), tuple(range(2, 13))])
def test_numbers_of_files_and_rows(months: str, scan: Callable[..., DataFrame], chosen: tuple[int, ...]) -> None:
    frame = scan(months, positions(months, *chosen), with_numbers=True)
    paths = bayou.open(months).snapshot().files(["path"])["path"].to_pylist()
    found = frame.select("id", "month", FILE, f"{METADATA}.row_index").collect()
    assert len(found) == len([row for row in MONTHS if row[1] in chosen])
    for id_, month, file, row in found:
        assert paths[file] == f"month={month}/{month}.parquet"
        assert row == id_ % 10
    assert dict(frame.dtypes)[FILE] == "int"


@pytest.mark.usefixtures("way")
def test_metadata_of_files(months: str, scan: Callable[..., DataFrame]) -> None:
    frame = scan(months, positions(months, 3, 4), with_metadata=True).select("month", f"{METADATA}.*").distinct()
    for row in frame.where("row_index = 0").collect():
        assert row.file_path == f"file:{months}/month={row.month}/{row.month}.parquet"
        assert row.file_size == Path(months, f"month={row.month}", f"{row.month}.parquet").stat().st_size
        assert row.file_modification_time.replace(tzinfo=dt.timezone.utc).timestamp() * 1000 == 1_700_000_000_000 + row.month
    assert scan(months).select("_metadata.file_name").distinct().count() == 12
    assert scan(months).where("_metadata.row_index = 3").count() == 12


def test_filters_on_partitions_prune_files_wherever_they_come_from(
    months: str, scan: Callable[..., DataFrame], spark: SparkSession
) -> None:
    frames = [scan(months), scan(months, with_numbers=True), scan(months, positions(months, 1, 3, 5))]
    for month in set(range(1, 13)) - {3}:
        Path(months, f"month={month}", f"{month}.parquet").unlink()
    for frame in frames:
        frame.createOrReplaceTempView("months_to_prune")
        found = spark.sql("select id from months_to_prune where month + 1 = 4 and id > 0")
        assert sorted(row.id for row in found.collect()) == [30, 31, *range(33, 40)]
        with pytest.raises(PySparkException):
            spark.sql("select id from months_to_prune where month = 5").collect()
    spark.catalog.dropTempView("months_to_prune")


def test_filters_prune_files_below_a_join_with_vectors(
    months: str, scan: Callable[..., DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scans, "MOST_WORDS_IN_REQUEST", -1)
    frame = scan(months)
    for month in set(range(1, 13)) - {3}:
        Path(months, f"month={month}", f"{month}.parquet").unlink()
    assert frame.where("month = 3").count() == 9


@pytest.mark.usefixtures("way", "ansi")
def test_partition_values_have_the_types_of_the_table(table_path: str, scan: Callable[..., DataFrame]) -> None:
    values: dict[str, tuple[str, list[str | None], list[Any]]] = {
        "text": ("string", ["it's \"\\ ${x} ü", None, "a\nb"], ["it's \"\\ ${x} ü", None, "a\nb"]),
        "day": ("date", ["2020-02-29", None, "0001-01-01"], [dt.date(2020, 2, 29), None, dt.date(1, 1, 1)]),
        "small": ("byte", ["-128", None, "not a number"], [-128, None, None]),
        "exact": ("decimal(10,2)", ["1.25", None, "-0.5"], [Decimal("1.25"), None, Decimal("-0.50")]),
        "flag": ("boolean", ["true", None, "false"], [True, None, False]),
        "raw": ("binary", ["ab", None, "c"], [b"ab", None, b"c"]),
        "real": ("double", ["1.5", None, "-Infinity"], [1.5, None, float("-inf")]),
        "plain": ("timestamp_ntz", ["2020-01-01 00:00:01", None, "2020-01-01 00:00:00.5"], []),
        "moment": ("timestamp", ["2020-01-01 00:00:01", None, "2020-01-01T00:00:00.500000Z"], []),
    }
    times = [dt.datetime(2020, 1, 1, 0, 0, 1), None, dt.datetime(2020, 1, 1, 0, 0, 0, 500_000)]  # noqa: DTZ001
    schema = StructType((StructField("id", "long"), *(StructField(name, kind) for name, (kind, *_) in values.items())))
    files = [
        file_of(
            table_path, f"{n}.parquet", {"id": pa.array([n], pa.int64())},
            partitionValues={name: texts[n] for name, (_, texts, _) in values.items()},
        )
        for n in range(3)
    ]  # fmt: skip
    protocol = Protocol(3, 7, frozenset({"timestampNtz"}), frozenset({"timestampNtz"}))
    TableBuilder(table_path).create(schema, partition_by=list(values), protocol=protocol).commit(*files)
    frame = scan(table_path)
    assert [kind.replace("smallint", "short") for _, kind in frame.dtypes] == [
        "bigint", "string", "date", "tinyint", "decimal(10,2)", "boolean", "binary", "double", "timestamp_ntz", "timestamp"
    ]  # fmt: skip
    for row in frame.collect():
        for name, (_, _, wanted) in values.items():
            assert row[name] == (wanted or times)[row.id], name


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_mapping(table_path: str, scan: Callable[..., DataFrame], mode: str) -> None:
    def field(name: str, kind: Any, number: int, physical: str) -> StructField:
        return StructField(name, kind, metadata={"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical})

    nested = StructType((field("inner", "string", 3, "p3"), field("other", "long", 4, "p4")))
    schema = StructType(
        (
            field("a b", "long", 1, "p1"),
            field("s.t", nested, 2, "p2"),
            field("part", "integer", 5, "p5"),
            field("new", "long", 6, "p6"),
        )
    )
    ids = {"p1": "1", "p2": "2", "p3": "3", "p4": "4"}
    data = pa.table(
        {
            "p1": pa.array([1, 2], pa.int64()),
            "p2": pa.array([{"p3": "x", "p4": 7}, None], pa.struct([("p3", pa.string()), ("p4", pa.int64())])),
        }
    )

    def numbered(each: pa.Field) -> pa.Field:
        kind = (
            pa.struct([numbered(each.type.field(i)) for i in range(each.type.num_fields)])
            if pa.types.is_struct(each.type)
            else each.type
        )
        return pa.field(each.name, kind, metadata={"PARQUET:field_id": ids[each.name]})

    data = data.cast(pa.schema([numbered(each) for each in data.schema]))
    configuration = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "6"}
    TableBuilder(table_path).create(schema, partition_by=["part"], configuration=configuration, protocol=Protocol(2, 5)).commit(
        file_of(table_path, "x.parquet", data, partitionValues={"p5": "9"})
    )
    frame = scan(table_path)
    assert frame.columns == ["a b", "s.t", "part", "new"]
    assert [row.asDict(recursive=True) for row in frame.orderBy("`a b`").collect()] == [
        {"a b": 1, "s.t": {"inner": "x", "other": 7}, "part": 9, "new": None},
        {"a b": 2, "s.t": None, "part": 9, "new": None},
    ]
    assert frame.select("`s.t`.inner").where("inner is not null").count() == 1
    assert frame.where("`s.t`.other = 7").count() == 1


@pytest.mark.usefixtures("way")
def test_files_with_narrower_types_than_the_table(table_path: str, scan: Callable[..., DataFrame]) -> None:
    changes = [{"fromType": "byte", "toType": "decimal(5,1)"}]
    schema = StructType(
        (
            StructField("n", "decimal(5,1)", metadata={"delta.typeChanges": changes}),
            StructField("w", "long", metadata={"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}),
        )
    )
    protocol = Protocol(3, 7, frozenset({"typeWidening"}), frozenset({"typeWidening"}))
    TableBuilder(table_path).create(schema, protocol=protocol).commit(
        file_of(table_path, "old.parquet", {"n": pa.array([1, 2], pa.int8()), "w": pa.array([5, 6], pa.int32())}),
        file_of(table_path, "new.parquet", {"n": pa.array([Decimal("3.5")], pa.decimal128(5, 1)), "w": pa.array([7], pa.int64())}),
    )
    frame = scan(table_path, with_numbers=True)
    assert sorted(map(tuple, frame.select("n", "w").collect())) == [(Decimal(1), 5), (Decimal(2), 6), (Decimal("3.5"), 7)]
    assert {tuple(row) for row in frame.select("w", FILE).collect()} == {(5, 0), (6, 0), (7, 1)} or {
        tuple(row) for row in frame.select("w", FILE).collect()
    } == {(5, 1), (6, 1), (7, 0)}


def test_chars_are_padded_and_compared_as_chars(table_path: str, scan: Callable[..., DataFrame], spark: SparkSession) -> None:
    declared = {"__CHAR_VARCHAR_TYPE_STRING": "char(4)"}
    schema = StructType(
        (StructField("c", "string", metadata={**declared, "comment": "a code"}), StructField("p", "string", metadata=declared))
    )
    TableBuilder(table_path).create(schema, partition_by=["p"]).commit(
        file_of(table_path, "1.parquet", {"c": ["ab", "abcd"]}, partitionValues={"p": "x   "})
    )
    frame = scan(table_path)
    assert sorted(row.c for row in frame.collect()) == ["ab  ", "abcd"]
    assert frame.where("c = 'ab'").count() == 1
    assert frame.where("p = 'x'").count() == 2
    assert frame.schema["c"].metadata["comment"] == "a code"
    frame.createOrReplaceTempView("with_chars")
    assert spark.sql("select * from with_chars where c = 'ab '").count() == 1
    spark.catalog.dropTempView("with_chars")


@pytest.mark.usefixtures("way")
def test_row_ids(table_path: str, scan: Callable[..., DataFrame]) -> None:
    configuration = {
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowIdColumnName": "_row-id-x",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-x",
    }
    protocol = Protocol(1, 7, None, frozenset({"rowTracking", "domainMetadata"}))
    moved = pa.table(
        {
            "id": pa.array([5, 6], pa.int64()),
            "_row-id-x": pa.array([77, None], pa.int64()),
            "_row-commit-version-x": pa.array([1, None], pa.int64()),
        }
    )
    TableBuilder(table_path).create({"id": "long"}, configuration=configuration, protocol=protocol).commit(
        numbers(table_path, "a.parquet", [1, 2], baseRowId=10, defaultRowCommitVersion=3, **without_rows([0])),
        file_of(table_path, "b.parquet", moved, baseRowId=100, defaultRowCommitVersion=9),
    )
    snapshot = bayou.open(table_path).snapshot()
    frame = scan(table_path, with_ids=True, with_numbers=True)
    ids = RowIdColumns.of(snapshot)
    assert ids is not None
    known = ids.known(frame, METADATA).select("id", *ids.columns())
    assert sorted(map(tuple, known.collect())) == [(2, 11, 3), (5, 77, 1), (6, 101, 9)]


def test_columns_with_the_names_of_metadata(table_path: str, scan: Callable[..., DataFrame]) -> None:
    TableBuilder(table_path).create({"_metadata": "long", "__metadata": "long"}).commit(
        file_of(
            table_path,
            "1.parquet",
            {"_metadata": pa.array([1, 2], pa.int64()), "__metadata": pa.array([3, 4], pa.int64())},
            **without_rows([1]),
        )
    )
    assert rows(scan(table_path)) == [(1, 3)]
    assert rows(scan(table_path, with_numbers=True).select("_metadata", f"{METADATA}.row_index")) == [(1, 0)]


def test_a_column_with_the_name_of_an_auxiliary_one_is_refused(table_path: str, scan: Callable[..., DataFrame]) -> None:
    TableBuilder(table_path).create({FILE: "long"})
    with pytest.raises(UnsupportedFeatureError, match=FILE):
        scan(table_path)


@pytest.mark.usefixtures("way")
def test_paths_with_odd_characters(tmp_path: Path, scan: Callable[..., DataFrame]) -> None:
    path = str(tmp_path / "a table ü")
    TableBuilder(path).create({"id": "long"}).commit(*({**numbers(path, "a b%c ü#?.parquet", [1, 2])},))
    log = next(Path(path, "_delta_log").glob("*1.json"))
    log.write_text(log.read_text().replace("a b%c ü#?.parquet", "a%20b%25c%20%C3%BC%23%3F.parquet"))
    assert rows(scan(path)) == [(1,), (2,)]


def test_a_scan_without_a_list_says_how_many_files_it_can_read(
    months: str, scan: Callable[..., DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "scratch_of", lambda *_: None)
    monkeypatch.setattr(sources, "MOST_PATHS", 11)
    with pytest.raises(SessionError, match=r"12 files.*spark\.bayou\.scratch"):
        scan(months)


def test_a_request_that_is_too_large_says_what_to_do(
    months: str, scan: Callable[..., DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "MOST_BYTES", 20)
    with pytest.raises(SessionError, match="at once with a filter"):
        scan(months)
