# SPDX-License-Identifier: Apache-2.0
"""Change the system properties of a JVM from which Spark creates its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def change_spark_properties(change: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
    """Change or remove properties `spark.*` of the running JVM. Contexts created afterwards see the change."""
    from pyspark import SparkContext  # noqa: PLC0415  (the client of Spark Connect has none)

    system = SparkContext._jvm.java.lang.System  # type: ignore[union-attr]  # noqa: SLF001
    names = [name for name in system.getProperties().stringPropertyNames() if name.startswith("spark.")]
    before = {name: system.getProperty(name) for name in names}
    after = change(before)
    for name, value in before.items():
        if name not in after:
            system.clearProperty(name)
        elif after[name] != value:
            system.setProperty(name, after[name])
