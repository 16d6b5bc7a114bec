# SPDX-License-Identifier: Apache-2.0
"""Prints the JAR with Hadoop's own test cluster, in the version of Hadoop that PySpark brings; fetched once through Maven.

Where it cannot be fetched, it says so on stderr and prints nothing: the tests that need it are skipped.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from cache_folder import cache
from maven_jar import fetched

GROUP, ARTIFACT = "org.apache.hadoop", "hadoop-client-minicluster"


def main() -> None:
    try:
        print(provide(cache()))
    except (OSError, SystemExit, subprocess.SubprocessError) as error:
        print(f"the tests on HDFS are skipped: {ARTIFACT} cannot be fetched ({error})", file=sys.stderr)


def provide(folder: Path) -> Path:
    """The JAR in the folder of what is fetched, after fetching it when it is not there yet."""
    version = hadoop_version()
    return fetched(folder, f"{ARTIFACT}-{version}.jar", f"{GROUP}:{ARTIFACT}:{version}")


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
