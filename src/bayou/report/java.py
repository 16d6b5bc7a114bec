# SPDX-License-Identifier: Apache-2.0
"""The Java that Spark would start on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECONDS: Final = 20
"""The time after which a `java` that does not answer is given up."""


def java_version(variables: Mapping[str, str] = os.environ) -> str | None:
    """Return the version as `java` states it, such as `openjdk version "17.0.9" 2023-10-17`; None without a Java that answers.

    Args:
        variables: the environment variables. JAVA_HOME takes precedence over PATH, as in Spark's own scripts.
    """
    home = variables.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java", path=variables.get("PATH"))
    if program is None:
        return None
    try:
        # `java -version` writes to standard error.
        run = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    # The JVM's notes about its options come first.
    return next((line.strip() for line in run.stderr.splitlines() if " version " in line), None)
