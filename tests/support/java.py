# SPDX-License-Identifier: Apache-2.0
"""Small Java classes for tests, compiled on the running JVM."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from bayou.spark.jvm.core.bridge import Jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def new_object(spark: SparkSession, name: str, source: str, *arguments: Any) -> Any:
    """An object of a class, by its only constructor.

    Args:
        spark: the session.
        name: the class.
        source: its source, without a package; the compiler knows no generics.
        arguments: those of the constructor.
    """
    jvm = Jvm.of(spark)
    return _loaded(jvm, name, source).getConstructors()[0].newInstance(jvm.objects(arguments))


@cache
def _loaded(jvm: Jvm, name: str, source: str) -> Any:
    """The class, once: py4j knows classes by their names."""
    compiler = jvm.static("org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(jvm.loader)
    compiler.cook(source)
    return compiler.getClassLoader().loadClass(name)
