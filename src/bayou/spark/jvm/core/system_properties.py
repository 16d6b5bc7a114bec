# SPDX-License-Identifier: Apache-2.0
"""The system properties of a JVM that Spark makes its configuration from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark import SparkContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def change_spark_properties(change: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
    """Changes the properties `spark.*` of the JVM that was started; contexts that are made afterwards see the change.

    Args:
        change: gives the properties that are to be there instead of those that it is given; none of them is new.
    """
    system = SparkContext._jvm.java.lang.System  # type: ignore[union-attr]  # noqa: SLF001
    names = [name for name in system.getProperties().stringPropertyNames() if name.startswith("spark.")]
    before = {name: system.getProperty(name) for name in names}
    after = change(before)
    for name, value in before.items():
        if name not in after:
            system.clearProperty(name)
        elif after[name] != value:
            system.setProperty(name, after[name])
