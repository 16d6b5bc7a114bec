# SPDX-License-Identifier: Apache-2.0
"""Prints the JAR with the statements of Spark's own SQL tests; fetched once through Maven.

The statements of one release are parsed on each Spark: what bayou adds to a parser has to change none of them.

Where it cannot be fetched, it says so on stderr and prints nothing: the tests that need it are skipped.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cache_folder import cache
from maven_jar import fetched

VERSION = "4.2.0"


def main() -> None:
    try:
        print(provide(cache()))
    except (OSError, SystemExit, subprocess.SubprocessError) as error:
        print(f"the comparison of parsed statements is skipped: Spark's SQL tests cannot be fetched ({error})", file=sys.stderr)


def provide(folder: Path) -> Path:
    """The JAR in the folder of what is fetched, after fetching it when it is not there yet."""
    return fetched(folder, f"spark-sql_2.13-{VERSION}-tests.jar", f"org.apache.spark:spark-sql_2.13:{VERSION}:jar:tests")


if __name__ == "__main__":
    main()
