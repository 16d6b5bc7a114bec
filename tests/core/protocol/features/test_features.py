# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.cases import in_one_test

from bayou.errors import UnsupportedFeatureError, UnsupportedProtocolError
from bayou.protocol.actions.actions import Metadata, Protocol
from bayou.protocol.features.features import (
    FEATURES,
    check_readable,
    check_takes_files,
    check_writable,
    reader_features,
    write_obstacles,
    writer_features,
)
from bayou.protocol.types.schema import ArrayType, StructField, StructType, schema_to_json

PLAIN = StructType((StructField("id", "long"),))

COLLATED = StructField("c", "string", metadata={"__COLLATIONS": {"c": "ICU.UNICODE"}})


def table(schema=PLAIN, **configuration):
    properties = {name.replace("__", "."): value for name, value in configuration.items()}
    return Metadata("x", schema_to_json(schema), configuration=properties)


def features(*names, reader=True):
    return Protocol(3 if reader else 1, 7, tuple(names) if reader else None, tuple(names))


@pytest.mark.parametrize("name", sorted(name for name, found in FEATURES.items() if found.reader_writer and found.read))
def test_supported_reader_features_are_read(name):
    check_readable(features(name), "t")


@pytest.mark.parametrize("name", ["catalogManaged", "catalogOwned-preview", "geospatial", "timestampNanos", "somethingNew"])
def test_other_reader_features_are_refused_by_name(name):
    with pytest.raises(UnsupportedFeatureError) as caught:
        check_readable(features("deletionVectors", name), "t", 3)
    assert caught.value.features == (name,)
    assert name in str(caught.value)
    assert (caught.value.table, caught.value.version) == ("t", 3)
    assert caught.value.getErrorClass() == "DELTA_UNSUPPORTED_FEATURES_FOR_READ"


def test_a_catalog_managed_table_is_sent_to_its_catalog():
    with pytest.raises(UnsupportedFeatureError, match="catalog"):
        check_readable(features("catalogManaged"), "t")


def test_a_reader_version_above_every_known_one_is_refused():
    with pytest.raises(UnsupportedProtocolError) as caught:
        check_readable(Protocol(4, 7), "t")
    assert caught.value.required == 4


@pytest.mark.parametrize("versions", [(0, 0), (0, 2), (1, 0)])
def test_a_protocol_without_a_version_is_refused(versions):
    with pytest.raises(UnsupportedProtocolError, match="versions begin with 1") as caught:
        check_readable(Protocol(*versions), "t")
    assert caught.value.error_class == "DELTA_INVALID_PROTOCOL_VERSION"


def test_a_reader_may_ignore_unknown_writer_features():
    check_readable(Protocol(1, 7, None, ("somethingNew",)), "t")
    check_readable(Protocol(1, 8), "t")


def test_legacy_versions_imply_their_features():
    assert writer_features(Protocol(1, 2)) == {"appendOnly", "invariants"}
    assert writer_features(Protocol(2, 5)) == {
        "appendOnly",
        "invariants",
        "checkConstraints",
        "changeDataFeed",
        "generatedColumns",
        "columnMapping",
    }
    assert reader_features(Protocol(2, 5)) == {"columnMapping"}
    assert reader_features(Protocol(1, 4)) == frozenset()


@pytest.mark.parametrize(
    "protocol",
    [
        Protocol(1, 1),
        Protocol(1, 2),
        features("appendOnly", "invariants", "domainMetadata", "checkpointProtection", reader=False),
        features("timestampNtz", "vacuumProtocolCheck", "v2Checkpoint", "deletionVectors", "typeWidening"),
        features("columnMapping", "checkConstraints", "changeDataFeed"),
    ],
)
def test_a_table_without_an_active_rule_is_writable(protocol):
    check_writable(protocol, table(), "t")


@pytest.mark.parametrize(
    ("protocol", "metadata"),
    [
        (Protocol(1, 2), table(delta__appendOnly="true")),
        (features("inCommitTimestamp", reader=False), table(delta__enableInCommitTimestamps="true")),
    ],
)
def test_a_rule_that_the_transaction_keeps_is_no_obstacle(protocol, metadata):
    assert list(write_obstacles(protocol, metadata)) == []


NOT_NULL = StructType((StructField("id", "long", nullable=False),))
NESTED = StructType((StructField("s", StructType((StructField("x", "long", nullable=False),))),))


