# SPDX-License-Identifier: Apache-2.0
"""Check user-supplied sessions and DataFrames. The error for any other object explains how to get the right one."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from bayou.errors import failed
from bayou.spark.backend import is_of_connect
from bayou.spark.session.java_home import started

_GET_SESSION: Final = "Pass SparkSession.builder.getOrCreate()"
_SPARK_FRAMES: Final = {
    "pandas": "Make a Spark DataFrame first: spark.createDataFrame(frame).",
    "polars": "Make a Spark DataFrame first: spark.createDataFrame(frame.to_pandas()).",
    "pyarrow": "Make a Spark DataFrame first: spark.createDataFrame(table.to_pandas()).",
    "pyspark.pandas": "Make a Spark DataFrame first: frame.to_spark().",
}
"""By package: the advice to convert its tables to a Spark DataFrame."""


def session_of(given: Any) -> SparkSession:
    """Return a user-supplied session, classic or Spark Connect. For a builder, return the session that it creates.

    Raises:
        ArgumentTypeError: the object is neither a session nor a builder.
        SessionError: the builder cannot start Spark, because the Java is too old or missing.
    """
    if isinstance(given, SparkSession) or (is_of_connect(given) and not _is_builder(given)):
        session: SparkSession = given
        return session
    if _is_builder(given):
        return session_of(started(given))
    raise failed("spark-session", given=_in_words(given), next_step=_how_to_pass_a_session(given))


def frame_of(given: Any) -> DataFrame:
    """Return a user-supplied DataFrame, classic or Spark Connect. Raise ArgumentTypeError for any other object."""
    if isinstance(given, DataFrame) or is_of_connect(given):
        frame: DataFrame = given
        return frame
    raise failed("spark-frame", given=_in_words(given), next_step=_how_to_make_a_frame(given))


def _is_builder(given: Any) -> bool:
    return isinstance(given, SparkSession.Builder) or (is_of_connect(given) and hasattr(given, "getOrCreate"))


def _how_to_pass_a_session(given: Any) -> str:
    if isinstance(given, type) and issubclass(given, SparkSession):
        return f"{_GET_SESSION}, not the class."
    if not isinstance(given, type) and isinstance(getattr(given, "sparkSession", None), SparkSession):
        return "Pass its session: the attribute sparkSession."
    if isinstance(given, str):
        return f"{_GET_SESSION}; a path or a name comes after the session."
    return f"{_GET_SESSION}."


def _how_to_make_a_frame(given: Any) -> str:
    module = type(given).__module__
    found = [advice for package, advice in _SPARK_FRAMES.items() if f"{module}.".startswith(f"{package}.")]
    return found[0] if found else "Make a Spark DataFrame first, for example with spark.createDataFrame(rows, schema)."


def _in_words(given: Any) -> str:
    """Describe an object without its value, which may be a secret."""
    if given is None:
        return "None"
    if isinstance(given, type):
        return f"the class {_name(given)}"
    return f"an object of type {_name(type(given))}"


def _name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
