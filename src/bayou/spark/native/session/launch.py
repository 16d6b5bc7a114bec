# SPDX-License-Identifier: Apache-2.0
"""Change the settings of a JVM that PySpark has just started, before it creates a context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.spark.jvm.core.system_properties import change_spark_properties

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def change_launch_settings(change: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
    """Change or remove the settings `spark.*` that the JVM was started with. Contexts created afterwards see the change."""
    change_spark_properties(change)