ROW_RULES = {
    "NOT NULL": (Protocol(1, 2), table(NOT_NULL), "invariants"),
    "nested NOT NULL": (Protocol(1, 2), table(NESTED), "invariants"),
    "an invariant": (
        Protocol(1, 2),
        table(StructType((StructField("id", "long", True, {"delta.invariants": "{}"}),))),
        "invariants",
    ),
    "CHECK": (Protocol(1, 3), table(delta__constraints__c="id > 0"), "checkConstraints"),
    "a generated column": (
        Protocol(1, 4),
        table(StructType((StructField("id", "long", True, {"delta.generationExpression": "1"}),))),
        "generatedColumns",
    ),
    "column mapping": (Protocol(2, 5), table(delta__columnMapping__mode="name"), "columnMapping"),
    "an identity column": (
        Protocol(1, 6),
        table(StructType((StructField("id", "long", True, {"delta.identity.start": 1}),))),
        "identityColumns",
    ),
}


@pytest.mark.parametrize("rule", ROW_RULES)
def test_a_table_with_rules_for_rows_is_written_by_what_checks_rows_and_takes_no_files_as_they_are(rule):
    protocol, metadata, reason = ROW_RULES[rule]
    check_writable(protocol, metadata, "t")
    with pytest.raises(UnsupportedFeatureError, match=reason) as caught:
        check_takes_files(protocol, metadata, "t", 7)
    assert caught.value.features == (reason,)
    assert caught.value.getErrorClass() == "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"


IN_FILES = features("materializePartitionColumns", reader=False)


@in_one_test("protocol", [None, Protocol(1, 2), IN_FILES])
@in_one_test("asked", [False, True])
@in_one_test("columns", [(), ("id",)])
def test_partition_columns_in_files_are_asked_for_by_the_protocol_or_by_the_property_that_sets_it(protocol, asked, columns):
    found = table(delta__enableMaterializePartitionColumnsFeature="true") if asked else table()
    found = replace(found, partition_columns=columns)
    if not columns or not (asked or protocol == IN_FILES):
        check_takes_files(protocol, found, "t")
        return
    with pytest.raises(UnsupportedFeatureError) as caught:
        check_takes_files(protocol, found, "t")
    assert caught.value.features == ("materializePartitionColumns",)


@pytest.mark.parametrize(
    ("protocol", "metadata"),
    [
        (Protocol(1, 3), table()),
        (Protocol(1, 4), table(delta__enableChangeDataFeed="true")),
        (
            features("allowColumnDefaults", reader=False),
            table(StructType((StructField("id", "long", True, {"CURRENT_DEFAULT": "1"}),))),
        ),
        (features("rowTracking", "domainMetadata", reader=False), table(delta__enableRowTracking="true")),
        (features("variantType"), table()),
        (features("clustering", "domainMetadata", reader=False), table()),
    ],
)
def test_other_tables_take_files_too(protocol, metadata):
    check_writable(protocol, metadata, "t")
    check_takes_files(protocol, metadata, "t")


@pytest.mark.parametrize(
    ("protocol", "metadata", "reason"),
    [
        (features("collations", "domainMetadata", reader=False), table(), "collations"),
        (Protocol(1, 2), table(StructType((COLLATED,))), "collations"),
        (Protocol(1, 2), table(StructType((StructField("l", ArrayType("string collate UNICODE")),))), "collations"),
        (features("icebergCompatV2", reader=False), table(), "icebergCompatV2"),
        (features("somethingNew", reader=False), table(), "somethingNew"),
        (
            Protocol(1, 2),
            table(delta__universalFormat__enabledFormats="iceberg"),
            "delta.universalFormat.enabledFormats",
        ),
    ],
)
def test_a_table_that_needs_a_rule_is_refused_for_writing_by_name(protocol, metadata, reason):
    assert reason in list(write_obstacles(protocol, metadata))
    with pytest.raises(UnsupportedFeatureError) as caught:
        check_writable(protocol, metadata, "t", 7)
    assert reason in caught.value.features
    assert reason in str(caught.value)
    assert caught.value.getErrorClass() == "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"


def test_all_reasons_are_named_at_once():
    metadata = table(delta__universalFormat__enabledFormats="iceberg")
    found = set(write_obstacles(features("collations", "somethingNew", reader=False), metadata))
    assert {"collations", "somethingNew", "delta.universalFormat.enabledFormats"} <= found
    rules = table(NOT_NULL, delta__constraints__c="id > 0")
    with pytest.raises(UnsupportedFeatureError) as caught:
        check_takes_files(Protocol(1, 3), rules, "t")
    assert caught.value.features == ("invariants", "checkConstraints")


def test_a_writer_version_above_every_known_one_is_refused():
    with pytest.raises(UnsupportedProtocolError):
        check_writable(Protocol(1, 8), table(), "t")


def test_what_cannot_be_read_cannot_be_written():
    with pytest.raises(UnsupportedFeatureError):
        check_writable(features("catalogManaged"), table(), "t")
