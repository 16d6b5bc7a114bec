# SPDX-License-Identifier: Apache-2.0
"""Names that no column gets; `test_validity` has those that every check of a schema refuses."""

from __future__ import annotations

import pytest

from bayou.errors import InvalidSchemaError
from bayou.protocol.schema.reserved_names import check_leftover_names
from bayou.protocol.types.schema import PHYSICAL_NAME, StructField, StructType

ID = StructField("id", "long")


def struct(*fields):
    return StructType((ID, *fields))


@pytest.mark.parametrize("kind", ["long", StructType((ID,))], ids=["number", "struct"])
@pytest.mark.parametrize("known", [struct(), struct(StructField("_change_type", "void"))], ids=["new", "void before"])
def test_a_column_that_files_have_as_a_text_since_there_was_a_feed_is_added_as_a_text_or_not_at_all(kind, known):
    with pytest.raises(InvalidSchemaError) as caught:
        check_leftover_names(struct(StructField("_Change_Type", kind)), known, "/t", version=3)
    assert (caught.value.error_class, caught.value.version) == ("DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED", 3)
    assert caught.value.columns == ("_Change_Type",)


@pytest.mark.parametrize(
    ("column", "known"),
    [
        (StructField("_change_type", "string"), struct()),
        (StructField("_change_type", "void"), struct()),
        (StructField("_commit_version", "integer"), struct()),
        (StructField("_change_type", "long"), struct(StructField("_change_type", "long"))),
        (StructField("kind", "long", metadata={PHYSICAL_NAME: "_change_type"}), struct(StructField("_change_type", "long"))),
        (StructField("_change_type", "long", metadata={PHYSICAL_NAME: "col-1"}), struct()),
        (StructField("s", StructType((StructField("_change_type", "long"),))), struct()),
    ],
    ids=["a text", "void", "in no file", "there before", "renamed", "with a name of its own in the files", "in a struct"],
)
def test_a_column_that_no_file_has_as_a_text_may_have_any_type(column, known):
    check_leftover_names(struct(column), known, "/t")
