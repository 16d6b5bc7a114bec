# SPDX-License-Identifier: Apache-2.0
"""An option that is given and empty means what a blank one means: it is never taken for one that is not given."""

from __future__ import annotations

import pytest

import bayou

FEED = {"readChangeFeed": "true"}
READ = [
    ({"timestampAsOf": ""}, "DELTA_TIMESTAMP_INVALID"),
    ({"versionAsOf": ""}, "DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE"),
    ({"path": ""}, "DELTA_ILLEGAL_OPTION"),
    ({**FEED, "startingTimestamp": ""}, "DELTA_TIMESTAMP_INVALID"),
    ({**FEED, "startingVersion": ""}, "DELTA_VERSION_INVALID"),
    ({**FEED, "startingVersion": "0", "endingTimestamp": ""}, "DELTA_TIMESTAMP_INVALID"),
    ({**FEED, "startingVersion": "0", "endingVersion": ""}, "DELTA_VERSION_INVALID"),
    ({"readChangeFeed": ""}, "DELTA_ILLEGAL_OPTION"),
]
STREAM = [
    "timestampAsOf",
    "versionAsOf",
    "path",
    "schemaTrackingLocation",
    "schemaLocation",
    "startingVersion",
    "maxFilesPerTrigger",
]
STREAM += ["maxBytesPerTrigger", "ignoreDeletes", "ignoreChanges", "skipChangeCommits", "failOnDataLoss", "readChangeFeed"]
STREAM += ["allowSourceColumnRename", "allowSourceColumnDrop", "allowSourceColumnTypeChange", "withEventTimeOrder"]
WRITE = ["replaceWhere", "replaceOn", "replaceUsing", "targetAlias", "mergeSchema", "overwriteSchema", "partitionOverwriteMode"]
WRITE += ["txnAppId", "txnVersion", "dataChange", "optimizeWrite", "path"]


@pytest.fixture
def path(spark, table_path):
    bayou.write(spark.range(3), table_path, **{"delta.enableChangeDataFeed": "true"})
    return table_path


def error_of(action):
    with pytest.raises(Exception) as caught:
        action()
    return caught.value.getErrorClass()


def blank(options):
    return {key: value or " " for key, value in options.items()}


@pytest.mark.parametrize(("options", "wanted"), READ, ids=lambda value: "-".join(value) if isinstance(value, dict) else None)
def test_of_a_read(spark, path, options, wanted):
    for given in (options, blank(options)):
        assert error_of(lambda given=given: spark.read.format("delta").options(**{"path": path, **given}).load().count()) == wanted


@pytest.mark.parametrize("option", STREAM)
def test_of_a_stream(spark, path, option):
    found = [
        error_of(lambda value=value: spark.readStream.format("delta").options(**{"path": path, option: value}).load())
        for value in ("", " ")
    ]
    assert found[0] == found[1]
    assert found[0].startswith("DELTA_")


@pytest.mark.parametrize("option", WRITE)
def test_of_a_write(spark, path, option):
    writer = spark.range(3).write.format("delta").mode("overwrite")
    found = [error_of(lambda value=value: writer.options(**{"path": path, option: value}).save()) for value in ("", " ")]
    assert found[0] == found[1]
    assert found[0].startswith("DELTA_")
    assert bayou.DeltaTable.forPath(spark, path).history().count() == 1


def test_of_the_functions(spark, path):
    assert error_of(lambda: bayou.read(spark, path, timestamp="").count()) == "DELTA_TIMESTAMP_INVALID"
