# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test

from bayou.errors import CorruptLogError, InvalidCommitError, UnsupportedFeatureError
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.features.features import FEATURES, reader_features, writer_features
from bayou.protocol.features.protocol_rules import (
    check_features_match_metadata,
    check_no_downgrade,
    merged,
    normalised,
    protocol_for_table,
    required_features,
    supported_features,
    upgraded,
    with_requirements,
)
from bayou.protocol.types.schema import ArrayType, StructField, StructType

PLAIN = StructType((StructField("id", "long"),))
DEFAULT = ("appendOnly", "invariants")


def column(kind="long", *, nullable=True, **metadata):
    return StructType((StructField("id", kind, nullable, {key.replace("__", "."): value for key, value in metadata.items()}),))


def lists(*names, readers=None):
    return Protocol(1 if readers is None else 3, 7, readers, names)


@in_one_test(
    ("protocol", "expected"),
    [
        (lists("appendOnly", "invariants", "checkConstraints"), Protocol(1, 3)),
        (lists("checkConstraints", "invariants", "appendOnly"), Protocol(1, 3)),
        (lists("appendOnly", "invariants"), Protocol(1, 2)),
        (lists(), Protocol(1, 1)),
        (Protocol(3, 7, (), ()), Protocol(1, 1)),
        (Protocol(2, 3), Protocol(1, 3)),
        (Protocol(1, 5), Protocol(1, 4)),
        (Protocol(2, 5), Protocol(2, 5)),
        (Protocol(2, 6), Protocol(2, 6)),
        (Protocol(3, 7, (), ("rowTracking", "domainMetadata")), lists("rowTracking", "domainMetadata")),
        (Protocol(3, 7, ("columnMapping",), ("columnMapping",)), Protocol(2, 7, None, ("columnMapping",))),
        (lists("b", "deletionVectors", readers=("deletionVectors",)), lists("b", "deletionVectors", readers=("deletionVectors",))),
        (lists("new", readers=("new",)), lists("new", readers=("new",))),
        (lists("new", readers=()), lists("new")),
        (
            lists("deletionVectors", "columnMapping", readers=("deletionVectors",)),
            lists("deletionVectors", "columnMapping", readers=("columnMapping", "deletionVectors")),
        ),
    ],
)
def test_a_protocol_is_brought_to_its_weakest_form(protocol, expected):
    assert normalised(protocol) == expected


PROTOCOLS = st.one_of(
    st.builds(Protocol, st.sampled_from([1, 2]), st.integers(1, 6)),
    st.sets(st.sampled_from([*sorted(FEATURES), "unknown"])).map(
        lambda names: Protocol(
            3, 7, tuple(sorted(name for name in names if name in FEATURES and FEATURES[name].reader_writer)), tuple(sorted(names))
        )
    ),
)


@given(PROTOCOLS)
def test_the_weakest_form_has_the_same_features_and_no_weaker_one(protocol):
    weakest = normalised(protocol)
    assert supported_features(weakest) == supported_features(protocol)
    assert normalised(weakest) == weakest
    assert weakest.min_reader_version <= protocol.min_reader_version
    assert weakest.min_writer_version <= protocol.min_writer_version


@given(PROTOCOLS)
def test_what_is_supported_is_what_readers_and_writers_of_the_weakest_form_must_know(protocol):
    weakest = normalised(protocol)
    # Writer version 6 below reader version 2 asks a writer for column mapping, which no reader would follow.
    beyond = {"columnMapping"} if weakest == Protocol(1, 6) else set()
    assert writer_features(weakest) == supported_features(weakest) | beyond
    assert reader_features(weakest) == {
        name for name in supported_features(weakest) if name in FEATURES and FEATURES[name].reader_writer
    }


@given(PROTOCOLS, PROTOCOLS)
def test_merging_keeps_every_feature_and_adds_only_what_they_require(left, right):
    both = supported_features(left) | supported_features(right)
    found = supported_features(merged(left, right))
    assert found >= both
    assert found <= set(with_requirements(both))
    assert supported_features(merged(right, left)) >= both


def test_requirements_are_followed_to_the_end():
    assert with_requirements(["icebergWriterCompatV3"]) == (
        "icebergWriterCompatV3",
        "icebergCompatV3",
        "columnMapping",
        "rowTracking",
        "domainMetadata",
    )
    assert with_requirements(["unknown", "unknown"]) == ("unknown",)


def test_every_requirement_is_a_known_feature():
    assert {name for each in FEATURES.values() for name in each.requires} <= FEATURES.keys()


