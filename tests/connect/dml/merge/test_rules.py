# SPDX-License-Identifier: Apache-2.0
"""MERGE on a Connect session into tables with rules: structs, defaults, generated columns, constraints, row ids."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.connect.dml.merge.sources import merged
from tests.connect.dml.ruled import STRUCT, field, ruled_rows, ruled_table

import bayou
from bayou.errors import ConstraintViolationError, InvalidSchemaError


@pytest.fixture
def make(spark, table_path):
    return partial(ruled_table, spark, table_path)


@pytest.fixture
def rows(table_path):
    return partial(ruled_rows, table_path)


def source_of(spark):
    return spark.sql("select * from values (3L, 30), (9L, 90) as s (id, n)")


def test_structs(spark, make, rows):
    merge = merged(make(field("place", STRUCT)), source_of(spark)).whenMatchedUpdate(set={"place.zip": "s.n"})
    merge.whenNotMatchedInsert(values={"id": "id", "place": "named_struct('zip', n, 'city', 'x')"}).execute()
    assert [row["place"] for row in rows()][3:] == [{"city": "c3", "zip": 30}, {"city": "c4", "zip": 4}, {"city": "x", "zip": 90}]


def test_defaults(spark, make, rows):
    table = make(field("n", "integer", CURRENT_DEFAULT="40 + 2"), features=("allowColumnDefaults",))
    merged(table, source_of(spark)).whenNotMatchedInsert(values={"id": "s.id"}).execute()
    assert [row["n"] for row in rows()] == [0, 1, 2, 3, 4, 42]


def test_generated_columns(spark, make, rows):
    generated = field("double", "integer", **{"delta.generationExpression": "n * 2"})
    table = make(field("n", "integer"), generated, features=("generatedColumns",))
    merged(table, source_of(spark)).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert [row["double"] for row in rows()] == [0, 2, 4, 60, 8, 180]


def test_constraints(spark, make, rows):
    table = make(field("n", "integer"), features=("checkConstraints",), **{"delta.constraints.small": "n < 90"})
    with pytest.raises(ConstraintViolationError, match="small"):
        merged(table, source_of(spark)).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    merged(table, source_of(spark)).whenMatchedUpdateAll().execute()
    assert [row["n"] for row in rows()] == [0, 1, 2, 30, 4]


def test_identity_columns(spark, make, rows):
    identity = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": True}
    identity["delta.identity.highWaterMark"] = 10
    table = make(field("n", "long", **identity), features=("identityColumns",))
    before = [row["n"] for row in rows()]
    new = spark.sql("select * from values (3L, 30), (9L, 90), (10L, 10) as s (id, n)")
    merge = merged(table, new).whenMatchedUpdate(set={"id": "s.id + 100"})
    merge.whenNotMatchedInsert("s.n < 50", values={"id": "s.id", "n": "7"}).whenNotMatchedInsert(values={"id": "s.id"}).execute()
    found = {row["id"]: row["n"] for row in rows()}
    assert (found[103], found[10]) == (before[3], 7)
    assert found[9] > 10
    with pytest.raises(InvalidSchemaError):
        merged(table, source_of(spark)).whenMatchedUpdate(set={"n": "1"}).execute()


def test_row_ids_stay_with_their_rows(spark, make, table_path):
    names = {
        "delta.rowTracking.materializedRowIdColumnName": "_row_id",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row_version",
    }
    features = ("rowTracking", "domainMetadata")
    table = make(field("n", "integer"), features=features, **{"delta.enableRowTracking": "true", **names})
    merged(table, source_of(spark)).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    paths = bayou.open(table_path).snapshot().files(["path"])["path"].to_pylist()
    stored = pa.concat_tables([pq.read_table(f"{table_path}/{path}") for path in paths]).sort_by("id")
    assert stored["_row_id"].to_pylist() == [0, 1, 2, 3, 4, None]
    assert stored["_row_version"].to_pylist() == [1, 1, 1, None, 1, None]


def test_chars_are_compared_with_their_padding(spark, make, rows):
    table = make(field("c", "string", __CHAR_VARCHAR_TYPE_STRING="char(4)"))
    merged(table, source_of(spark), "t.c = 'b   ' and s.id = 3").whenMatchedUpdate(set={"c": "'x'"}).execute()
    assert [row["c"] for row in rows()] == ["a   ", "x   ", None, "d   ", "abcd"]
