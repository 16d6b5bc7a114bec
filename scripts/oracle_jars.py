# SPDX-License-Identifier: Apache-2.0
"""delta-spark's JARs, fetched once through Maven: the oracle that bayou is compared with runs on them."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import system_packages

COORDINATES = ("io.delta", "delta-spark_4.2_2.13", "4.4.0")
# Spark brings the rest of the dependencies itself.
NEEDED = ("delta-*.jar", "unitycatalog-*.jar")

POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>bayou</groupId><artifactId>oracle</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>
  </dependencies>
</project>
"""
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


def provide(cache: Path) -> Path:
    """The folder with the JARs, filled when it is not there yet."""
    folder = cache / "jars" / "-".join(COORDINATES[1:])
    if not folder.exists():
        print(f"\n== fetching {':'.join(COORDINATES)} and its dependencies with Maven", flush=True)
        _fetch(folder)
    return folder


def _fetch(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        project, chosen = Path(work), Path(work) / "chosen"
        (project / "pom.xml").write_text(POM.format(*COORDINATES), encoding="utf-8")
        chosen.mkdir()
        copy = [maven(), "-B", "-q", COPY, "-DoutputDirectory=all", "-DincludeScope=runtime"]
        subprocess.run(copy, cwd=project, check=True)
        for pattern in NEEDED:
            for jar in (project / "all").glob(pattern):
                jar.rename(chosen / jar.name)
        chosen.rename(folder)


def maven() -> str:
    """Maven's program, installed if it is missing and the user agrees."""
    packages = {manager: ["maven"] for manager in system_packages.MANAGERS}
    found = shutil.which("mvn") or (system_packages.install("Maven", packages) and shutil.which("mvn"))
    if not found:
        message = "Maven fetches the JARs that some tests need, and it is not here: install it so that `mvn` is on PATH"
        raise SystemExit(message)
    return found
