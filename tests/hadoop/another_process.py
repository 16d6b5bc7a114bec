# SPDX-License-Identifier: Apache-2.0
"""A store on HDFS in a process without Spark: Hadoop's client runs in a small JVM of the process's own."""

from __future__ import annotations

import atexit
import contextlib

from tests.hadoop.cluster import HADOOP, JARS, gateway

from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.native.session.hadoop_store import HadoopStore, connect
from bayou.storage import qualify


def store_at(uri: str, adapters: str) -> HadoopStore:
    """The store of a folder.

    Args:
        uri: the folder.
        adapters: where the compiled adapters are, from a session that has them.
    """
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    connection = stack.enter_context(gateway([adapters, *HADOOP, f"{JARS}/*"], "128m"))
    return connect(Jvm(connection), qualify(uri), {})
