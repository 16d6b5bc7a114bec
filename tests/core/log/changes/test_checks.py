# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from tests.support.tables.feed_actions import FEED, gone

from bayou.errors import InvalidSchemaError, TimeTravelError, UnsupportedFeatureError
from bayou.log.changes.checks import SchemaMode
from bayou.log.changes.range import ChangeBounds
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import FIELD_ID, PHYSICAL_NAME, StructField, StructType
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove

ID = {"id": "long"}


def table(schema=None, *, configuration=FEED, **options):
    return TableBuilder(store=MemoryStore()).create(schema or ID, configuration=configuration, **options).commit(add("a"))


def feed(builder, start=0, end=None, **options):
    return builder.log().change_feed(ChangeBounds(starting_version=start, ending_version=end), **options)


def refused(builder, start=0, end=None, error=UnsupportedFeatureError, **options):
    with pytest.raises(error) as caught:
        feed(builder, start, end, **options)
    assert caught.value.table == builder.uri
    return caught.value


def not_recorded(builder, start, end, version):
    error = refused(builder, start, end, TimeTravelError)
    assert (error.getErrorClass(), error.sql_state) == ("DELTA_MISSING_CHANGE_DATA", "KD002")
    assert error.version == version
    assert f"[{version}]" in str(error)
    return error.start, error.end


def test_changes_of_a_table_that_does_not_record_them_are_refused():
    assert not_recorded(table(configuration={}), 1, None, 1) == (1, 1)


def test_a_range_that_begins_before_the_recording_is_refused():
    builder = table(configuration={}).commit(metadata(ID, configuration=FEED)).commit(add("b"))
    assert not_recorded(builder, 1, None, 1) == (1, 3)
    assert feed(builder, 2).files["path"].to_pylist() == ["b"]


def test_a_range_in_which_the_recording_stops_is_refused():
    off = metadata(ID, configuration={"delta.enableChangeDataFeed": "false"})
    builder = table().commit(off).commit(add("b")).commit(metadata(ID, configuration=FEED))
    assert not_recorded(builder, 0, 4, 2) == (0, 4)
    assert feed(builder, 0, 1).files["path"].to_pylist() == ["a"]
    assert not_recorded(builder, 2, None, 2) == (2, 4)


@pytest.mark.parametrize(
    ("configuration", "records"),
    [
        ({"delta.enableChangeDataCapture": "true"}, True),
        ({"delta.enableChangeDataCapture": "true", "delta.enableChangeDataFeed": "false"}, False),
        ({"delta.enableChangeDataCapture": "false", "delta.enableChangeDataFeed": "true"}, True),
    ],
)
def test_the_old_name_of_the_property_counts_where_the_new_one_is_not_set(configuration, records):
    builder = table(configuration=configuration)
    if records:
        assert feed(builder).files.num_rows == 1
    else:
        refused(builder, error=TimeTravelError)


def test_a_version_that_cannot_be_read_is_refused_though_both_ends_can():
    unknown = {"protocol": Protocol(3, 7, ("newFeature",), ("newFeature",)).to_json()}
    builder = table().commit(unknown).commit({"protocol": Protocol(3, 7, (), ()).to_json()})
    error = refused(builder)
    assert (error.features, error.version) == (("newFeature",), 2)


def test_columns_that_were_added_are_in_the_schema_of_the_latest_version():
    builder = table().commit(metadata({**ID, "b": "string"}, configuration=FEED), add("b"))
    assert feed(builder, 0, 1).schema.names == ("id", "b", "_change_type", "_commit_version", "_commit_timestamp")
    assert feed(builder).files.num_rows == 2


