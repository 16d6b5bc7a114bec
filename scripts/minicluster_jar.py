# SPDX-License-Identifier: Apache-2.0
"""Prints the JAR with Hadoop's own test cluster, in the version of Hadoop that PySpark brings; fetched once through Maven.

Where it cannot be fetched, it says so on stderr and prints nothing: the tests that need it are skipped.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import oracle_jars
from cache_folder import cache

GROUP, ARTIFACT = "org.apache.hadoop", "hadoop-client-minicluster"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
# A file that is fetched is there within a minute, or not at all.
TIMEOUT = 300


def main() -> None:
    try:
        print(provide(cache()))
    except (OSError, SystemExit, subprocess.SubprocessError) as error:
        print(f"the tests on HDFS are skipped: {ARTIFACT} cannot be fetched ({error})", file=sys.stderr)


def provide(folder: Path) -> Path:
    """The JAR in the folder of what is fetched, after fetching it when it is not there yet."""
    name = f"{ARTIFACT}-{hadoop_version()}.jar"
    jar = folder / "jars" / name
    if not jar.exists():
        print(f"\n== fetching {name} with Maven", file=sys.stderr, flush=True)
        jar.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=jar.parent) as work:
            artifact = f"-Dartifact={GROUP}:{ARTIFACT}:{hadoop_version()}"
            command = [oracle_jars.maven(), "-B", "-q", COPY, artifact, f"-DoutputDirectory={work}"]
            subprocess.run(command, cwd=work, check=True, stdout=sys.stderr, timeout=TIMEOUT)
            (Path(work) / name).rename(jar)
    return jar


def hadoop_version() -> str:
    """The version of Hadoop's client that PySpark brings."""
    found = importlib.util.find_spec("pyspark")
    jars = Path(*(found.submodule_search_locations if found else ()), "jars").glob("hadoop-client-api-*.jar")
    for jar in jars:
        return jar.stem.removeprefix("hadoop-client-api-")
    message = "PySpark is not there, or brings no Hadoop"
    raise OSError(message)


if __name__ == "__main__":
    main()
