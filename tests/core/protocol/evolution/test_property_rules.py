# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test

from bayou.errors import DeltaError, InvalidOptionError, InvalidSchemaError, UnsupportedFeatureError
from bayou.log.delta_log import open_log
from bayou.protocol import properties
from bayou.protocol.evolution.property_rules import DEFAULTS_PREFIX, canonical_key, check_combinations, session_defaults, validated
from bayou.protocol.evolution.property_values import CHECKS
from bayou.protocol.features.features import FEATURES
from bayou.protocol.types.schema import StructField, StructType


def change(given, **options):
    return validated(given, table="t", version=3, **options)


def stored(key, value):
    return change({key: value}).configuration


def refused(given, **options):
    with pytest.raises(DeltaError) as caught:
        change(given, **options)
    assert (caught.value.table, caught.value.version) == ("t", 3)
    return caught.value


def test_every_known_property_has_a_check():
    assert CHECKS.keys() == properties.PROPERTIES.keys()


def test_keys_get_their_canonical_spelling():
    assert stored("DELTA.APPENDONLY", "true") == {"delta.appendOnly": "true"}
    assert canonical_key("delta.CHECKPOINTinterval") == "delta.checkpointInterval"
    assert canonical_key("My.Key") == "My.Key"


def test_keys_of_others_are_kept_as_they_are():
    assert change({"Owner": "me", "appendOnly": "x"}).configuration == {"Owner": "me", "appendOnly": "x"}


def test_a_key_in_two_spellings_needs_one_value():
    assert change({"delta.appendOnly": "true", "DELTA.appendonly": "true"}).configuration == {"delta.appendOnly": "true"}
    refused({"delta.appendOnly": "true", "DELTA.appendonly": "false"})


def test_an_unknown_key_is_refused_with_the_likely_one():
    error = refused({"delta.appendOnyl": "true"})
    assert isinstance(error, InvalidOptionError)
    assert (error.error_class, error.sql_state) == ("DELTA_UNKNOWN_CONFIGURATION", "F0000")
    assert "delta.appendOnly" in error.next_step


def test_an_unknown_key_can_be_allowed():
    assert change({"delta.Mine": "x"}, allow_arbitrary=True).configuration == {"delta.Mine": "x"}


@in_one_test(
    ("key", "value"),
    [
        ("delta.appendOnly", "TRUE"),
        ("delta.checkpointInterval", "+5"),
        ("delta.dataSkippingNumIndexedCols", "-1"),
        ("delta.deletedFileRetentionDuration", "interval 0 days"),
        ("delta.logRetentionDuration", "1 week 2 hours"),
        ("delta.setTransactionRetentionDuration", "24 hours"),
        ("delta.autoOptimize.autoCompact", "true"),
        ("delta.autoOptimize.optimizeWrite", "false"),
        ("delta.parquet.format.version", "2.12.0"),
        ("delta.parquet.compression.codec", "zstd"),
        ("delta.dataSkippingStatsColumns", "a, b.c, `d,e`"),
        ("delta.universalFormat.enabledFormats", "iceberg,hudi"),
        ("delta.universalFormat.enabledFormats", ""),
        ("delta.requireCheckpointProtectionBeforeVersion", "12"),
        ("delta.universalFormat.config.iceberg.x", "y"),
    ],
)
def test_a_value_of_its_property_is_stored_as_it_is(key, value):
    assert stored(key, value) == {key: value}


@pytest.mark.parametrize(
    ("key", "least", "greatest"),
    [
        ("delta.checkpointInterval", 1, 2**31 - 1),
        ("delta.randomPrefixLength", 1, 2**31 - 1),
        ("delta.dataSkippingStringPrefixLength", 0, 2**31 - 1),
        ("delta.dataSkippingNumIndexedCols", -1, 2**31 - 1),
        ("delta.requireCheckpointProtectionBeforeVersion", 0, 2**63 - 1),
    ],
)
def test_a_number_has_its_range(key, least, greatest):
    for value in (least, greatest):
        assert stored(key, str(value)) == {key: str(value)}
    for value in (least - 1, greatest + 1):
        with pytest.raises(InvalidOptionError):
            stored(key, str(value))


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("delta.checkpointPolicy", "V2", "v2"),
        ("delta.columnMapping.mode", "NAME", "name"),
        ("delta.isolationLevel", "writeserializable", "WriteSerializable"),
    ],
)
def test_a_value_of_a_few_is_spelled_as_every_reader_knows_it(key, value, expected):
    assert stored(key, value) == {key: expected}


