# SPDX-License-Identifier: Apache-2.0
"""A builder on a machine whose Java is too old or missing: the error says which Java to install."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

import pyspark
from pyspark.errors import PySparkRuntimeError

from bayou.errors import SessionError
from bayou.spark.session.java_home import started


class Builder:
    """A builder whose `getOrCreate` raises an error."""

    def __init__(self, error):
        self.error = error

    def getOrCreate(self):  # noqa: N802  (PySpark's name)
        raise self.error


@pytest.fixture
def builder():
    return Builder(PySparkRuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number."))


@pytest.fixture
def java(tmp_path, monkeypatch):
    """Makes JAVA_HOME a Java that prints a version."""

    def put(version):
        program = tmp_path / "bin" / "java"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2022-01-01' >&2\n")
        program.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    return put


@pytest.mark.parametrize(("text", "major"), [("11.0.2", 11), ("1.8.0_392", 8), ("9", 9)])
def test_an_old_java_is_named_with_the_one_to_install(builder, java, monkeypatch, text, major):
    monkeypatch.setattr(pyspark, "__version__", "4.1.0")
    java(text)
    with pytest.raises(SessionError, match=rf"Spark 4\.1\.0 .* needs Java 17 or 21, and this machine's is Java {major}") as raised:
        started(builder)
    assert "JAVA_HOME" in raised.value.next_step
    assert raised.value.__cause__ is builder.error


def test_a_missing_java_is_reported(builder, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/no/such/folder")
    with pytest.raises(SessionError, match="no Java was found"):
        started(builder)


def test_an_error_with_another_reason_stays(builder, java, monkeypatch):
    monkeypatch.setattr(pyspark, "__version__", "4.1.0")
    java("17.0.1")
    with pytest.raises(PySparkRuntimeError):
        started(builder)


def test_an_error_of_something_else_stays():
    with pytest.raises(PySparkRuntimeError, match="OTHER"):
        started(Builder(PySparkRuntimeError("[OTHER] Something else.")))