@pytest.mark.parametrize(
    "schema",
    [{"other": "long"}, {"id": "integer"}, {"ID": "long"}, {"id": "long", "b": "long"}],
    ids=["dropped", "another type", "another case", "one more column"],
)
def test_a_schema_change_within_the_range_that_does_not_fit_is_refused(schema):
    builder = table().commit(gone("a"), add("b"), metadata(schema, configuration=FEED)).commit(metadata(ID, configuration=FEED))
    error = refused(builder)
    assert (error.getErrorClass(), error.sql_state) == (
        "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE",
        "0AKDC",
    )
    assert (error.start, error.end, error.incompatible_version, error.read_version) == (0, 3, 2, 3)


def test_rows_that_may_hold_nulls_are_not_read_as_not_null():
    tight = StructType((StructField("id", "long", nullable=False),))
    builder = table().commit(metadata(tight, configuration=FEED))
    assert refused(builder, 0, 1).getErrorClass() == "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA"
    builder = table(tight).commit(metadata(ID, configuration=FEED))
    assert feed(builder).files.num_rows == 1


def test_a_range_before_a_schema_change_that_does_not_fit_is_refused_by_its_data():
    builder = table().commit(metadata({"other": "long"}, configuration=FEED))
    error = refused(builder, 0, 1)
    assert (error.getErrorClass(), error.sql_state) == ("DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA", "0AKDC")
    assert (error.incompatible_version, error.read_version) == (0, 2)
    assert feed(builder, 0, 1, check_schemas=False).files.num_rows == 1


def test_a_schema_change_in_the_first_version_is_none_of_the_range():
    builder = table().commit(metadata({"other": "long"}, configuration=FEED), add("b"))
    assert feed(builder, 2).files["path"].to_pylist() == ["b"]


def test_schemas_without_a_row_contradict_nothing():
    builder = table().commit().commit(metadata({"other": "long"}, configuration=FEED))
    assert feed(builder, 2, 2).files.num_rows == 0


def test_other_partition_columns_within_the_range_are_refused():
    builder = table().commit(metadata({**ID, "p": "long"}, configuration=FEED), gone("a"))
    builder.commit(metadata({**ID, "p": "long"}, configuration=FEED, partition_by=["p"]))
    assert refused(builder).incompatible_version == 2


def test_files_that_the_first_version_removed_under_other_partition_columns_are_refused():
    builder = table({**ID, "p": "long"}).commit(metadata({**ID, "p": "long"}, configuration=FEED, partition_by=["p"]), gone("a"))
    error = refused(builder, 2)
    assert (error.getErrorClass(), error.incompatible_version) == ("DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA", 1)
    builder.commit(remove("b", extendedFileMetadata=True, partitionValues={"p": "1"}, size=1))
    assert feed(builder, 3).files.num_rows == 1


RETYPED = {
    "string": ("long", "string"),
    "narrower": ("long", "integer"),
    "days": ("integer", "date"),
    "decimals": ("decimal(12,2)", "long"),
    "struct": (StructType((StructField("a", "long"), StructField("b", "long"))), StructType((StructField("c", "long"),))),
}


@pytest.mark.parametrize("kind", RETYPED)
def test_files_that_the_first_version_removed_are_not_read_under_types_that_change_their_values(kind):
    """Row 70000 would be 4464 as a short, and day 20000 a date."""
    before, after = RETYPED[kind]
    builder = table({**ID, "v": before}).commit(metadata({**ID, "v": after}, configuration=FEED), gone("a"), add("b"))
    error = refused(builder, 2)
    assert (error.getErrorClass(), error.incompatible_version) == ("DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA", 1)


@pytest.mark.parametrize("after", [{}, {"v": "long", "w": "string"}, {"V": "long"}, {"v": "decimal(20,0)"}], ids=str)
def test_files_that_the_first_version_removed_may_have_columns_that_are_gone_or_wider(after):
    builder = table({**ID, "v": "integer"}).commit(metadata({**ID, **after}, configuration=FEED), gone("a"), add("b"))
    assert sorted(feed(builder, 2).files["kind"].to_pylist()) == ["delete", "insert"]