@in_one_test(
    ("key", "value", "error_class", "fragment"),
    [
        ("delta.appendOnly", "yes", "DELTA_ILLEGAL_OPTION", "boolean"),
        ("delta.appendOnly", " true", "DELTA_ILLEGAL_OPTION", "boolean"),
        ("delta.checkpointInterval", "0", "DELTA_ILLEGAL_OPTION", "positive integer"),
        ("delta.checkpointInterval", "1_0", "DELTA_ILLEGAL_OPTION", "positive integer"),
        ("delta.checkpointInterval", "2147483648", "DELTA_ILLEGAL_OPTION", "positive integer"),
        ("delta.dataSkippingNumIndexedCols", "-2", "DELTA_ILLEGAL_OPTION", "-1"),
        ("delta.logRetentionDuration", "1 month", "DELTA_ILLEGAL_OPTION", "365 days"),
        ("delta.logRetentionDuration", "soon", "DELTA_INVALID_INTERVAL", "calendar interval"),
        ("delta.logRetentionDuration", " ", "DELTA_INVALID_CALENDAR_INTERVAL_EMPTY", "blank"),
        ("delta.logRetentionDuration", "-1 days", "DELTA_ILLEGAL_OPTION", "calendar interval"),
        ("delta.checkpointPolicy", "v3", "DELTA_ILLEGAL_OPTION", "classic, v2"),
        ("delta.columnMapping.mode", "both", "DELTA_ILLEGAL_OPTION", "none, name, id"),
        ("delta.isolationLevel", "SnapshotIsolation", "DELTA_ILLEGAL_OPTION", "Serializable"),
        ("delta.isolationLevel", "Best", "DELTA_INVALID_ISOLATION_LEVEL", "Serializable"),
        ("delta.autoOptimize.autoCompact", "auto", "DELTA_INVALID_AUTO_COMPACT_TYPE", "false"),
        ("delta.autoOptimize.autoCompact", "legacy", "DELTA_INVALID_AUTO_COMPACT_TYPE", "false"),
        ("delta.parquet.format.version", "3.0.0", "DELTA_ILLEGAL_OPTION", "2.x.y"),
        ("delta.parquet.compression.codec", "zip", "DELTA_ILLEGAL_OPTION", "zstd"),
        ("delta.dataSkippingStatsColumns", "", "DELTA_ILLEGAL_OPTION", "comma-separated"),
        ("delta.dataSkippingStatsColumns", "a,,b", "DELTA_ILLEGAL_OPTION", "comma-separated"),
        ("delta.dataSkippingStatsColumns", "a,A", "DELTA_DUPLICATE_DATA_SKIPPING_COLUMNS", "twice: a"),
        ("delta.universalFormat.enabledFormats", "iceberg,iceberg", "DELTA_ILLEGAL_OPTION", "iceberg,hudi"),
        ("delta.universalFormat.enabledFormats", "paimon", "DELTA_ILLEGAL_OPTION", "iceberg,hudi"),
        ("delta.minReaderVersion", "4", "DELTA_ILLEGAL_OPTION", "1, 2, 3"),
        ("delta.minWriterVersion", "0", "DELTA_ILLEGAL_OPTION", "1, 2, 3"),
        ("delta.ignoreProtocolDefaults", "1", "DELTA_ILLEGAL_OPTION", "boolean"),
        ("delta.columnMapping.maxColumnId", "7", "DELTA_CANNOT_MODIFY_TABLE_PROPERTY", "delta.columnMapping.maxColumnId"),
        ("delta.rowTracking.materializedRowIdColumnName", "x", "DELTA_CANNOT_MODIFY_TABLE_PROPERTY", "materializedRowIdColumnName"),
        ("delta.constraints.c", "id > 0", "DELTA_ADD_CONSTRAINTS", "CHECK"),
        ("DELTA.CONSTRAINTS.C", "id > 0", "DELTA_ADD_CONSTRAINTS", "CHECK"),
        ("location", "/x", "DELTA_CANNOT_CHANGE_LOCATION", "location"),
        ("Provider", "parquet", "DELTA_CANNOT_CHANGE_PROVIDER", "reserved"),
        ("clusteringColumns", "a", "DELTA_CANNOT_MODIFY_TABLE_PROPERTY", "CLUSTER BY"),
        ("delta.feature.clustering", "supported", "DELTA_ALTER_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED", "columns"),
        ("delta.feature.rowTracking", "on", "DELTA_UNSUPPORTED_FEATURE_STATUS", '"supported"'),
    ],
)
def test_what_no_user_may_set_is_refused_by_its_class(key, value, error_class, fragment):
    error = refused({key: value})
    assert isinstance(error, InvalidOptionError)
    assert error.error_class == error_class
    assert fragment in str(error)
    assert error.sql_state


