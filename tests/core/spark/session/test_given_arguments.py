# SPDX-License-Identifier: Apache-2.0
"""What users pass by mistake where a session, a DataFrame or a table is needed: the error says what to pass. No JVM runs."""

from __future__ import annotations

import typing
from types import SimpleNamespace

import pyarrow as pa
import pytest
from tests.support.cases import in_one_test

pytest.importorskip("pyspark")

from pyspark import SparkContext
from pyspark.errors import PySparkException, PySparkTypeError
from pyspark.sql import Row, SparkSession

import bayou
from bayou.errors import ArgumentTypeError, DeltaError, SessionError
from bayou.spark.data_files.request import MODES
from bayou.spark.native import enable as enable_module
from bayou.spark.session.given_arguments import frame_of, session_of
from bayou.table import DeltaTableBuilder, SaveMode


def bare(cls):
    """An object of a PySpark class, without the JVM that its constructor needs."""
    return object.__new__(cls)


def stopped_session():
    session = bare(SparkSession)
    session._jsparkSession = None
    session._sc = SimpleNamespace(_jsc=None)
    return session


class OfConnect:
    """What bayou recognises an object of Spark Connect by: the module of its class."""

    __module__ = "pyspark.sql.connect.session"

    @property
    def sparkSession(self):  # noqa: N802  (PySpark's name)
        return OfConnect()


class OfSubclass(OfConnect):
    """A session of a class that a platform derives from that of Spark Connect."""


class Builder(OfConnect):
    """A builder of Spark Connect."""

    def getOrCreate(self):  # noqa: N802  (PySpark's name)
        return OfConnect()


NO_SESSIONS = {
    "nothing": (None, "None", "SparkSession.builder.getOrCreate()"),
    "context": (bare(SparkContext), "pyspark", "SparkSession.builder.getOrCreate()"),
    "frame": (SimpleNamespace(sparkSession=bare(SparkSession)), "SimpleNamespace", "attribute sparkSession"),
    "path": ("/tmp/secret", " str", "path"),
    "number": (3, " int", "SparkSession"),
    "the class": (SparkSession, "class pyspark.sql.session.SparkSession", "not the class"),
    "class of builders": (SparkSession.Builder, "class", "SparkSession"),
    "method": (SparkSession.getActiveSession, "method", "SparkSession"),
    "connect class": (OfConnect, "class", "SparkSession"),
}
NEEDING_A_SESSION = {
    "enable": bayou.enable,
    "read": lambda given: bayou.read(given, "/tmp/t"),
    "forPath": lambda given: bayou.DeltaTable.forPath(given, "/tmp/t"),
    "forName": lambda given: bayou.DeltaTable.forName(given, "t"),
    "isDeltaTable": lambda given: bayou.DeltaTable.isDeltaTable(given, "/tmp/t"),
    "create": bayou.DeltaTable.create,
    "createIfNotExists": bayou.DeltaTable.createIfNotExists,
    "replace": bayou.DeltaTable.replace,
    "createOrReplace": bayou.DeltaTable.createOrReplace,
}
BUILDERS = {"create", "createIfNotExists", "replace", "createOrReplace"}
"""These use the active session if they get None."""


CALLS = [(call, name) for call in NEEDING_A_SESSION for name in NO_SESSIONS if name != "nothing" or call not in BUILDERS]


@in_one_test(("call", "name"), CALLS)
def test_what_is_not_a_session_is_named_and_the_error_says_what_to_pass(call, name):
    given, what, advice = NO_SESSIONS[name]
    with pytest.raises(ArgumentTypeError) as caught:
        NEEDING_A_SESSION[call](given)
    error = caught.value
    assert "SparkSession" in error.message
    assert what in error.message
    assert error.given in error.message
    assert advice in error.next_step
    assert "secret" not in str(error)
    assert "Spark Connect" not in str(error)
    assert isinstance(error, PySparkTypeError)
    assert isinstance(error, DeltaError)
    assert isinstance(error, TypeError)


@in_one_test("call", [name for name in NEEDING_A_SESSION if name != "isDeltaTable"])
def test_a_session_that_cannot_be_used_is_told_apart_from_what_is_not_a_session(call):
    with pytest.raises(SessionError, match="stopped") as caught:
        NEEDING_A_SESSION[call](stopped_session())
    assert caught.value.next_step