MAPPED = {**FEED, "delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
PROTOCOL = Protocol(2, 5)


def mapped(**names):
    """A schema by logical name, with the physical name of each column."""
    fields = [
        StructField(name, "long", metadata={PHYSICAL_NAME: physical, FIELD_ID: int(physical[1:])})
        for name, physical in names.items()
    ]
    return StructType(tuple(fields))


def renamed():
    """A table whose column `a` is called `b` from version 2 on; version 3 adds a file."""
    builder = table(mapped(a="c1"), configuration=MAPPED, protocol=PROTOCOL)
    return builder.commit(metadata(mapped(b="c1"), configuration=MAPPED)).commit(add("b"))


def test_with_column_mapping_the_schema_of_the_end_counts():
    found = feed(renamed(), 0, 1)
    assert (found.schema.names[0], found.snapshot.version) == ("a", 1)
    assert feed(renamed(), 2).schema.names[0] == "b"


@pytest.mark.parametrize("mode", [SchemaMode.LATEST, SchemaMode.LEGACY])
def test_the_schema_of_the_latest_version_counts_where_that_is_wanted(mode):
    error = refused(renamed(), 0, 1, schema_mode=mode)
    assert error.getErrorClass() == "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA"
    assert (error.incompatible_version, error.read_version) == (0, 3)
    assert feed(renamed(), 3, schema_mode=mode).snapshot.version == 3


@pytest.mark.parametrize("later", [mapped(b="c1"), mapped(b="c2"), mapped(a="c2")], ids=["renamed", "dropped", "made anew"])
def test_a_range_over_a_column_that_was_renamed_or_dropped_is_refused(later):
    builder = table(mapped(a="c1"), configuration=MAPPED, protocol=PROTOCOL)
    builder.commit(metadata(later, configuration=MAPPED)).commit(metadata(mapped(a="c1"), configuration=MAPPED))
    assert refused(builder).getErrorClass() == "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE"


def test_files_that_the_first_version_removed_under_other_physical_names_are_refused():
    builder = table(mapped(a="c1"), configuration=MAPPED, protocol=PROTOCOL)
    builder.commit(metadata(mapped(a="c2"), configuration=MAPPED), gone("a"), add("b"))
    assert refused(builder, 2).incompatible_version == 1


def test_a_range_from_before_column_mapping_was_enabled_can_be_read():
    schema = StructType((StructField("id", "long", metadata={PHYSICAL_NAME: "id", FIELD_ID: 1}),))
    builder = table(protocol=PROTOCOL).commit(metadata(schema, configuration=MAPPED)).commit(add("b"))
    assert feed(builder).files.num_rows == 2


def test_a_range_over_the_end_of_column_mapping_is_refused():
    builder = table(mapped(id="c1"), configuration=MAPPED, protocol=PROTOCOL).commit(metadata(ID, configuration=FEED))
    assert refused(builder).incompatible_version == 0
    assert feed(builder, 0, 1).snapshot.version == 1


def test_the_values_of_the_setting_name_the_modes():
    assert [SchemaMode(name) for name in ("endVersion", "latest", "legacy")] == list(SchemaMode)


def test_a_table_with_columns_of_the_feed_has_no_feed():
    builder = table({**ID, "_Commit_Version": "long"})
    error = refused(builder, error=InvalidSchemaError)
    assert error.getErrorClass() == "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS"


def test_a_table_whose_files_have_columns_of_the_feed_has_no_feed_whatever_the_columns_are_called():
    fields = (("id", "id"), ("kind", "_Commit_Version"))
    schema = StructType(
        tuple(StructField(name, "long", metadata={FIELD_ID: n, PHYSICAL_NAME: there}) for n, (name, there) in enumerate(fields))
    )
    error = refused(table(schema, configuration=MAPPED, protocol=PROTOCOL), error=InvalidSchemaError)
    assert error.getErrorClass() == "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS"
    assert "kind" in str(error)
