# SPDX-License-Identifier: Apache-2.0
"""A local Spark session tuned for tests: small, quiet, and in UTC."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Mapping

# Tests run much code a few times. Optimised compilation and a concurrent garbage collector cost more processor time than they save.
# This level of compilation has a smaller code cache by default, which would evict hot code: it gets the usual size.
# The JVM sets the time zone, and not the session, as for most users.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseParallelGC -Duser.timezone=UTC"
_SETTINGS = {
    "spark.driver.extraJavaOptions": _JAVA_OPTIONS,
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.bayou.progress": "off",
    "spark.sql.shuffle.partitions": "2",
}


def local_session(settings: Mapping[str, str] | None = None, *, master: str = "local[2]") -> SparkSession:
    """A Spark session on this machine, without bayou on it.

    Args:
        settings: Spark settings on top of the tuned ones.
        master: where it runs.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("bayou")
    for name, value in {**_SETTINGS, **(settings or {})}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
