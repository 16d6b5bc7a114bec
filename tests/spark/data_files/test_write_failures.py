# SPDX-License-Identifier: Apache-2.0
"""Folders and files that cannot be created: one error of one sentence that names the table and the path."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import IllegalArgumentException, PySparkException

import bayou
from bayou.errors import StorageError

LONG = "x" * 300


def refused(action, table):
    with pytest.raises(StorageError) as caught:
        action()
    assert isinstance(caught.value, PySparkException)
    assert table in str(caught.value)
    assert "\n\tat " not in str(caught.value)
    assert len(str(caught.value)) < 1200
    return caught.value


def test_a_partition_value_that_is_too_long_for_a_folder(spark, table_path):
    rows = spark.sql(f"select 1 id, '{LONG}' k")
    refused(lambda: rows.write.format("delta").partitionBy("k").save(table_path), table_path)
    assert not Path(table_path, "_delta_log").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "insert into {} values (2, '{}')",
        "update {} set k = '{}'",
        "merge into {} t using (select 2 id) s on t.id = s.id when not matched then insert (id, k) values (s.id, '{}')",
    ],
)
def test_so_it_is_for_every_statement(spark, table_path, statement):
    bayou.write(spark.sql("select 1 id, 'a' k"), table_path, partition_by=["k"])
    refused(lambda: spark.sql(statement.format(f"delta.`{table_path}`", LONG)).collect(), table_path)
    assert [tuple(row) for row in bayou.read(spark, table_path).collect()] == [(1, "a")]


def test_a_folder_of_a_partition_that_is_a_file(spark, table_path):
    bayou.write(spark.sql("select 1 id, 'a' k"), table_path, partition_by=["k"])
    Path(table_path, "k=b").touch()
    refused(lambda: bayou.write(spark.sql("select 2 id, 'b' k"), table_path, mode="append"), table_path)


@pytest.mark.parametrize("where", ["dangling link", "file", "below a file", "long name", "no permission"])
def test_a_table_whose_folder_cannot_be_created(spark, tmp_path, where):
    place = tmp_path / "t"
    if where == "dangling link":
        place.symlink_to(tmp_path / "nowhere")
    elif where in ("file", "below a file"):
        place.touch()
        place = place / "t" if where == "below a file" else place
    elif where == "long name":
        place = tmp_path / LONG
    else:
        place = "/proc/t"  # where nobody may create a folder, whoever runs the tests
    refused(lambda: spark.range(3).write.format("delta").save(str(place)), str(place))


def test_nul_in_a_path_is_refused(spark, tmp_path):
    with pytest.raises(IllegalArgumentException, match="contains NUL"):
        spark.range(3).write.format("delta").save(f"{tmp_path}/a\0b")


def test_errors_of_the_rows_stay_what_they_are(spark, table_path, tmp_path):
    spark.range(3).write.parquet(str(tmp_path / "source"))
    rows = spark.read.parquet(str(tmp_path / "source"))
    for file in (tmp_path / "source").glob("*.parquet"):
        file.write_bytes(b"no parquet")
    with pytest.raises(Exception) as caught:
        bayou.write(rows, table_path)
    assert not isinstance(caught.value, StorageError)
    with pytest.raises(Exception, match="boom"):
        bayou.write(spark.sql("select cast(raise_error('boom') as int) v, 1 id"), table_path)
