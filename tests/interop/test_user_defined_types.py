# SPDX-License-Identifier: Apache-2.0
"""Columns of user-defined types, by turns with delta-spark: each says in the log what the other says."""

from __future__ import annotations

import json

import pytest
from pyspark.ml.linalg import DenseVector, SparseVector, VectorUDT

import bayou

pytestmark = pytest.mark.oracle
ONE, TWO = DenseVector([1.0, 2.0]), SparseVector(3, {1: 4.0})


def schema_string(path):
    return json.loads(bayou.open(path).snapshot().metadata.schema_string)


def test_vectors_go_from_one_engine_to_the_other(spark, delta_spark, tmp_path):
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    bayou.write(spark.createDataFrame([(1, ONE), (2, TWO)], ["id", "features"]), ours)
    delta_spark.sql(f"CREATE TABLE delta.`{theirs}` USING delta AS SELECT * FROM delta.`{ours}`")
    assert schema_string(ours) == schema_string(theirs)
    delta_spark.sql(f"UPDATE delta.`{ours}` SET id = 5 WHERE id = 2")
    bayou.DeltaTable.forPath(spark, theirs).update("id = 2", {"id": "5"})
    for path in (ours, theirs):
        found = bayou.read(spark, path)
        assert found.schema["features"].dataType == VectorUDT()
        assert sorted(map(tuple, found.collect())) == [(1, ONE), (5, TWO)]
    bayou.DeltaTable.forPath(spark, theirs).addColumns(spark.sql("select cast(null as int) more").schema)
    assert delta_spark.sql(f"SELECT id, more FROM delta.`{theirs}` WHERE id = 5") == [["5", None]]
    described = {field["name"]: field["type"] for field in schema_string(theirs)["fields"]}
    assert described["features"] == VectorUDT().jsonValue()
