# SPDX-License-Identifier: Apache-2.0
"""The smoke: about 60 operations end to end on the PySpark that runs this program, each with its rows checked.

    python tests/smoke/program.py [--master MASTER] [OPERATION ...]

It needs PySpark and bayou's own dependencies, and no test runner. The exit code is 1 if an operation fails.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

_SECONDS_TO_START = 60


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--master", default="local[2]", help="a Spark master; `standalone` starts one with one worker")
    parser.add_argument("operations", nargs="*", help="names of operations; all if none is given")
    given = parser.parse_args()
    # A wheel must run without the repository's own warnings filter: an unknown warning is a failure here, too.
    warnings.simplefilter("error", UserWarning)
    with tempfile.TemporaryDirectory(prefix="bayou-smoke-", ignore_cleanup_errors=True) as folder:
        return _run(given.master, given.operations, Path(folder))


def _run(master: str, names: list[str], folder: Path) -> int:
    from tests.smoke import changes, cluster, maintenance, statements, streams, writes  # noqa: F401  (they register operations)
    from tests.smoke import names as _  # noqa: F401
    from tests.smoke.operations import OPERATIONS, NotInThisSparkError, Place

    unknown = sorted(set(names) - OPERATIONS.keys())
    if unknown:
        print(f"There is no operation {', '.join(unknown)}. There are {', '.join(OPERATIONS)}.", file=sys.stderr)
        return 2
    began = time.monotonic()
    spark = cluster.session(master, folder)
    spark.sparkContext.setLogLevel("OFF")  # Spark logs the errors that operations expect
    place = Place(spark, folder)
    java = spark.sparkContext._jvm.java.lang.System.getProperty("java.version")
    what = f"PySpark {spark.version}, Python {platform.python_version()}, Java {java}, {spark.sparkContext.master}"
    print(f"{what}: enabled after {time.monotonic() - began:.1f} s", flush=True)
    failed, skipped, passed = [], [], 0
    for name, run in OPERATIONS.items():
        if names and name not in names:
            continue
        started = time.monotonic()
        try:
            run(place)
        except NotInThisSparkError as missing:
            skipped.append(name)
            print(f"  -     {name}: this Spark has no {missing}", flush=True)
        except Exception:  # noqa: BLE001  (the next operation runs all the same)
            failed.append(name)
            print(f"  FAIL  {name}\n{traceback.format_exc()}", flush=True)
        else:
            passed += 1
            if os.environ.get("SMOKE_VERBOSE"):
                print(f"  ok    {name} {time.monotonic() - started:.1f} s", flush=True)
    spark.stop()
    cluster.stop()
    print(f"smoke on {what}: {time.monotonic() - began:.0f} s{''.join(f', FAILED {name}' for name in failed)}")
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
