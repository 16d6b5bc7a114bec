# SPDX-License-Identifier: Apache-2.0
"""The first actions of a table that is made like another one."""

from __future__ import annotations

import json

import pytest

from bayou.errors import InvalidOptionError, InvalidSchemaError
from bayou.log.operations.create import first_actions
from bayou.log.operations.create_like import copied_properties, like_actions
from bayou.protocol.actions.actions import Metadata, Protocol
from bayou.protocol.types.schema import StructField, StructType, parse_schema, schema_to_json
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder

SCHEMA = StructType((StructField("id", "long", nullable=False), StructField("v", "string"), StructField("p", "integer")))


def source(properties, *, schema=SCHEMA, partition_by=("p",), cluster_by=None, more=()):
    first = first_actions(schema, partition_by, properties, table="t", description="what it is", cluster_by=cluster_by)
    builder = TableBuilder(store=MemoryStore())
    builder.log().transaction("CREATE TABLE").commit([*first.actions, *more])
    return builder.log().snapshot()


def test_schema_partitions_properties_comment_and_features_are_those_of_the_other_table():
    like = source({"mine": "x", "delta.appendOnly": "true", "delta.feature.vacuumProtocolCheck": "supported"})
    made = like_actions(like, {}, table="t2")
    assert parse_schema(made.metadata.schema_string) == like.schema
    assert (made.metadata.partition_columns, made.metadata.description) == (("p",), "what it is")
    assert made.metadata.configuration == {"mine": "x", "delta.appendOnly": "true"}
    assert made.protocol == like.protocol
    assert made.metadata.id != like.metadata.id
    assert made.domains == ()


def test_given_properties_come_before_copied_ones_whatever_their_case():
    made = like_actions(
        source({"delta.appendOnly": "true"}), {"DELTA.APPENDONLY": "false", "delta.enableDeletionVectors": "true"}, table="t2"
    )
    assert made.metadata.configuration == {"delta.appendOnly": "false", "delta.enableDeletionVectors": "true"}
    assert made.protocol.reader_features == ("deletionVectors",)
    with pytest.raises(InvalidOptionError):
        like_actions(source({}), {"delta.noSuchThing": "1"}, table="t2")


def test_a_sessions_defaults_come_after_given_properties_and_copied_ones():
    defaults = {"appendOnly": "true", "enableDeletionVectors": "true", "checkpointInterval": "7"}
    settings = {f"spark.databricks.delta.properties.defaults.{key}": value for key, value in defaults.items()}
    like = source({"delta.appendOnly": "false"})
    made = like_actions(like, {"delta.checkpointInterval": "9"}, table="t2", settings=settings)
    assert made.metadata.configuration == {
        "delta.appendOnly": "false",
        "delta.enableDeletionVectors": "true",
        "delta.checkpointInterval": "9",
    }
    assert made.protocol.reader_features == ("deletionVectors",)


def test_what_belongs_to_the_other_tables_files_and_history_stays_with_it():
    properties = {"delta.columnMapping.mode": "name", "delta.enableRowTracking": "true", "delta.enableInCommitTimestamps": "true"}
    like = source(properties, partition_by=(), cluster_by=(("v",),), more=[])
    made = like_actions(like, {}, table="t2")
    schema = parse_schema(made.metadata.schema_string)
    assert schema.names == like.schema.names
    assert {f.physical_name for f in schema.fields}.isdisjoint(f.physical_name for f in like.schema.fields)
    ids = "delta.rowTracking.materializedRowIdColumnName"
    assert made.metadata.configuration[ids] != like.properties[ids]
    assert set(properties) < set(made.metadata.configuration)
    (domain,) = made.domains
    assert json.loads(domain.configuration)["clusteringColumns"] == [[schema.field("v").physical_name]]


def test_notes_of_wider_types_numbers_that_were_given_and_marks_of_the_log_are_not_copied():
    field = StructField(
        "i",
        "long",
        metadata={
            "delta.identity.start": 1,
            "delta.identity.step": 1,
            "delta.identity.allowExplicitInsert": False,
            "delta.identity.highWaterMark": 77,
        },
    )
    widened = StructField("w", "long", metadata={"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]})
    configuration = {
        "delta.requireCheckpointProtectionBeforeVersion": "5",
        "delta.inCommitTimestampEnablementVersion": "3",
        "delta.inCommitTimestampEnablementTimestamp": "4",
        "delta.rowTrackingSuspended": "true",
        "delta.enableTypeWidening": "true",
    }
    metadata = Metadata("id", schema_to_json(StructType((field, widened))), configuration=configuration)
    builder = TableBuilder(store=MemoryStore())
    features = ("typeWidening",), ("typeWidening", "identityColumns", "checkpointProtection", "domainMetadata", "rowTracking")
    builder.log().transaction("CREATE TABLE").commit([Protocol(3, 7, *features), metadata])
    like = builder.log().snapshot()
    assert copied_properties(like) == {"delta.enableTypeWidening": "true"}
    made = like_actions(like, {}, table="t2")
    fields = parse_schema(made.metadata.schema_string).fields
    assert "delta.identity.highWaterMark" not in fields[0].metadata
    assert fields[0].metadata["delta.identity.start"] == 1
    assert fields[1].metadata == {}
    assert "delta.rowTracking" not in {each.domain for each in made.domains}


def test_no_table_is_made_like_one_with_a_column_of_bayous_own_names():
    theirs = TableBuilder(store=MemoryStore()).create({"id": "long", "__bayou_dv": "string"}).log().snapshot()
    with pytest.raises(InvalidSchemaError) as caught:
        like_actions(theirs, {}, table="t2")
    assert caught.value.error_class == "DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED"
