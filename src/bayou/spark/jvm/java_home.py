# SPDX-License-Identifier: Apache-2.0
"""Start Spark from a builder. If the Java is too old or missing, the error says which one to install."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyspark
from pyspark.errors import PySparkRuntimeError

from bayou.errors import failed

if TYPE_CHECKING:
    from collections.abc import Mapping

_NO_JVM: Final = "JAVA_GATEWAY_EXITED"
_SECONDS: Final = 20


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
        version = java_version(os.environ)
        lowest, needed = (8, "17") if pyspark.__version__.startswith("3.") else (17, "17 or 21")
        if version is not None and version >= lowest:
            raise  # the reason is another one, and is above the traceback
        found = "no Java was found" if version is None else f"this machine's is Java {version}"
        raise failed("java-not-started", spark=pyspark.__version__, needed=needed, found=found) from error


def java_version(variables: Mapping[str, str]) -> int | None:
    """Return the major version of the Java that Spark would start, or None if none was found.

    Args:
        variables: the environment variables. JAVA_HOME takes precedence over PATH, as in Spark's own scripts.
    """
    home = variables.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java", path=variables.get("PATH"))
    if java is None:
        return None
    try:
        # The program that Spark itself has just run.
        run = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', run.stderr + run.stdout)
    return int(found[1]) if found else None