@in_one_test(
    ("schema", "configuration", "expected"),
    [
        (PLAIN, {}, ()),
        (PLAIN, {"delta.appendOnly": "true"}, ("appendOnly",)),
        (PLAIN, {"delta.appendOnly": "false"}, ()),
        (column(nullable=False), {}, ("invariants",)),
        (column(delta__invariants="{}"), {}, ("invariants",)),
        (PLAIN, {"delta.constraints.c": "id > 0"}, ("checkConstraints",)),
        (PLAIN, {"delta.enableChangeDataCapture": "true"}, ("changeDataFeed",)),
        (column(delta__generationExpression="1"), {}, ("generatedColumns",)),
        (column(delta__identity__start=1), {}, ("identityColumns",)),
        (PLAIN, {"delta.columnMapping.mode": "id"}, ("columnMapping",)),
        (column(CURRENT_DEFAULT="1"), {}, ()),
        (column(ArrayType("timestamp_ntz")), {}, ("timestampNtz",)),
        (column("variant"), {}, ("variantType",)),
        (PLAIN, {"delta.checkpointPolicy": "v2"}, ("v2Checkpoint",)),
        (PLAIN, {"delta.enableDeletionVectors": "true"}, ("deletionVectors",)),
        (PLAIN, {"delta.enableRowTracking": "true"}, ("rowTracking",)),
        (PLAIN, {"delta.enableTypeWidening": "true"}, ("typeWidening",)),
        (PLAIN, {"delta.enableInCommitTimestamps": "true"}, ("inCommitTimestamp",)),
        (PLAIN, {"delta.enableIcebergCompatV1": "true"}, ("icebergCompatV1",)),
        (PLAIN, {"delta.enableIcebergCompatV2": "true"}, ("icebergCompatV2",)),
        (PLAIN, {"delta.enableIcebergCompatV3": "true"}, ("icebergCompatV3",)),
        (PLAIN, {"delta.enableVariantShredding": "true"}, ("variantShredding-preview",)),
        (PLAIN, {"delta.enableMaterializePartitionColumnsFeature": "true"}, ("materializePartitionColumns",)),
        (PLAIN, {"delta.coordinatedCommits.commitCoordinator-preview": "x"}, ("coordinatedCommits-preview",)),
        (PLAIN, {"delta.redirectReaderWriter-preview": "{}"}, ("redirectReaderWriter-preview",)),
        (PLAIN, {"delta.redirectWriterOnly-preview": "{}"}, ("redirectWriterOnly-preview",)),
    ],
)
def test_metadata_ask_for_their_features(schema, configuration, expected):
    assert required_features(schema, configuration) == expected


@in_one_test(
    ("asked", "expected"),
    [
        ({}, Protocol(1, 2)),
        ({"configuration": {"delta.constraints.c": "id > 0"}}, Protocol(1, 3)),
        ({"configuration": {"delta.enableChangeDataFeed": "true"}}, lists(*DEFAULT, "changeDataFeed")),
        ({"configuration": {"delta.columnMapping.mode": "name"}}, Protocol(2, 7, None, (*DEFAULT, "columnMapping"))),
        ({"configuration": {"delta.enableRowTracking": "true"}}, lists(*DEFAULT, "domainMetadata", "rowTracking")),
        ({"clustered": True}, lists(*DEFAULT, "clustering", "domainMetadata")),
        ({"features": ("allowColumnDefaults",)}, lists(*DEFAULT, "allowColumnDefaults")),
        ({"features": ("vacuumProtocolCheck",)}, lists(*DEFAULT, "vacuumProtocolCheck", readers=("vacuumProtocolCheck",))),
        ({"min_writer": 1}, Protocol(1, 1)),
        ({"min_writer": 4}, Protocol(1, 4)),
        ({"min_reader": 2, "min_writer": 5}, Protocol(2, 5)),
        ({"min_writer": 5}, Protocol(1, 4)),
        ({"min_reader": 3, "min_writer": 7}, Protocol(1, 1)),
        (
            {"min_reader": 3, "min_writer": 7, "features": ("deletionVectors",)},
            lists("deletionVectors", readers=("deletionVectors",)),
        ),
        (
            {"configuration": {"delta.columnMapping.mode": "id", "delta.enableDeletionVectors": "true"}},
            lists(*DEFAULT, "columnMapping", "deletionVectors", readers=("columnMapping", "deletionVectors")),
        ),
        ({"schema": column("timestamp_ntz")}, lists(*DEFAULT, "timestampNtz", readers=("timestampNtz",))),
        (
            {"configuration": {"delta.enableTypeWidening": "true"}, "features": ("typeWidening-preview",)},
            lists(*DEFAULT, "typeWidening-preview", readers=("typeWidening-preview",)),
        ),
    ],
)
def test_a_new_table_gets_what_it_asks_for(asked, expected):
    schema, configuration = asked.pop("schema", PLAIN), asked.pop("configuration", {})
    assert protocol_for_table(schema, configuration, **asked) == expected