def test_the_clustering_feature_is_refused_for_a_new_table_too():
    error = refused({"delta.feature.clustering": "supported"}, creating=True)
    assert error.error_class == "DELTA_CREATE_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED"


def test_a_new_table_may_have_constraints_among_its_properties():
    change = validated({"delta.constraints.Positive": "id > 0"}, table="t", creating=True)
    assert change.configuration == {"delta.constraints.positive": "id > 0"}
    refused({"delta.constraints.a": "id > 0", "DELTA.constraints.A": "id > 1"}, creating=True)
    for name in ("", " ", "__char_varchar_string_length_check__"):
        with pytest.raises(InvalidSchemaError) as caught:
            validated({f"delta.constraints.{name}": "id > 0"}, table="t", creating=True)
        assert caught.value.error_class == "DELTA_INVALID_CONSTRAINT_NAME"


def test_a_table_that_is_made_without_spark_gets_no_constraints(tmp_path):
    schema = StructType((StructField("id", "long"),))
    with pytest.raises(InvalidOptionError) as caught:
        open_log(str(tmp_path)).create(schema, properties={"delta.constraints.c": "nonsense ((("})
    assert caught.value.error_class == "DELTA_ADD_CONSTRAINTS"


def test_nothing_about_the_protocol_lands_in_the_configuration():
    asked = change(
        {
            "delta.feature.ROWTRACKING": "Enabled",
            "delta.Feature.timestampntz": "supported",
            "delta.minReaderVersion": "3",
            "DELTA.MINWRITERVERSION": "7",
            "delta.ignoreProtocolDefaults": "true",
        }
    )
    assert asked.configuration == {}
    assert asked.features == ("rowTracking", "timestampNtz")
    assert (asked.min_reader_version, asked.min_writer_version) == (3, 7)


def test_an_unknown_feature_is_refused_with_the_likely_one():
    error = refused({"delta.feature.rowTracking2": "supported"})
    assert isinstance(error, UnsupportedFeatureError)
    assert (error.error_class, error.sql_state) == ("DELTA_UNSUPPORTED_FEATURES_IN_CONFIG", "56038")
    assert "rowTracking" in error.next_step


@in_one_test("name", sorted(FEATURES.keys() - {"clustering"}))
def test_every_feature_can_be_named_in_any_case(name):
    assert change({f"delta.feature.{name.upper()}": "supported"}).features == (name,)


def test_a_comment_is_the_description():
    asked = change({"comment": "orders"})
    assert (asked.description, asked.configuration) == ("orders", {})
    assert change({}).description is None


