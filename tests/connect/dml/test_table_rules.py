# SPDX-License-Identifier: Apache-2.0
"""DELETE and UPDATE on a Connect session, of tables with rules: structs, defaults, generated columns, constraints, row ids."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.connect.dml.ruled import LIST, STRUCT, field, ruled_rows, ruled_table

import bayou
from bayou.errors import ConstraintViolationError, InvalidSchemaError, UnsupportedFeatureError
from bayou.spark.portable.scan.rows import scan_frame


@pytest.fixture
def make(spark, table_path):
    return partial(ruled_table, spark, table_path)


@pytest.fixture
def rows(table_path):
    return partial(ruled_rows, table_path)


def test_a_field_of_a_struct_is_set(make, rows):
    make(field("place", STRUCT)).update("place.zip = 3", {"Place.City": "concat(place.city, '!')", "place.zip": "33"})
    assert [row["place"] for row in rows()][2:4] == [{"city": "c2", "zip": 2}, {"city": "c3!", "zip": 33}]


def test_a_struct_is_set_by_the_names_of_its_fields(make, rows):
    make(field("place", STRUCT)).update("id = 3", {"place": "named_struct('zip', 33, 'city', 'x')"})
    assert rows()[3]["place"] == {"city": "x", "zip": 33}


def test_a_field_in_an_array_cannot_be_set(make):
    with pytest.raises(UnsupportedFeatureError):
        make(field("places", LIST)).update("id = 3", {"places.zip": "1"})


def test_default_means_the_default_of_the_column(make, rows):
    table = make(field("n", "integer", CURRENT_DEFAULT="40 + 2"), features=("allowColumnDefaults",))
    table.update("id = 3", {"n": "DEFAULT"})
    assert [row["n"] for row in rows()] == [0, 1, 2, 42, 4]


def test_generated_columns_are_computed_again(make, rows):
    generated = field("double", "integer", **{"delta.generationExpression": "n * 2"})
    make(field("n", "integer"), generated, features=("generatedColumns",)).update("id = 3", {"n": "10"})
    assert [(row["n"], row["double"]) for row in rows()][2:4] == [(2, 4), (10, 20)]


def test_constraints_are_checked(make, rows):
    table = make(field("n", "integer"), features=("checkConstraints",), **{"delta.constraints.small": "n < 100"})
    with pytest.raises(ConstraintViolationError, match="small"):
        table.update("id = 3", {"n": "100"})
    table.update("id = 3", {"n": "99"})
    assert [row["n"] for row in rows()] == [0, 1, 2, 99, 4]


def test_columns_without_null_take_none(make, rows):
    table = make({**field("n", "integer"), "nullable": False})
    with pytest.raises(ConstraintViolationError, match="n"):
        table.update("id = 3", {"n": "null"})
    table.update("id = 3", {"n": "n + 1"})
    assert [row["n"] for row in rows()] == [0, 1, 2, 4, 4]


def test_identity_columns_cannot_be_set(make):
    identity = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}
    with pytest.raises(InvalidSchemaError):
        make(field("n", "long", **identity), features=("identityColumns",)).update("id = 3", {"n": "1"})


def test_row_ids_stay_with_their_rows(make, table_path):
    names = {
        "delta.rowTracking.materializedRowIdColumnName": "_row_id",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row_version",
    }
    table = make(
        field("n", "integer"),
        features=("rowTracking", "domainMetadata"),
        **{"delta.enableRowTracking": "true", **names},
    )
    table.update("id = 3", {"n": "10"})
    table.delete("id = 1")
    snapshot = bayou.open(table_path).snapshot()
    paths = snapshot.files(["path"])["path"].to_pylist()
    stored = pa.concat_tables([pq.read_table(f"{table_path}/{path}") for path in paths]).sort_by("id")
    assert stored["_row_id"].to_pylist() == [0, 2, 3, 4]
    assert stored["_row_version"].to_pylist() == [1, 1, 2, 1]


@pytest.mark.parametrize("settings", [{}, {"spark.sql.ansi.enabled": "false"}], ids=["ansi", "not ansi"])
def test_a_number_that_is_too_large_is_an_error(make, rows, spark, settings):
    table = make(field("n", "integer"))
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        with pytest.raises(Exception, match=r"(?s)overflow.*`n`|`n`.*overflow|cannot hold"):
            table.update("id = 3", {"n": "id + 3000000000"})
    finally:
        for name in settings:
            spark.conf.unset(name)
    assert [row["n"] for row in rows()] == [0, 1, 2, 3, 4]


def test_chars_are_compared_and_stored_with_their_padding(make, rows):
    table = make(field("c", "string", __CHAR_VARCHAR_TYPE_STRING="char(4)"))
    table.update("c = 'b'", {"c": "'x'"})
    assert table.delete("length(c) = 4 and c = 'a   '").num_deleted_rows == 1
    assert [row["c"] for row in rows()] == ["x   ", None, "d   ", "abcd"]


def test_columns_have_the_names_of_the_table(make, table_path, spark):
    mapped = {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "stored-n"}
    of_id = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "id"}
    table = make(
        field("N", "integer", **mapped),
        features=("columnMapping",),
        **{"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"},
        of_id=of_id,
    )
    table.update("n = 3", {"n": "33"})
    assert table.delete("N = 1").num_deleted_rows == 1
    found = scan_frame(spark, bayou.open(table_path).snapshot())
    assert sorted(map(tuple, found.collect())) == [(0, 0), (2, 2), (3, 33), (4, 4)]
