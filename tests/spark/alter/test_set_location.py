# SPDX-License-Identifier: Apache-2.0
"""SET LOCATION: a name stands for the table in another folder, if it is one with the same columns."""

from __future__ import annotations

import uuid

import pytest
from tests.support.tables.built import ids

import bayou
from bayou.errors import InvalidOptionError, InvalidSchemaError, TableNotFoundError


@pytest.fixture
def two_tables(spark, tmp_path):
    """A name for a table of two rows, and the path of another one with the same columns and three."""
    name, first, second = f"t_{uuid.uuid4().hex[:8]}", str(tmp_path / "first"), str(tmp_path / "second")
    bayou.write(spark.range(2), first)
    bayou.write(spark.range(3), second)
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{first}'")
    yield name, second
    spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.mark.smoke
def test_a_name_stands_for_the_table_in_another_folder(spark, two_tables):
    name, second = two_tables
    assert spark.table(name).count() == 2
    spark.sql(f"ALTER TABLE {name} SET LOCATION '{second}'")
    assert spark.table(name).count() == 3
    spark.sql(f"INSERT INTO {name} VALUES (7)")
    assert sorted(ids(bayou.read(spark, second))) == [0, 1, 2, 7]
    assert bayou.open(second).version() == 1


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_table_of_other_columns_takes_no_name(spark, two_tables, tmp_path, partitioned):
    name, _ = two_tables
    other = str(tmp_path / "other")
    rows = spark.sql("select 1L id, 2 p") if partitioned else spark.sql("select 'a' id")
    bayou.write(rows, other, partition_by=["p"] if partitioned else [])
    with pytest.raises(InvalidSchemaError) as caught:
        spark.sql(f"ALTER TABLE {name} SET LOCATION '{other}'")
    assert caught.value.error_class == "DELTA_SET_LOCATION_SCHEMA_MISMATCH"
    assert spark.table(name).count() == 2
    spark.conf.set("spark.databricks.delta.alterLocation.bypassSchemaCheck", "true")
    try:
        spark.sql(f"ALTER TABLE {name} SET LOCATION '{other}'")
    finally:
        spark.conf.unset("spark.databricks.delta.alterLocation.bypassSchemaCheck")
    assert spark.table(name).count() == 1


def test_a_folder_without_a_table_takes_no_name_and_a_path_has_one_place(spark, two_tables, tmp_path):
    name, second = two_tables
    with pytest.raises(TableNotFoundError) as caught:
        spark.sql(f"ALTER TABLE {name} SET LOCATION '{tmp_path / 'nothing'}'")
    assert caught.value.error_class == "DELTA_MISSING_DELTA_TABLE"
    with pytest.raises(InvalidOptionError) as caught:
        spark.sql(f"ALTER TABLE delta.`{second}` SET LOCATION '{second}'")
    assert caught.value.error_class == "DELTA_CANNOT_SET_LOCATION_ON_PATH_IDENTIFIER"
    assert spark.table(name).count() == 2