@pytest.mark.parametrize(
    ("given", "current", "error_class"),
    [
        ({"delta.logRetentionDuration": "1 day"}, {}, "DELTA_ILLEGAL_OPTION"),
        ({"delta.deletedFileRetentionDuration": "31 days"}, {}, "DELTA_ILLEGAL_OPTION"),
        (
            {"delta.rowTrackingSuspended": "true"},
            {"delta.enableRowTracking": "true"},
            "DELTA_ROW_TRACKING_ILLEGAL_PROPERTY_COMBINATION",
        ),
        (
            {"delta.enableDeletionVectors": "true"},
            {"delta.compatibility.symlinkFormatManifest.enabled": "true"},
            "DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED.PERSISTENT_DELETION_VECTORS_WITH_INCREMENTAL_MANIFEST_GENERATION",
        ),
        (
            {"delta.compatibility.symlinkFormatManifest.enabled": "true"},
            {"delta.columnMapping.mode": "name"},
            "DELTA_UNSUPPORTED_MANIFEST_GENERATION_WITH_COLUMN_MAPPING",
        ),
    ],
)
def test_properties_that_exclude_each_other_are_refused(given, current, error_class):
    assert refused(given, current=current).error_class == error_class


def test_the_retention_of_the_log_may_be_short_where_that_of_files_is():
    short = {"delta.logRetentionDuration": "1 day", "delta.deletedFileRetentionDuration": "1 day"}
    assert change(short).configuration == short
    assert change({"delta.logRetentionDuration": "1 day"}, current={"delta.deletedFileRetentionDuration": "1 hour"})


def test_what_one_statement_says_of_retention_is_enough():
    """As in delta-spark, for which two statements may say what one may not."""
    current = {"delta.logRetentionDuration": "10 days"}
    assert change({"delta.deletedFileRetentionDuration": "16 days"}, current=current)
    assert change({"delta.logRetentionDuration": "10 days"}, current={"delta.deletedFileRetentionDuration": "16 days"})
    assert refused({"delta.deletedFileRetentionDuration": "16 days", **current}).error_class == "DELTA_ILLEGAL_OPTION"


def test_a_table_that_breaks_a_rule_can_still_be_changed_elsewhere():
    broken = {"delta.logRetentionDuration": "1 day"}
    assert change({"delta.appendOnly": "true"}, current=broken).configuration == {"delta.appendOnly": "true"}
    with pytest.raises(InvalidOptionError):
        check_combinations(broken, table="t")


SETTINGS = {
    f"{DEFAULTS_PREFIX}appendOnly": "true",
    f"{DEFAULTS_PREFIX}feature.rowTracking": "supported",
    f"{DEFAULTS_PREFIX}minWriterVersion": "7",
    f"{DEFAULTS_PREFIX}unheardOf": "x",
    "spark.sql.shuffle.partitions": "1",
}


def test_a_session_gives_defaults_to_a_new_table():
    assert session_defaults(SETTINGS) == {
        "delta.appendOnly": "true",
        "delta.feature.rowTracking": "supported",
        "delta.minWriterVersion": "7",
    }


def test_a_given_property_goes_before_the_default_of_the_session():
    given = {"DELTA.appendonly": "false", "delta.feature.ROWTRACKING": "supported"}
    assert session_defaults(SETTINGS, given) == {"delta.minWriterVersion": "7"}


@pytest.mark.parametrize(
    ("settings", "given"),
    [
        (SETTINGS, {"delta.ignoreProtocolDefaults": "true"}),
        ({**SETTINGS, f"{DEFAULTS_PREFIX}ignoreProtocolDefaults": "True"}, {}),
    ],
)
def test_defaults_for_the_protocol_can_be_ignored(settings, given):
    ignoring = {"delta.ignoreProtocolDefaults": settings.get(f"{DEFAULTS_PREFIX}ignoreProtocolDefaults")}
    found = session_defaults(settings, given)
    assert found == {"delta.appendOnly": "true", **{key: value for key, value in ignoring.items() if value}}
    asked = validated({**found, **given}, table="t", creating=True)
    assert (asked.min_reader_version, asked.min_writer_version) == (1, 1)


@given(st.sampled_from(sorted(CHECKS)), st.text(max_size=8) | st.integers().map(str) | st.sampled_from(["true", "1 day", "v2"]))
def test_what_is_accepted_is_read_and_accepted_again(key, value):
    try:
        accepted = stored(key, value)
    except DeltaError:
        return
    assert change(accepted).configuration == accepted
    for stored_value in accepted.values():
        properties.PROPERTIES[key].parse(stored_value)
