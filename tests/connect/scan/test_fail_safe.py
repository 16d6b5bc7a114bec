# SPDX-License-Identifier: Apache-2.0
"""A scan whose list of files is broken on purpose fails. It never returns fewer rows, with ANSI mode and without."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

import bayou
from bayou.errors import SessionError
from bayou.spark.portable.scan import carrier as carriers
from bayou.spark.portable.scan import sources
from bayou.spark.portable.scan.carrier import DECOY
from bayou.spark.portable.scan.manifest import LIST
from bayou.spark.portable.scan.rows import scan_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("ansi")

QUERIES: dict[str, Callable[[DataFrame], Any]] = {
    "count": lambda frame: frame.count(),
    "rows": lambda frame: frame.collect(),
    "filter on the partition": lambda frame: frame.where("month = 3").collect(),
    "filter on data": lambda frame: frame.where("id > 33").collect(),
    "no columns": lambda frame: frame.select(F.lit(1)).collect(),
    "aggregate": lambda frame: frame.agg(F.sum("id")).collect(),
    "partition values": lambda frame: frame.select("month").distinct().collect(),
}


@pytest.fixture(params=QUERIES)
def query(request: pytest.FixtureRequest) -> Callable[[DataFrame], Any]:
    return QUERIES[request.param]


def folder_of(frame: DataFrame) -> Path:
    """The folder of the list that was written last, which is the frame's."""
    del frame
    _, scratch, names = list(carriers._all.values())[-1]
    return Path(scratch.store.local_path(names[0])).parents[1]


@pytest.fixture
def fresh(spark: SparkSession, months: str) -> DataFrame:
    return scan_frame(spark, bayou.open(months).snapshot())


def test_the_queries_run_on_a_whole_list(fresh: DataFrame, query: Callable[[DataFrame], Any]) -> None:
    query(fresh)


def test_a_missing_list_is_an_error(fresh: DataFrame, query: Callable[[DataFrame], Any]) -> None:
    (folder_of(fresh) / LIST).unlink()
    with pytest.raises(PySparkException):
        query(fresh)


@pytest.mark.parametrize("kept", [0, 1, 6, 11])
def test_a_list_that_was_cut_is_an_error(fresh: DataFrame, query: Callable[[DataFrame], Any], kept: int) -> None:
    """The list ends after a whole line, so that the rest of it can be read."""
    lines = (folder_of(fresh) / LIST).read_bytes().splitlines(keepends=True)
    assert len(lines) == 13
    (folder_of(fresh) / LIST).write_bytes(b"".join(lines[: kept + 1]))
    with pytest.raises(PySparkException):
        query(fresh)


def test_a_list_that_was_changed_is_an_error(fresh: DataFrame, query: Callable[[DataFrame], Any]) -> None:
    """The list names another file twice instead, and keeps its size."""
    data = (folder_of(fresh) / LIST).read_bytes()
    (folder_of(fresh) / LIST).write_bytes(data.replace(b"month=3/3.parquet", b"month=4/4.parquet"))
    with pytest.raises(SessionError, match="another program changed") as caught:
        query(fresh)
    assert isinstance(caught.value, PySparkException)


def test_a_missing_folder_of_the_list_is_an_error(fresh: DataFrame, query: Callable[[DataFrame], Any]) -> None:
    shutil.rmtree((folder_of(fresh) / LIST).parent)
    with pytest.raises(PySparkException):
        query(fresh)


def test_a_missing_list_without_the_decoy_is_an_error(fresh: DataFrame, query: Callable[[DataFrame], Any]) -> None:
    (folder_of(fresh) / LIST).unlink()
    (folder_of(fresh) / DECOY).unlink()
    with pytest.raises(PySparkException):
        query(fresh)


def test_a_missing_scratch_folder_is_an_error(fresh: DataFrame, query: Callable[[DataFrame], Any]) -> None:
    shutil.rmtree(folder_of(fresh))
    with pytest.raises(PySparkException):
        query(fresh)


def test_a_list_without_the_decoy_is_enough(fresh: DataFrame) -> None:
    (folder_of(fresh) / DECOY).unlink()
    assert fresh.count() == 116


def test_the_list_of_another_version_is_an_error(
    spark: SparkSession, months: str, fresh: DataFrame, query: Callable[[DataFrame], Any]
) -> None:
    mine = folder_of(fresh) / LIST
    with bayou.open(months).transaction("DELETE") as other:
        other.remove_files(other.files().slice(6))
        other.commit()
    newer = scan_frame(spark, bayou.open(months).snapshot())
    assert folder_of(newer) / LIST != mine
    shutil.copy(folder_of(newer) / LIST, mine)
    with pytest.raises(PySparkException, match="not in the list"):
        query(fresh)


def test_a_list_that_spark_ignores_is_an_error(
    spark: SparkSession, months: str, fresh: DataFrame, query: Callable[[DataFrame], Any]
) -> None:
    spark.conf.set("spark.sql.streaming.fileStreamSink.ignoreMetadata", "true")
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        with pytest.raises(PySparkException):
            query(fresh)
        with pytest.raises(SessionError, match="ignoreMetadata"):
            scan_frame(spark, bayou.open(months).snapshot())
    finally:
        spark.conf.unset("spark.sql.streaming.fileStreamSink.ignoreMetadata")
        spark.conf.unset("spark.sql.files.ignoreCorruptFiles")


def test_a_list_that_became_shorter_is_written_again(spark: SparkSession, months: str) -> None:
    snapshot = bayou.open(months).snapshot()
    before = folder_of(scan_frame(spark, snapshot)) / LIST
    before.write_bytes(b"\n".join(before.read_bytes().splitlines()[:-1]))
    assert scan_frame(spark, snapshot).count() == 116


def test_a_missing_data_file_is_an_error(spark: SparkSession, months: str, query: Callable[[DataFrame], Any]) -> None:
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        frame = scan_frame(spark, bayou.open(months).snapshot())
        Path(months, "month=3", "3.parquet").unlink()
        with pytest.raises(PySparkException):
            query(frame)
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")


def test_without_a_list_a_file_that_is_not_in_the_log_is_an_error(
    spark: SparkSession, months: str, query: Callable[[DataFrame], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "scratch_of", lambda *_: None)
    frame = scan_frame(spark, bayou.open(months).snapshot())
    query(frame)
    # Spark takes a folder for a path: then it reads files that nobody named.
    file = Path(months, "month=3", "3.parquet")
    data = file.read_bytes()
    file.unlink()
    file.mkdir()
    (file / "other.parquet").write_bytes(data)
    with pytest.raises(PySparkException):
        query(scan_frame(spark, bayou.open(months).snapshot()))
