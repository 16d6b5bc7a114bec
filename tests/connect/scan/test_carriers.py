# SPDX-License-Identifier: Apache-2.0
"""Lists of files: where they are written, who shares them, and when they are deleted."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.support.tables.built import file_of, numbers_table

import bayou
from bayou.errors import SessionError
from bayou.spark.portable.scan import carrier as carriers
from bayou.spark.portable.scan.rows import scan_frame
from bayou.spark.portable.scratch import scratch
from bayou.spark.portable.scratch.owners import delete_orphans
from bayou.spark.portable.scratch.reach import Reach
from bayou.spark.portable.scratch.scratch import IN_TABLE, SETTING
from bayou.storage import open_store, qualify
from bayou.testing.table_builder import TableBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession
    from tests.support.connect_server import ConnectServer


@pytest.fixture
def given_scratch(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """The setting names a folder of this test."""
    folder = tmp_path / "scratch"
    spark.conf.set(SETTING, str(folder))
    yield folder
    spark.conf.unset(SETTING)


def lists(folder: Path) -> list[Path]:
    return sorted(folder.rglob("_spark_metadata/0"))


def test_one_list_serves_all_scans_of_a_version(spark: SparkSession, months: str, given_scratch: Path) -> None:
    snapshot = bayou.open(months).snapshot()
    frames = [scan_frame(spark, snapshot), scan_frame(spark, bayou.open(months).snapshot(), None, ["id"], with_numbers=True)]
    assert len(lists(given_scratch)) == 1
    assert [frame.count() for frame in frames] == [116, 116]


def test_a_list_that_was_deleted_is_written_again_at_the_next_action(spark: SparkSession, months: str, given_scratch: Path) -> None:
    frame = spark.read.format("delta").load(months)
    assert frame.count() == 116
    (found,) = lists(given_scratch)
    found.unlink()
    assert frame.where("id >= 0").count() == frame.count() == 116


def test_threads_share_a_list(spark: SparkSession, months: str, given_scratch: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: scan_frame(spark, bayou.open(months).snapshot()).count(), range(16)))
    assert found == [116] * 16
    assert len(lists(given_scratch)) == 1


def test_a_list_lives_as_long_as_a_snapshot_or_a_frame(spark: SparkSession, months: str, given_scratch: Path) -> None:
    frame = scan_frame(spark, bayou.open(months).snapshot()).where("id > 100").select("id")
    gc.collect()
    carriers._delete_discarded()
    assert frame.count() == 29 - 1
    del frame
    gc.collect()
    carriers._delete_discarded()
    assert not lists(given_scratch)
    assert [path.name for path in given_scratch.rglob("*") if path.is_file()] == ["owner"]


def test_lists_of_chosen_files_are_found_again(spark: SparkSession, months: str, given_scratch: Path) -> None:
    for _ in range(3):
        assert scan_frame(spark, bayou.open(months).snapshot(), pa.array([0, 1])).select("month").distinct().count() == 2
    assert len(lists(given_scratch)) == 1


def test_a_local_table_is_read_without_a_file_in_its_folder(spark: SparkSession, months: str) -> None:
    before = sorted(Path(months).rglob("*"))
    assert scan_frame(spark, bayou.open(months).snapshot()).count() == 116
    assert sorted(Path(months).rglob("*")) == before


def test_the_table_has_the_list_if_the_temporary_folder_is_not_shared(
    spark: SparkSession, months: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "_temporary_folder", lambda _: None)
    frame = scan_frame(spark, bayou.open(months).snapshot())
    assert len(lists(Path(months, IN_TABLE))) == 1
    assert frame.where("month = 3").count() == 9
    assert spark.read.parquet(months).count() == 120  # other readers of the folder see data files only
    del frame
    gc.collect()
    carriers._delete_discarded()
    assert not lists(Path(months, IN_TABLE))


def test_a_folder_that_the_server_does_not_see_is_refused(
    spark: SparkSession, months: str, given_scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch.Scratch, "place", lambda _, name: f"/elsewhere/{name}")
    with pytest.raises(SessionError, match="both need the same folder") as refused:
        scan_frame(spark, bayou.open(months).snapshot())
    assert str(given_scratch) in str(refused.value)


def test_a_folder_of_the_same_name_elsewhere_is_noticed(
    spark: SparkSession, months: str, given_scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has a file of that name, with another content."""
    (tmp_path / "other.txt").write_text("something else")
    monkeypatch.setattr(scratch.Scratch, "place", lambda *_: str(tmp_path / "other.txt"))
    with pytest.raises(SessionError):
        scan_frame(spark, bayou.open(months).snapshot())


