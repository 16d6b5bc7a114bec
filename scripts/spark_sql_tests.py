# SPDX-License-Identifier: Apache-2.0
"""Prints the JAR with the statements of Spark's own SQL tests; fetched once through Maven.

The statements of one release are parsed on each Spark: what bayou adds to a parser has to change none of them.

Where it cannot be fetched, it says so on stderr and prints nothing: the tests that need it are skipped.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import oracle_jars
from cache_folder import cache
from minicluster_jar import COPY, TIMEOUT

VERSION = "4.2.0"
NAME = f"spark-sql_2.13-{VERSION}-tests.jar"


def main() -> None:
    try:
        print(provide(cache()))
    except (OSError, SystemExit, subprocess.SubprocessError) as error:
        print(f"the comparison of parsed statements is skipped: Spark's SQL tests cannot be fetched ({error})", file=sys.stderr)


def provide(folder: Path) -> Path:
    """The JAR in the folder of what is fetched, after fetching it when it is not there yet."""
    jar = folder / "jars" / NAME
    if not jar.exists():
        print(f"\n== fetching {NAME} with Maven", file=sys.stderr, flush=True)
        jar.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=jar.parent) as work:
            artifact = f"-Dartifact=org.apache.spark:spark-sql_2.13:{VERSION}:jar:tests"
            command = [oracle_jars.maven(), "-B", "-q", COPY, artifact, f"-DoutputDirectory={work}"]
            subprocess.run(command, cwd=work, check=True, stdout=sys.stderr, timeout=TIMEOUT)
            (Path(work) / NAME).rename(jar)
    return jar


if __name__ == "__main__":
    main()
