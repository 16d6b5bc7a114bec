# SPDX-License-Identifier: Apache-2.0
"""What a request leaves open, the session's settings decide; what it says, they do not change."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bayou.errors import InvalidOptionError
from bayou.spark.data_files.request import WriteOptions, WriteRequest, with_settings
from bayou.spark.errors.parameters import parameters_of
from bayou.spark.session.settings import batch_of, bins_of, merges_schemas, optimizes_writes, reset_txn_version, user_metadata_of

PREFIX = "spark.databricks.delta"
APP_ID, VERSION = f"{PREFIX}.write.txnAppId", f"{PREFIX}.write.txnVersion"
AUTO_RESET = f"{PREFIX}.write.txnVersion.autoReset.enabled"
AUTO_MERGE, OPTIMIZE = f"{PREFIX}.schema.autoMerge.enabled", f"{PREFIX}.optimizeWrite.enabled"
USER_METADATA, MODE = f"{PREFIX}.commitInfo.userMetadata", "spark.sql.sources.partitionOverwriteMode"
SETTINGS = {APP_ID: "nightly", VERSION: "5", AUTO_MERGE: "TRUE", OPTIMIZE: "true", USER_METADATA: "a note", MODE: "DYNAMIC"}


def settled(settings, mode="overwrite", **options):
    found = with_settings(WriteRequest(WriteOptions("/t", mode, **options)), settings).options
    return (found.txn, found.merge_schema, found.user_metadata, found.dynamic_partitions, found.optimize_write)


def test_settings_decide_what_the_request_leaves_open():
    assert settled(SETTINGS) == (("nightly", 5), True, "a note", True, True)
    assert settled({}) == (None, False, None, False, None)
    assert settled({OPTIMIZE: "no"})[-1] is False


def test_settings_do_not_change_what_the_request_says():
    said = {"txn": ("mine", 1), "merge_schema": False, "user_metadata": "mine", "dynamic_partitions": False}
    assert settled(SETTINGS, optimize_write=False, **said) == (("mine", 1), False, "mine", False, False)
    assert settled({OPTIMIZE: "false"}, merge_schema=True, optimize_write=True)[1:] == (True, None, False, True)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, (None, None)),
        ({"binSize": "1m"}, (1 << 20, None)),
        ({"maxShufflePartitions": "199"}, (None, 199)),
        ({"maxShufflePartitions": "2000", "binSize": "5"}, (5, None)),
        ({"maxShufflePartitions": "20", "binSize": "5"}, (None, 20)),
        ({"maxShufflePartitions": "20", "binSize": "5", "spark.sql.shuffle.partitions": "8"}, (5, None)),
    ],
)
def test_rows_are_gathered_by_size_or_into_fewer_partitions(settings, expected):
    given = {key if "." in key else f"{PREFIX}.optimizeWrite.{key}": value for key, value in settings.items()}
    assert bins_of(given, "t") == expected


@pytest.mark.parametrize(("name", "value"), [("binSize", "0"), ("binSize", "x"), ("maxShufflePartitions", "0")])
def test_bins_of_no_size_are_refused(name, value):
    with pytest.raises(InvalidOptionError, match=f"optimizeWrite.{name}"):
        bins_of({f"{PREFIX}.optimizeWrite.{name}": value}, "t")


def test_only_overwrites_that_name_no_rows_replace_partitions():
    assert settled(SETTINGS, mode="append")[3] is False
    assert settled(SETTINGS, replace_where="id = 1")[3] is False
    assert settled(SETTINGS, mode="append", dynamic_partitions=True)[3] is False


def test_a_new_schema_and_partitions_that_stay_contradict_each_other():
    with pytest.raises(InvalidOptionError) as caught:
        settled(SETTINGS, overwrite_schema=True)
    assert caught.value.getErrorClass() == "DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE"
    assert settled(SETTINGS, overwrite_schema=True, dynamic_partitions=False)[3] is False


def test_a_session_names_its_batch_by_both_or_not_at_all():
    assert batch_of({APP_ID: "nightly", VERSION: "5"}, "/t") == ("nightly", 5)
    assert batch_of({}, "/t") is None
    for half in ({VERSION: "5"}, {APP_ID: "nightly"}):
        with pytest.raises(InvalidOptionError):
            batch_of(half, "/t")


@pytest.mark.parametrize(
    ("setting", "given", "committed", "reason", "spent"),
    [
        ({}, None, True, "", []),
        ({AUTO_RESET: "false"}, None, True, "", []),
        ({AUTO_RESET: "true"}, None, True, "", [VERSION]),
        ({AUTO_RESET: "true"}, None, False, "replayed", [VERSION]),
        ({AUTO_RESET: "true"}, None, False, "empty", []),
        ({AUTO_RESET: "true"}, ("mine", 1), True, "", []),
    ],
)
def test_a_batch_of_the_sessions_is_spent_where_the_session_says_so(setting, given, committed, reason, spent):
    unset = []
    session, done = SimpleNamespace(conf=SimpleNamespace(unset=unset.append)), SimpleNamespace(committed=committed, reason=reason)
    reset_txn_version(session, {**SETTINGS, **setting}, given, done)
    assert unset == spent


def test_operations_that_change_rows_ask_for_single_settings():
    assert (merges_schemas(SETTINGS), optimizes_writes(SETTINGS), user_metadata_of(SETTINGS)) == (True, True, "a note")
    assert (merges_schemas({}), optimizes_writes({}), user_metadata_of({})) == (False, None, None)


def requested(mode, **options):
    return WriteOptions.parse({"path": "/t", **options}, mode, [])


@pytest.mark.parametrize("mode", ["append", "overwrite"])
@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (
            {"txnAppId": "a", "txnVersion": "x"},
            {"input": "x", "name": "txnVersion", "explain": "must be a non-negative integer"},
        ),
        (
            {"txnAppId": "a", "txnVersion": "-3"},
            {"input": "-3", "name": "txnVersion", "explain": "must be a non-negative integer"},
        ),
        (
            {"partitionOverwriteMode": "dyn"},
            {"input": "dyn", "name": "partitionOverwriteMode", "explain": "must be 'STATIC' or 'DYNAMIC'"},
        ),
    ],
)
def test_an_option_that_cannot_have_its_value_is_named_with_it(options, parameters, mode):
    with pytest.raises(InvalidOptionError) as caught:
        requested(mode, **options)
    assert caught.value.getErrorClass() == "DELTA_ILLEGAL_OPTION"
    assert parameters_of(caught.value) == parameters