def upgrade(current, schema=PLAIN, configuration=None, **options):
    return upgraded(current, schema, configuration or {}, table="t", version=5, **options)


@pytest.mark.parametrize(
    ("current", "asked", "expected"),
    [
        (Protocol(1, 2), {"configuration": {"delta.enableChangeDataFeed": "true"}}, lists(*DEFAULT, "changeDataFeed")),
        (Protocol(1, 2), {"configuration": {"delta.constraints.c": "x"}}, Protocol(1, 3)),
        (Protocol(1, 1), {"schema": column(nullable=False)}, lists("invariants")),
        (Protocol(1, 2), {"min_writer": 4}, Protocol(1, 4)),
        (Protocol(1, 4), {"min_reader": 2, "min_writer": 5}, Protocol(2, 5)),
        (
            lists("rowTracking", "domainMetadata", *DEFAULT),
            {"min_writer": 3},
            lists("rowTracking", "domainMetadata", *DEFAULT, "checkConstraints"),
        ),
        (Protocol(1, 2), {"features": ("rowTracking",)}, lists(*DEFAULT, "domainMetadata", "rowTracking")),
        (
            lists("new", readers=("new",)),
            {"configuration": {"delta.appendOnly": "true"}},
            lists("new", "appendOnly", readers=("new",)),
        ),
        (
            Protocol(1, 2),
            {"schema": column("timestamp_ntz"), "features": ("timestampNtz",)},
            lists(*DEFAULT, "timestampNtz", readers=("timestampNtz",)),
        ),
    ],
)
def test_a_table_gets_what_a_change_needs(current, asked, expected):
    found = upgrade(current, **asked)
    assert found == expected
    check_no_downgrade(current, found, table="t")


@pytest.mark.parametrize(
    ("current", "asked"),
    [
        (Protocol(1, 2), {"configuration": {"delta.appendOnly": "true"}}),
        (Protocol(1, 4), {"min_reader": 1, "min_writer": 2}),
        (Protocol(2, 5), {"configuration": {"delta.columnMapping.mode": "name"}}),
        (Protocol(2, 3), {}),
        (Protocol(1, 2), {"min_reader": 3, "min_writer": 7}),
        (lists("typeWidening-preview", readers=("typeWidening-preview",)), {"configuration": {"delta.enableTypeWidening": "true"}}),
        (lists("variantShredding", readers=("variantShredding",)), {"configuration": {"delta.enableVariantShredding": "true"}}),
        (lists("timestampNtz", readers=("timestampNtz",)), {"schema": column("timestamp_ntz")}),
    ],
)
def test_a_table_that_has_it_all_keeps_its_protocol(current, asked):
    assert upgrade(current, **asked) is current


def test_a_feature_that_no_table_gets_by_itself_is_asked_for():
    name = "timestampNtz"
    with pytest.raises(UnsupportedFeatureError) as caught:
        upgrade(Protocol(1, 2), column("timestamp_ntz"))
    assert caught.value.error_class == "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT"
    assert caught.value.sql_state == "42000"
    assert caught.value.features == (name,)
    assert f"'delta.feature.{name}' = 'supported'" in caught.value.next_step
    assert (caught.value.table, caught.value.version) == ("t", 5)


@given(PROTOCOLS, st.sets(st.sampled_from(sorted(FEATURES)), max_size=3), st.integers(1, 3), st.integers(1, 7))
def test_an_upgrade_takes_nothing_away_and_is_done_once(current, names, reader, writer):
    found = upgrade(current, features=names, min_reader=reader, min_writer=writer)
    assert supported_features(found) >= supported_features(current) | names
    assert upgrade(found, features=names, min_reader=reader, min_writer=writer) is found
    check_no_downgrade(current, found, table="t")


def test_a_commit_that_takes_a_feature_away_is_refused():
    with pytest.raises(InvalidCommitError) as caught:
        check_no_downgrade(Protocol(1, 3), Protocol(1, 2), table="t")
    assert (caught.value.error_class, caught.value.sql_state) == ("DELTA_INVALID_PROTOCOL_DOWNGRADE", "KD004")
    assert caught.value.features == ("checkConstraints",)


def test_metadata_that_use_a_feature_which_is_not_listed_are_found():
    configuration = {"delta.enableDeletionVectors": "true", "delta.appendOnly": "true"}
    with pytest.raises(CorruptLogError) as caught:
        check_features_match_metadata(Protocol(1, 2), column("timestamp_ntz"), configuration, table="t", version=1)
    assert caught.value.features == ("deletionVectors", "timestampNtz")
    assert caught.value.error_class == "DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH"
    check_features_match_metadata(Protocol(1, 2), column(CURRENT_DEFAULT="1"), {}, table="t")
    check_features_match_metadata(protocol_for_table(PLAIN, configuration), PLAIN, configuration, table="t")
