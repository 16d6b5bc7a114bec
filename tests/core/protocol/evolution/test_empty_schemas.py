# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.errors import InvalidSchemaError, SchemaMismatchError
from bayou.log.operations.create import first_actions
from bayou.protocol.evolution.schema_changes import AddedColumn, add_columns
from bayou.protocol.evolution.schema_merge import check_write, merge_schemas
from bayou.protocol.types.paths import TableRules
from bayou.protocol.types.schema import StructField, StructType, parse_schema

EMPTY = StructType()
NUMBERS = StructType((StructField("id", "long"),))


@pytest.mark.parametrize("properties", [{}, {"delta.columnMapping.mode": "name"}, {"delta.enableRowTracking": "true"}])
def test_a_table_may_be_made_without_columns_where_that_is_said(properties):
    made = first_actions(EMPTY, (), properties, table="t", may_be_empty=True)
    assert parse_schema(made.metadata.schema_string) == EMPTY
    with pytest.raises(InvalidSchemaError) as caught:
        first_actions(EMPTY, (), properties, table="t")
    assert (caught.value.error_class, caught.value.sql_state) == ("DELTA_EMPTY_DATA", "428GU")


def test_a_table_without_columns_has_nothing_to_be_partitioned_by():
    with pytest.raises(InvalidSchemaError):
        first_actions(EMPTY, ("day",), {}, table="t", may_be_empty=True)


def test_its_columns_come_by_merging_and_by_adding():
    assert merge_schemas(EMPTY, NUMBERS) == NUMBERS
    assert add_columns(EMPTY, [AddedColumn(NUMBERS.fields[0])], TableRules("t", 0)) == NUMBERS
    with pytest.raises(SchemaMismatchError):
        check_write(EMPTY, NUMBERS, partition_columns=(), partition_by=None, overwrite=False, table_id="i")
