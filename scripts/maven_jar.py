# SPDX-License-Identifier: Apache-2.0
"""Fetches a JAR through Maven, once."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import oracle_jars

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
# A file that is fetched is there within a minute, or not at all.
_TIMEOUT = 300


def fetched(folder: Path, name: str, artifact: str) -> Path:
    """The JAR in the folder of what is fetched, after fetching it when it is not there yet.

    Args:
        folder: the folder.
        name: the file's name, as Maven gives it.
        artifact: its coordinates: group, name, version, kind and classifier, with colons between them.

    Raises:
        OSError, subprocess.SubprocessError: it cannot be fetched.
    """
    jar = folder / "jars" / name
    if not jar.exists():
        print(f"\n== fetching {name} with Maven", file=sys.stderr, flush=True)
        jar.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=jar.parent) as work:
            command = [oracle_jars.maven(), "-B", "-q", _COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={work}"]
            subprocess.run(command, cwd=work, check=True, stdout=sys.stderr, timeout=_TIMEOUT)
            (Path(work) / name).rename(jar)
    return jar
