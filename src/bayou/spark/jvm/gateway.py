# SPDX-License-Identifier: Apache-2.0
"""Import what bayou uses of py4j.

The package `pyspark-client` has no py4j. There, this module defines exceptions that nothing raises, so that
other modules import and may name them.
"""

from __future__ import annotations

from typing import Any

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


__all__ = ["JavaClass", "JavaObject", "Py4JError", "Py4JJavaError"]
