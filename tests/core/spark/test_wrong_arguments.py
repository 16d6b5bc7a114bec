# SPDX-License-Identifier: Apache-2.0
"""Arguments of other types, in what users call on a session: each is refused before the session is asked for anything."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StructField, StructType
from tests.support.cases import in_one_test

import bayou
from bayou.errors import DeltaError, InvalidSchemaError
from bayou.spark.data_files.request import WriteOptions
from bayou.spark.types.user_types import given_schema
from bayou.table import DeltaTableBuilder

LONE = "\ud800"
NO_TEXT = [None, 5, True, b"x", 1.5, ["x"], {"x": 1}, Path("x"), LONE, object()]
NO_NAME = [each for each in NO_TEXT if each is not None]
NO_FLAG = [None, 0, 1, "false", "x", [], object()]
NO_PATH = [None, 5, True, b"x", 1.5, ["x"], {"x": 1}, object(), "", "a\0b", LONE]
NO_COLUMN = [None, 5, True, b"x", {"x": 1}, [5], [None], [LONE], LONE, object()]
NO_TXN = [5, "x", (), ("a",), ("a", "1"), ("a", -1), (LONE, 1)]
NO_MAP = [5, True, "x", ["x"], [("a", "b")], {5: "x"}, {None: "x"}, {LONE: "x"}, object()]


class NoSession:
    """A session that is not asked for anything."""

    def __getattr__(self, name):
        message = f"the session was asked for {name}"
        raise AssertionError(message)


class Frame(DataFrame):
    """A DataFrame that is not asked for its rows."""

    def __new__(cls):
        return object.__new__(cls)

    def __init__(self):
        pass

    sparkSession = NoSession()  # noqa: N815  (PySpark's name)


def table():
    return bayou.DeltaTable._at(NoSession(), "/data/t", {})


CALLS = {
    "read(path)": (lambda value: bayou.read(NoSession(), value), NO_PATH),
    "read(net)": (lambda value: bayou.read(NoSession(), "/t", net=value), NO_FLAG),
    "write(frame)": (lambda value: bayou.write(value, "/t"), [None, 5, "x", [1], object()]),
    "write(path)": (lambda value: bayou.write(Frame(), value), NO_PATH),
    "write(partition_by)": (lambda value: bayou.write(Frame(), "/t", partition_by=value), [None, "day", b"day", 5, [5], {"a": 1}]),
    "write(txn)": (lambda value: bayou.write(Frame(), "/t", txn=value), NO_TXN),
    "forPath(path)": (lambda value: bayou.DeltaTable.forPath(NoSession(), value), NO_PATH),
    "forPath(hadoopConf)": (
        lambda value: bayou.DeltaTable.forPath(NoSession(), "/t", value),
        [*NO_MAP, {"fs.x": 5}, {"fs.x": None}, {"fs.x": True}],
    ),
    "forName": (lambda value: bayou.DeltaTable.forName(NoSession(), value), NO_TEXT),
    "isDeltaTable": (lambda value: bayou.DeltaTable.isDeltaTable(NoSession(), value), NO_PATH),
    "changes(net)": (lambda value: table().changes(0, net=value), NO_FLAG),
    "changes(startingVersion)": (lambda value: table().changes(value), ["x", 1.5, True, [1], object(), 1 << 63]),
    "history": (lambda value: table().history(value), ["1", 1.5, True, [1], object()]),
    "alias": (lambda value: table().alias(value), NO_TEXT),
    "delete(txn)": (lambda value: table().delete(txn=value), NO_TXN),
    "update(txn)": (lambda value: table().update(set={"a": "1"}, txn=value), NO_TXN),
    "merge(txn)": (lambda value: table().merge(Frame(), "a = b", txn=value), NO_TXN),
    "setProperties": (lambda value: table().setProperties(value), [None, *NO_MAP]),
    "setProperties(value)": (
        lambda value: table().setProperties({"x": value}),
        [None, b"x", ["x"], {"y": 1}, float("nan"), float("inf"), object(), LONE, dt.date(2024, 1, 1)],
    ),
    "unsetProperties": (lambda value: table().unsetProperties(value), NO_TEXT),
    "unsetProperties(ifExists)": (lambda value: table().unsetProperties("x", ifExists=value), NO_FLAG),
    "setComment": (lambda value: table().setComment(value), NO_NAME),
    "addConstraint(name)": (lambda value: table().addConstraint(value, "id > 0"), NO_TEXT),
    "addConstraint(condition)": (lambda value: table().addConstraint("c", value), NO_TEXT),
    "dropConstraint": (lambda value: table().dropConstraint(value), NO_TEXT),
    "dropConstraint(ifExists)": (lambda value: table().dropConstraint("c", value), NO_FLAG),
    "addColumns(parent)": (lambda value: table().addColumns("a int", parent=value), NO_COLUMN),
    "addColumns(after)": (lambda value: table().addColumns("a int", after=value), NO_NAME),
    "addColumns(first)": (lambda value: table().addColumns("a int", first=value), NO_FLAG),
    "renameColumn(path)": (lambda value: table().renameColumn(value, "b"), NO_COLUMN),
    "renameColumn(newName)": (lambda value: table().renameColumn("a", value), NO_TEXT),
    "dropColumns": (lambda value: table().dropColumns(value), NO_COLUMN),
    "changeColumn(path)": (lambda value: table().changeColumn(value, comment="x"), NO_COLUMN),
    "changeColumn(comment)": (lambda value: table().changeColumn("a", comment=value), NO_NAME),
    "changeColumn(nullable)": (lambda value: table().changeColumn("a", nullable=value), NO_FLAG[1:]),
    "changeColumn(after)": (lambda value: table().changeColumn("a", after=value), NO_NAME),
    "changeColumn(first)": (lambda value: table().changeColumn("a", first=value), NO_FLAG),
    "setDefault(path)": (lambda value: table().setDefault(value, "0"), NO_COLUMN),
    "setDefault(expression)": (lambda value: table().setDefault("a", value), NO_NAME),
    "clusterBy": (lambda value: table().clusterBy(value), NO_COLUMN),
    "syncIdentity": (lambda value: table().syncIdentity(value), NO_TEXT),
}


@in_one_test("name", CALLS)
def test_a_wrong_argument_is_refused_before_the_session_is_asked(name):
    call, values = CALLS[name]
    for value in values:
        with pytest.raises(DeltaError) as caught:
            call(value)
        assert isinstance(caught.value, (ValueError, TypeError))


def test_a_secret_of_the_file_system_is_not_shown():
    with pytest.raises(DeltaError) as caught:
        bayou.DeltaTable.forPath(NoSession(), "/t", {"fs.s3a.secret.key": ["hunter2"]})
    assert "hunter2" not in str(caught.value)


def builder():
    return DeltaTableBuilder(NoSession(), "create")


def identity(start=1, step=1):
    return bayou.IdentityGenerator(start=start, step=step)


BUILDS = {
    "tableName": (lambda value: builder().tableName(value), NO_TEXT),
    "location": (lambda value: builder().location(value), NO_TEXT),
    "comment": (lambda value: builder().comment(value), NO_TEXT),
    "property(key)": (lambda value: builder().property(value, "x"), NO_TEXT),
    "property(value)": (lambda value: builder().property("x", value), NO_TEXT),
    "partitionedBy": (lambda value: builder().partitionedBy(value, "b"), NO_TEXT),
    "partitionedBy(list)": (lambda value: builder().partitionedBy([value]), NO_TEXT),
    "clusterBy": (lambda value: builder().clusterBy("a", value), NO_TEXT),
    "addColumn(name)": (lambda value: builder().addColumn(value, LongType()), NO_TEXT),
    "addColumn(type)": (lambda value: builder().addColumn("a", value), [None, 5, True, b"x", ["x"], LongType, object()]),
    "addColumn(nullable)": (lambda value: builder().addColumn("a", LongType(), nullable=value), NO_FLAG),
    "addColumn(comment)": (lambda value: builder().addColumn("a", LongType(), comment=value), NO_NAME),
    "addColumn(always)": (lambda value: builder().addColumn("a", LongType(), generatedAlwaysAs=value), NO_NAME),
    "addColumn(default)": (lambda value: builder().addColumn("a", LongType(), generatedByDefaultAs=value), ["x", *NO_NAME]),
    "identity(start)": (
        lambda value: builder().addColumn("a", LongType(), generatedAlwaysAs=identity(start=value)),
        [None, "1", 1.5, True, 1 << 63, -(1 << 64)],
    ),
    "identity(step)": (
        lambda value: builder().addColumn("a", LongType(), generatedByDefaultAs=identity(step=value)),
        [None, "1", 1.5, True, 0, 1 << 63],
    ),
    "addColumns": (lambda value: builder().addColumns(value), [None, 5, "a int", {"a": 1}, ["a"], [None], (1,), object()]),
}


@in_one_test("name", BUILDS)
def test_a_wrong_argument_of_a_builder_is_refused_where_it_is_given(name):
    call, values = BUILDS[name]
    for value in values:
        with pytest.raises((TypeError, ValueError)):
            call(value)


METADATA = [{"x": float("nan")}, {"x": {1}}, {"x": b"y"}, {"x": [1, "a"]}, {"x": 1 << 63}, {"comment": LONE}, {"x": object()}]


@pytest.mark.parametrize("metadata", METADATA)
def test_metadata_that_cannot_be_read_back_are_refused(metadata):
    field = StructField("a", LongType(), metadata=metadata)
    for fields in ([field], [StructField("s", StructType([field]))]):
        with pytest.raises(InvalidSchemaError):
            given_schema(NoSession(), fields)
        with pytest.raises(InvalidSchemaError):
            builder().addColumns(StructType(fields))


@pytest.mark.parametrize("mode", [None, 5, True, ["append"], b"append", "apend", object()])
def test_a_mode_is_one_of_the_known_ones(mode):
    with pytest.raises(ValueError, match="append"):
        WriteOptions.parse({"path": "/t"}, mode)


def test_a_note_that_is_not_unicode_is_refused_before_rows_are_written():
    with pytest.raises(ValueError, match="userMetadata"):
        WriteOptions.parse({"path": "/t", "userMetadata": LONE}, "append")