def test_without_a_shared_folder_the_request_has_the_paths(
    spark: SparkSession, months: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "reach_of", lambda *_: Reach(not_written="it is another disk"))
    assert scan_frame(spark, bayou.open(months).snapshot()).count() == 116


@pytest.mark.parametrize("in_table", [False, True])
def test_the_end_of_the_process_deletes_its_lists(server: ConnectServer, months: str, tmp_path: Path, *, in_table: bool) -> None:
    program = """
import sys, bayou
from pyspark.sql import SparkSession
from bayou.spark.portable.scratch import scratch
from bayou.spark.portable.scan.rows import scan_frame
if sys.argv[3] == "True":
    scratch._temporary_folder = lambda _: None
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
kept = scan_frame(spark, bayou.open(sys.argv[2]).snapshot())
print(kept.count())
"""
    arguments = [server.url, months, str(in_table)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    before = sorted(Path(months).rglob("*"))
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.stdout.strip() == "116", ended.stderr
    assert not list(tmp_path.glob("bayou-scratch-*"))
    assert sorted(Path(months).rglob("*")) == before


PROGRAM_THAT_IS_KILLED = """
import os, signal, sys, bayou
from pyspark.sql import SparkSession
from bayou.spark.portable.scan.rows import scan_frame
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
if sys.argv[3]:
    spark.conf.set("spark.bayou.scratch", sys.argv[3])
frame = scan_frame(spark, bayou.open(sys.argv[2]).snapshot())
print(frame.count(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("is_given", [True, False])
def test_the_folder_of_a_killed_client_is_deleted_by_the_next(
    server: ConnectServer, spark: SparkSession, months: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_given: bool
) -> None:
    given = str(tmp_path / "given") if is_given else ""
    arguments = [sys.executable, "-c", PROGRAM_THAT_IS_KILLED, server.url, months, given]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    for _ in range(2):  # the second one deletes the folder of the first
        ended = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
        assert ended.stdout.strip() == "116", ended.stderr
        assert len(lists(tmp_path)) == 1
    # Not those in use: of this process, and of one that has just begun.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    begun = (tmp_path / "given" if is_given else tmp_path) / "bayou-scratch-begun"
    begun.mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    scratch._temporary_folder.cache_clear()
    spark.conf.set(SETTING, given)
    try:
        frame = scan_frame(spark, bayou.open(months).snapshot())
        assert len(lists(tmp_path)) == 1
        delete_orphans(open_store(qualify(str(begun.parent))), "", Path(list(carriers._all.values())[-1][1].uri).name)
        assert frame.count() == 116
        assert begun.exists()
    finally:
        spark.conf.unset(SETTING)
        scratch._temporary_folder.cache_clear()


def test_ten_thousand_files(spark: SparkSession, table_path: str) -> None:
    shape = {"id": pa.array([1, 2], pa.int64())}
    first = file_of(table_path, "0.parquet", shape, partitionValues={"part": "0"})
    data = Path(table_path, "0.parquet").read_bytes()
    actions: list[Any] = [first]
    for number in range(1, 10_000):
        if number % 100 == 0:
            Path(table_path, f"{number}.parquet").write_bytes(data)
        actions.append(_moved(first, f"{number}.parquet", str(number)))
    TableBuilder(table_path).create({"id": "long", "part": "integer"}, partition_by=["part"]).commit(*actions)
    frame = scan_frame(spark, bayou.open(table_path).snapshot(), with_numbers=True)
    # Only each hundredth file exists.
    assert frame.where("part % 100 = 0").count() == 200
    assert [row.part for row in frame.where("part = 300").collect()] == [300, 300]


def _moved(action: dict[str, Any], path: str, part: str) -> dict[str, Any]:
    return {"add": {**action["add"], "path": path, "partitionValues": {"part": part}}}


def test_a_list_of_a_table_without_files(spark: SparkSession, table_path: str) -> None:
    numbers_table(table_path)
    frame = scan_frame(spark, bayou.open(table_path).snapshot(), with_numbers=True, with_metadata=True)
    assert frame.collect() == []
    assert frame.select("id").columns == ["id"]