@pytest.mark.parametrize("given", [OfConnect(), OfSubclass()])
def test_a_session_and_a_frame_of_spark_connect_are_recognised_by_the_module_of_their_class(given):
    assert session_of(given) is given
    assert frame_of(given) is given


def test_a_builder_of_spark_connect_gives_its_session():
    assert isinstance(session_of(Builder()), OfConnect)


def test_a_builder_gives_the_session_that_it_gets_or_creates(monkeypatch):
    session = bare(SparkSession)
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", lambda _: session)
    assert session_of(SparkSession.Builder()) is session
    assert session_of(session) is session


def without_compiler(_):
    raise SessionError("none here")


def test_a_session_whose_adapters_cannot_be_compiled_is_refused_and_gets_nothing_of_bayou(monkeypatch):
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", lambda _: bare(SparkSession))
    monkeypatch.setattr(enable_module.Jvm, "of", lambda _: object())
    monkeypatch.setattr(enable_module.callbacks, "start", lambda _: True)
    monkeypatch.setattr(enable_module.Adapters, "of", without_compiler)
    installed = []
    for name in ("register_hadoop_stores", "register_object_stores", "pass_transaction_ids", "follow_writes", "listen"):
        monkeypatch.setattr(enable_module, name, lambda *_, name=name: installed.append(name))
    with pytest.raises(SessionError, match="none here") as caught:
        bayou.enable(SparkSession.builder)
    assert isinstance(caught.value, PySparkException)
    assert installed == []


FRAMES = {
    "pyarrow": (pa.table({"a": [1]}), "pyarrow.lib.Table", "createDataFrame(table.to_pandas())"),
    "nothing": (None, "None", "createDataFrame(rows, schema)"),
    "rows": ([Row(a=1)], "type list", "createDataFrame(rows, schema)"),
    "path": ("/tmp/t", "type str", "createDataFrame(rows, schema)"),
    "session": (bare(SparkSession), "SparkSession", "createDataFrame(rows, schema)"),
}


def of_package(module):
    return type("DataFrame", (), {"__module__": module})()


@pytest.mark.parametrize("name", FRAMES)
def test_what_is_not_a_spark_frame_is_named_and_the_error_says_how_to_make_one(name):
    given, what, advice = FRAMES[name]
    with pytest.raises(ArgumentTypeError) as caught:
        bayou.write(given, "/tmp/t")
    assert what in caught.value.message
    assert advice in caught.value.next_step
    assert isinstance(caught.value, PySparkTypeError)


@pytest.mark.parametrize(
    ("module", "advice"),
    [
        ("pandas.core.frame", "createDataFrame(frame)"),
        ("pandas", "createDataFrame(frame)"),
        ("polars.dataframe.frame", "frame.to_pandas()"),
        ("pyspark.pandas.frame", "frame.to_spark()"),
        ("pandasql.frame", "createDataFrame(rows, schema)"),
    ],
)
def test_frames_of_other_libraries_are_recognised_by_the_package_of_their_class(module, advice):
    with pytest.raises(ArgumentTypeError, match=f"{module}.DataFrame") as caught:
        frame_of(of_package(module))
    assert advice in caught.value.next_step


@pytest.mark.parametrize(("arguments", "options"), [(("/tmp/t",), {}), ((None, "/tmp/t"), {}), ((), {}), ((), {"path": "/tmp/t"})])
def test_a_table_is_not_made_by_its_class(arguments, options):
    with pytest.raises(ArgumentTypeError) as caught:
        bayou.DeltaTable(*arguments, **options)
    assert isinstance(caught.value, PySparkTypeError)
    assert "DeltaTable.forPath(spark, path)" in str(caught.value)
    assert "bayou.open(path)" in str(caught.value)


def test_a_table_under_a_name_is_of_the_same_class_also_for_classes_of_users():
    class Orders(bayou.DeltaTable):
        """A class of a user's."""

    table = Orders._at(None, "/tmp/t", {})
    assert type(table) is type(table.alias("o")) is Orders


def test_builders_of_tables_are_typed():
    assert typing.get_type_hints(DeltaTableBuilder.execute)["return"] is bayou.DeltaTable
    assert typing.get_type_hints(bayou.DeltaTable.create)["return"] is DeltaTableBuilder


def test_the_type_of_a_save_mode_names_the_modes_that_a_write_accepts():
    assert typing.get_type_hints(bayou.write)["mode"] is SaveMode
    assert set(typing.get_args(SaveMode)) == set(MODES)
