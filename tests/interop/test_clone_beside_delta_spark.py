# SPDX-License-Identifier: Apache-2.0
"""CLONE by delta-spark and by us of one table: the same commit, and each engine goes on with the other's clone."""

from __future__ import annotations

import json

import pytest
from tests.interop.delta_rs import by_data_set, rows_of

import bayou

pytestmark = pytest.mark.oracle

KINDS = {
    "plain": "",
    "vectors": "'delta.enableDeletionVectors' = 'true'",
    "row ids": "'delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true'",
    "mapped": "'delta.columnMapping.mode' = 'name', 'delta.enableChangeDataFeed' = 'true'",
    "timestamps": "'delta.enableInCommitTimestamps' = 'true', 'own' = 'value'",
}


@pytest.fixture(params=KINDS)
def source(request, delta_spark, tmp_path):
    root = tmp_path / "the table ü"
    name = f"delta.`{root}`"
    properties = f"TBLPROPERTIES ({KINDS[request.param]})" if KINDS[request.param] else ""
    delta_spark.sql(
        f"CREATE TABLE {name} (id BIGINT, p STRING) USING delta PARTITIONED BY (p) {properties}",
        f"INSERT INTO {name} SELECT id, if(id < 5, 'a', 'b c%') FROM range(0, 10, 1, 1)",
        f"DELETE FROM {name} WHERE id IN (1, 7)",
        f"INSERT INTO {name} VALUES (20, NULL)",
    )
    return root


def commit(root, version=0):
    """The actions of a commit, without what differs from run to run; files are found by their paths."""
    found = {}
    for line in (root / "_delta_log" / f"{version:020d}.json").read_text().splitlines():
        ((kind, value),) = json.loads(line).items()
        if kind == "commitInfo":
            names = ("operation", "operationParameters", "operationMetrics", "isBlindAppend", "isolationLevel")
            value = {name: value.get(name) for name in names}
        if kind == "metaData":
            value = {name: each for name, each in value.items() if name not in {"id", "createdTime"}}
            configuration = {key: each for key, each in value["configuration"].items() if "materialized" not in key}
            value["configuration"] = configuration
        if kind == "protocol":
            value = {name: sorted(each) if isinstance(each, list) else each for name, each in value.items()}
        if kind == "add":
            value["stats"] = json.loads(value["stats"])
            found.setdefault(kind, {})[value["path"]] = value
        else:
            found.setdefault(kind, []).append(value)
    return found


def test_a_shallow_clone_is_the_same_commit(delta_spark, source, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    delta_spark.sql(f"CREATE TABLE delta.`{theirs}` SHALLOW CLONE delta.`{source}` TBLPROPERTIES ('more' = 'x')")
    bayou.open(source).clone(ours, shallow=True, properties={"more": "x"})
    found, wanted = commit(ours), commit(theirs)
    for each in (found, wanted):
        for row_ids in each["add"].values():
            row_ids.pop("baseRowId", None)  # given in the order of the files
    assert found == wanted


@pytest.mark.parametrize("shallow", [True, False], ids=["shallow", "deep"])
def test_each_engine_goes_on_with_a_clone_of_the_other(delta_spark, source, tmp_path, shallow):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    bayou.open(source).clone(ours, shallow=shallow)
    select = f"SELECT id, p FROM delta.`{ours}` ORDER BY id"
    of_source = delta_spark.sql(select.replace(str(ours), str(source)))
    assert delta_spark.sql(select) == of_source
    delta_spark.sql(f"UPDATE delta.`{ours}` SET p = 'z' WHERE id = 3", f"DELETE FROM delta.`{ours}` WHERE id = 8")
    assert delta_spark.sql(f"SELECT count(*) FROM delta.`{ours}`") == [["8"]]
    assert delta_spark.sql(select.replace(str(ours), str(source))) == of_source
    if not shallow:
        bayou.open(source).clone(ours, replace=True)
        assert delta_spark.sql(select) == of_source
    delta_spark.sql(f"CREATE TABLE delta.`{theirs}` SHALLOW CLONE delta.`{source}`")
    bayou.open(theirs).clone(tmp_path / "copy")
    assert delta_spark.sql(select.replace(str(ours), str(tmp_path / "copy"))) == of_source


def test_delta_rs_reads_a_deep_clone(delta_spark, tmp_path):
    name = f"delta.`{tmp_path}/source`"
    delta_spark.sql(f"CREATE TABLE {name} USING delta PARTITIONED BY (p) AS SELECT id, id % 2 AS p FROM range(10)")
    bayou.open(tmp_path / "source").clone(tmp_path / "clone")
    assert rows_of(by_data_set(tmp_path / "clone")) == rows_of(by_data_set(tmp_path / "source"))
