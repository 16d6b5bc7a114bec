# SPDX-License-Identifier: Apache-2.0
"""Properties are set and unset, with what they bring: features, a comment, column mapping, row ids, identity columns."""

from __future__ import annotations

import pytest
from tests.support.tables.altered import append, create, last, parameter, refused, rows, state, unchanged

from bayou.errors import InvalidOptionError, InvalidSchemaError, MetadataChangedException, UnsupportedFeatureError
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField
from bayou.spark.alter import properties as alter_properties

IDENTITY = {"delta.identity.start": 10, "delta.identity.step": 5, "delta.identity.allowExplicitInsert": True}


@pytest.mark.smoke
def test_properties_are_set_and_unset_with_the_features_that_they_need(table):
    table.setProperties({"delta.ENABLECHANGEDATAFEED": "true", "owner": "us", "delta.checkpointInterval": 20})
    assert last(table)[0] == "SET TBLPROPERTIES"
    assert parameter(table, "properties")["owner"] == "us"
    found = state(table)
    assert found.properties == {"delta.enableChangeDataFeed": "true", "owner": "us", "delta.checkpointInterval": "20"}
    assert "changeDataFeed" in found.protocol.writer_features
    unchanged(table, lambda: table.setProperties({"owner": "us"}))
    table.unsetProperties("DELTA.enableChangeDataFeed", "owner")
    assert last(table)[0] == "UNSET TBLPROPERTIES"
    assert parameter(table, "properties") == ["delta.enableChangeDataFeed", "owner"]
    assert state(table).properties == {"delta.checkpointInterval": "20"}
    refused(table, lambda: table.unsetProperties("owner"), InvalidOptionError, "DELTA_UNSET_NON_EXISTENT_PROPERTY")
    unchanged(table, lambda: table.unsetProperties("owner", ifExists=True))
    assert len(rows(table)) == 3


def test_case_counts_for_the_keys_of_users(table):
    table.setProperties({"My.Own": "a", "my.own": "b"})
    table.unsetProperties("My.Own")
    assert state(table).properties == {"my.own": "b"}
    refused(table, lambda: table.unsetProperties("MY.OWN"), InvalidOptionError, "DELTA_UNSET_NON_EXISTENT_PROPERTY")


def test_the_comment_of_the_table_is_its_description(table):
    table.setComment("three rows")
    assert table.detail().collect()[0].description == "three rows"
    assert state(table).properties == {}
    table.unsetProperties("Comment")
    assert table.detail().collect()[0].description is None
    unchanged(table, lambda: table.setComment(None))


def test_properties_that_no_user_sets_are_refused(table):
    for properties, error_class in (
        ({"location": "/x"}, "DELTA_CANNOT_CHANGE_LOCATION"),
        ({"provider": "parquet"}, "DELTA_CANNOT_CHANGE_PROVIDER"),
        ({"delta.feature.clustering": "supported"}, "DELTA_ALTER_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED"),
        ({"delta.columnMapping.maxColumnId": "7"}, "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"),
        ({"delta.columnMapping.mode": "id"}, "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE"),
        ({"delta.checkpointIntervall": "7"}, "DELTA_UNKNOWN_CONFIGURATION"),
        ({"delta.dataSkippingStatsColumns": "no"}, "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
    ):
        refused(table, lambda given=properties: table.setProperties(given), (InvalidOptionError, InvalidSchemaError), error_class)
    blocked = {"delta.enableIcebergCompatV2": "true"}
    refused(table, lambda: table.setProperties(blocked), UnsupportedFeatureError)


def test_column_mapping_is_turned_on_and_keeps_its_own_property(mapped):
    found = state(mapped)
    assert found.schema.field("name").physical_name == "name"
    assert found.schema.field("name").field_id == 2
    assert found.properties["delta.columnMapping.maxColumnId"] == "5"
    assert found.protocol.min_reader_version == 2
    assert len(rows(mapped)) == 3
    refused(
        mapped,
        lambda: mapped.unsetProperties("delta.columnMapping.maxColumnId"),
        InvalidOptionError,
        "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
    )


def test_row_tracking_begins_with_a_table_without_files(spark, tmp_path):
    wanted = {"delta.enableRowTracking": "true"}
    empty = create(spark, str(tmp_path / "empty"), StructField("id", "long"))
    empty.setProperties(wanted)
    assert state(empty).properties["delta.rowTracking.materializedRowIdColumnName"].startswith("_row-id-col-")
    append(spark.range(3), empty)
    assert state(empty).files(["base_row_id"])["base_row_id"].to_pylist() == [0]


@pytest.mark.smoke
def test_an_identity_column_goes_on_behind_what_its_writers_brought(spark, table_path):
    table = create(spark, table_path, StructField("k", "long", True, IDENTITY), StructField("v", "long"), protocol=Protocol(1, 6))
    unchanged(table, lambda: table.syncIdentity("k"))
    append(spark.sql("select 42L k, 0L v"), table)
    table.syncIdentity("K")
    assert state(table).schema.field("k").metadata["delta.identity.highWaterMark"] == 45
    assert last(table)[0] == "CHANGE COLUMN"
    unchanged(table, lambda: table.syncIdentity("k"))
    append(spark.sql("select 1L v"), table)
    assert sorted(row.k for row in table.toDF().collect()) == [42, 50]
    not_one = "DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN"
    refused(table, lambda: table.syncIdentity("v"), InvalidSchemaError, not_one)


def test_two_changes_of_the_metadata_at_once_are_a_conflict(table, monkeypatch):
    original = alter_properties.altered

    def late(*arguments):
        monkeypatch.setattr(alter_properties, "altered", original)
        table.setProperties({"other": "1"})
        return original(*arguments)

    monkeypatch.setattr(alter_properties, "altered", late)
    with pytest.raises(MetadataChangedException):
        table.setProperties({"mine": "1"})
    assert state(table).properties == {"other": "1"}
