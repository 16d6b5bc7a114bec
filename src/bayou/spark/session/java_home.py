# SPDX-License-Identifier: Apache-2.0
"""Start Spark from a builder. If the Java is too old or missing, the error says which one to install."""

from __future__ import annotations

import re
from typing import Any, Final

import pyspark
from pyspark.errors import PySparkRuntimeError

from bayou.errors import failed
from bayou.report.java import java_version

_NO_JVM: Final = "JAVA_GATEWAY_EXITED"


def started(builder: Any) -> Any:
    """Return the session that a builder creates.

    Raises:
        SessionError: PySpark's JVM did not start, and the Java is missing or is not one that this Spark runs on.
    """
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        if _NO_JVM not in str(error):
            raise
        version = _major(java_version())
        lowest, needed = (8, "17") if pyspark.__version__.startswith("3.") else (17, "17 or 21")
        if version is not None and version >= lowest:
            raise  # the reason is another one, and is above the traceback
        found = "no Java was found" if version is None else f"this machine's is Java {version}"
        raise failed("java-not-started", spark=pyspark.__version__, needed=needed, found=found) from error


def _major(version: str | None) -> int | None:
    found = re.search(r'version "(?:1\.)?(\d+)', version or "")
    return int(found[1]) if found else None
