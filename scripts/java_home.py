# SPDX-License-Identifier: Apache-2.0
"""Prints the home of a Java that Spark runs on (17 or 21), or else says what to do.

It looks at JAVA_HOME, at `java` on PATH and at the folders where systems keep Javas. If there is none, it offers to install
one with the system's package manager (see system_packages.py): it asks at a terminal, and installs without a question only
if INSTALL_JAVA=1 or CI=true is set.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import system_packages

if TYPE_CHECKING:
    from collections.abc import Iterator

# PySpark 3.5 runs on 8, 11 and 17, Spark 4 on 17 and 21; no released Spark supports 25.
SUPPORTED = (17, 21)

USUAL_FOLDERS = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk@*/libexec/openjdk.jdk/Contents/Home",
    "/usr/local/opt/openjdk@*/libexec/openjdk.jdk/Contents/Home",
    "/home/linuxbrew/.linuxbrew/opt/openjdk@*/libexec",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)

PACKAGES = {
    "apt-get": ["openjdk-21-jre-headless", "openjdk-17-jre-headless"],
    "dnf": ["java-21-openjdk-headless", "java-17-openjdk-headless"],
    "apk": ["openjdk21-jre-headless", "openjdk17-jre-headless"],
    "brew": ["openjdk@21", "openjdk@17"],
}

# Spark starts its JVM with this module; a trimmed runtime may lack it.
PROBE = ("--add-modules=jdk.incubator.vector", "-version")


def main() -> int:
    home = _find() or (system_packages.install("Java", PACKAGES) and _find())
    if not home:
        print(
            "bayou's tests and demo need Java 17 or 21: install one (for example OpenJDK 21), or set JAVA_HOME to one.",
            file=sys.stderr,
        )
        return 1
    print(home)
    return 0


def find(version: int) -> Path | None:
    """The home of a Java of one major version; None if this machine has none."""
    return next((home for home in _candidates() if _major_version(home) == version), None)


def _find() -> Path | None:
    return next((home for home in _candidates() if _major_version(home) in SUPPORTED), None)


def _candidates() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    for pattern in USUAL_FOLDERS:
        expanded = Path(pattern).expanduser()
        yield from sorted(Path(expanded.anchor).glob(str(expanded.relative_to(expanded.anchor))))


def _major_version(home: Path) -> int | None:
    """The Java's version, by running it (a Java for another processor does not count); None where it does not run."""
    try:
        run = subprocess.run([home / "bin" / "java", *PROBE], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(\d+)', run.stderr + run.stdout)
    return int(found[1]) if found and run.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main())
