# SPDX-License-Identifier: Apache-2.0
"""Import what bayou uses of py4j, and find the running context.

The package `pyspark-client` has neither py4j nor `SparkContext`. There, this module defines exceptions that nothing raises, so that
other modules import and may name them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyspark

try:
    from py4j.java_gateway import JavaClass, JavaObject
    from py4j.protocol import Py4JError, Py4JJavaError
except ModuleNotFoundError as _error:
    if _error.name != "py4j":
        raise
    JavaClass: Any = None  # type: ignore[no-redef]
    JavaObject: Any = None  # type: ignore[no-redef]

    class Py4JError(Exception):  # type: ignore[no-redef]
        """The error of a call into a JVM. Without py4j nothing makes such a call."""

    class Py4JJavaError(Py4JError):  # type: ignore[misc, no-redef]
        """The error of a Java method. Without py4j no such method is called."""


if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["JavaClass", "JavaObject", "Py4JError", "Py4JJavaError", "running_context"]


def running_context() -> SparkContext | None:
    """Return the context of this process's application; None if no application runs, or if PySpark is only its Connect client."""
    kind = getattr(pyspark, "SparkContext", None)
    # No public call asks without creating a context.
    return None if kind is None else kind._active_spark_context  # noqa: SLF001
