# SPDX-License-Identifier: Apache-2.0
"""A local Spark session tuned for tests: small, quiet, and in UTC."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Mapping

# Tests run much code a few times: compiling it well costs more processor time than it saves, as does a collector that runs
# beside the program. The room for compiled code is the one that Java has otherwise; without it hot code is thrown away.
# The time zone is the JVM's and no setting of the session's, as it is for most users.
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
