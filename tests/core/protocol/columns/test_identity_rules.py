# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from bayou.errors import InvalidSchemaError, SchemaMismatchError
from bayou.protocol.actions.actions import Metadata
from bayou.protocol.columns.identity_columns import identity_metadata, with_high_water_marks
from bayou.protocol.columns.identity_rules import (
    IdentityConflict,
    check_definition,
    check_no_explicit_values,
    column_to_sync,
    identity_conflict,
)
from bayou.protocol.types.schema import ArrayType, StructField, StructType, schema_to_json

ALWAYS = StructField("Id", "long", metadata=identity_metadata())
BY_DEFAULT = StructField("key", "long", metadata=identity_metadata(allow_explicit_insert=True))
SCHEMA = StructType((ALWAYS, BY_DEFAULT, StructField("v", "string")))


def metadata(schema=SCHEMA, **marks):
    return Metadata("id", schema_to_json(with_high_water_marks(schema, marks)), configuration={"k": "v"})


def refusal(call, *arguments, **options):
    with pytest.raises((InvalidSchemaError, SchemaMismatchError)) as caught:
        call(*arguments, table="t", **options)
    return caught.value.error_class.removeprefix("DELTA_IDENTITY_COLUMNS_"), caught.value.sql_state


def test_a_table_as_it_should_be_is_accepted():
    check_definition(SCHEMA, ["v"], table="t")


@pytest.mark.parametrize(
    ("field", "partitions", "expected"),
    [
        (replace(ALWAYS, type="integer"), [], ("UNSUPPORTED_DATA_TYPE", "428H2")),
        (ALWAYS, ["ID"], ("PARTITION_NOT_SUPPORTED", "42601")),
        (StructField("s", StructType((ALWAYS,))), [], ("UNSUPPORTED_DATA_TYPE", "428H2")),
        (StructField("s", ArrayType(StructType((ALWAYS,)))), [], ("UNSUPPORTED_DATA_TYPE", "428H2")),
        (
            replace(ALWAYS, metadata={**ALWAYS.metadata, "delta.generationExpression": "1"}),
            [],
            ("WITH_GENERATED_EXPRESSION", "42613"),
        ),
    ],
)
def test_a_column_that_cannot_be_an_identity_column_is_refused(field, partitions, expected):
    assert refusal(check_definition, StructType((StructField("v", "string"), field)), partitions) == expected


def test_only_a_column_that_is_generated_by_default_takes_values():
    check_no_explicit_values(SCHEMA, ["KEY", "v"], table="t")
    assert refusal(check_no_explicit_values, SCHEMA, ["iD", "v"]) == ("EXPLICIT_INSERT_NOT_SUPPORTED", "42808")


def test_only_an_identity_column_is_synced():
    assert column_to_sync(SCHEMA, "ID", table="t").name == "Id"
    assert refusal(column_to_sync, SCHEMA, "v") == ("ALTER_NON_IDENTITY_COLUMN", "429BQ")
    assert refusal(column_to_sync, SCHEMA, "gone") == ("ALTER_NON_IDENTITY_COLUMN", "429BQ")


@pytest.mark.parametrize("generated", [[], ["id"], ["Id", "key"]])
def test_the_same_metadata_is_no_conflict(generated):
    assert identity_conflict(metadata(Id=3), metadata(Id=3), generated) is IdentityConflict.NONE


@pytest.mark.parametrize(
    ("generated", "expected"),
    [
        ([], IdentityConflict.TAKE_MARKS),
        (["key"], IdentityConflict.TAKE_MARKS),
        (["ID"], IdentityConflict.GENERATE_AGAIN),
        (["key", "Id"], IdentityConflict.GENERATE_AGAIN),
    ],
)
@pytest.mark.parametrize("before", [{}, {"Id": 3, "key": 4}])
def test_numbers_of_a_column_whose_mark_another_commit_moved_are_generated_again(before, generated, expected):
    assert identity_conflict(metadata(**before), metadata(**before | {"Id": 7}), generated) is expected


@pytest.mark.parametrize(
    "winner",
    [
        replace(metadata(Id=7), configuration={}),
        replace(metadata(Id=7), partition_columns=("v",)),
        metadata(StructType((*SCHEMA.fields, StructField("w", "long"))), Id=7),
        metadata(StructType((replace(ALWAYS, metadata=identity_metadata(1, 2)), *SCHEMA.fields[1:]))),
    ],
)
def test_any_other_change_of_the_metadata_is_one(winner):
    assert identity_conflict(metadata(), winner, []) is IdentityConflict.METADATA_CHANGED
