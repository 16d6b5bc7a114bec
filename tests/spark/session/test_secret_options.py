# SPDX-License-Identifier: Apache-2.0
"""Keys and tokens that are given as options of a file system are in no commit, no error and no warning."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from bayou import DeltaTable

OPTIONS = {"fs.s3a.secret.key": "TOPSECRET", "fs.s3a.session.token": "TOPSECRET"}


def texts(error):
    """All that an error and those behind it say."""
    found = []
    while error is not None:
        found += [str(error), repr(error), *map(repr, vars(error).values())]
        error = error.__cause__ or error.__context__
    return " ".join(found)


def test_the_log_does_not_hold_them(spark, table_path):
    rows = spark.range(0, 5, 1, 1)
    for mode in ("append", "overwrite"):
        rows.write.format("delta").options(**OPTIONS).mode(mode).save(table_path)
    table = DeltaTable.forPath(spark, table_path, OPTIONS)
    table.update("id = 1", {"id": "9"})
    table.delete("id = 2")
    table.alias("t").merge(rows.alias("s"), "t.id = s.id").whenNotMatchedInsertAll().execute()
    commits = sorted(Path(table_path, "_delta_log").glob("*"))
    assert len([each for each in commits if each.suffix == ".json"]) == 5
    assert not [each.name for each in commits if b"TOPSECRET" in each.read_bytes()]
    assert "TOPSECRET" not in repr(table.history().collect())


@pytest.mark.parametrize("what", ["rows of another schema", "no table", "a job that fails", "an option that is none", "a stream"])
def test_no_error_and_no_warning_shows_them(spark, table_path, tmp_path, caplog, what):
    spark.range(0, 5, 1, 1).write.format("delta").options(**OPTIONS).save(table_path)
    act = {
        "rows of another schema": lambda w: w("select 'a' as other", {}).save(table_path),
        "no table": lambda _: spark.read.format("delta").options(**OPTIONS).load(str(tmp_path / "none")).collect(),
        "a job that fails": lambda w: w("select raise_error('stop') as id", {}).save(str(tmp_path / "new")),
        "an option that is none": lambda w: w("select 1L as id", {"mergeSchema": "perhaps", "unheardOf": "1"}).save(table_path),
        "a stream": lambda _: spark.readStream.format("delta").options(**OPTIONS, startingVersion="x").load(table_path),
    }[what]
    with caplog.at_level(logging.DEBUG), pytest.raises(Exception) as caught:
        act(lambda query, more: spark.sql(query).write.format("delta").mode("append").options(**OPTIONS, **more))
    assert "TOPSECRET" not in texts(caught.value)
    # py4j's own log of calls, where a program asks for it, holds all that is sent.
    assert "TOPSECRET" not in "\n".join(each.getMessage() for each in caplog.records if not each.name.startswith("py4j"))
