# SPDX-License-Identifier: Apache-2.0
"""Reach the system properties of a JVM from which Spark creates its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayou.spark.jvm.core.bridge import JavaObject


def java_system() -> JavaObject:
    """Return Java's `System` of the JVM that PySpark has started, also before it has a context."""
    from pyspark import SparkContext  # noqa: PLC0415  (the client of Spark Connect has none)

    return SparkContext._jvm.java.lang.System  # type: ignore[union-attr]  # noqa: SLF001
