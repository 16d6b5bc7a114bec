# SPDX-License-Identifier: Apache-2.0
"""The smoke: about 60 operations end to end on the PySpark that runs this program, each with its rows checked.

    python tests/smoke/program.py [--master MASTER] [--s3] [OPERATION ...]

If SMOKE_S3 and BAYOU_S3_JARS name a server of S3 and the JARs to reach it, some operations run on S3 too; `--s3` runs all of them
there. It needs PySpark and bayou's own dependencies, and no test runner. The exit code is 1 if an operation fails.
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

ON_S3 = (
    *("vacuum_full_and_lite", "clone_shallow_and_deep", "optimize_small_files", "a_stream_reads_and_writes"),
    *("merge_with_every_clause", "changes_by_path_in_sql"),
)
"""The operations that run on S3 beside the local disk: together they read, write, list, copy and delete in every way."""

NOT_ON_CONNECT = {
    "subqueries_and_views": "UPDATE and DELETE of a view are the server's",
    "convert_parquet_files": "Parquet tables have names there",
    "insert_from_several_queries": "only the server reads a statement with several INSERT",
    "create_clustered_tables": "a table by path has no LOCATION",
    "create_a_table_at_a_location": "a table by path has no LOCATION",
    "insert_replaces_rows_that_match": "a condition of REPLACE ON cannot name the table by its path",
    "describe_and_show": "SHOW TABLES lists names",
    "versions_at_the_end_of_names": "a table by path has no name",
}
"""Why operations with tables by name, which are tables by path on a stock server of Spark Connect, cannot run there."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--master", default="local[2]", help="a Spark master; `standalone` starts one with one worker, `connect` a server"
    )
    parser.add_argument("--s3", action="store_true", help="run on S3 instead of the local disk")
    parser.add_argument("operations", nargs="*", help="names of operations; all if none is given")
    given = parser.parse_args()
    # A wheel must run without the repository's own warnings filter: an unknown warning is a failure here, too.
    warnings.simplefilter("error", UserWarning)
    with tempfile.TemporaryDirectory(prefix="bayou-smoke-", ignore_cleanup_errors=True) as folder:
        return _run(given.master, given.operations, Path(folder), on_s3=given.s3)


def _run(master: str, names: list[str], folder: Path, *, on_s3: bool) -> int:
    from tests.smoke import changes, cluster, maintenance, statements, streams, writes  # noqa: F401  (they register operations)
    from tests.smoke import names as _  # noqa: F401
    from tests.smoke.operations import OPERATIONS, NotInThisSparkError, Place

    unknown = sorted(set(names) - OPERATIONS.keys())
    if unknown:
        print(f"There is no operation {', '.join(unknown)}. There are {', '.join(OPERATIONS)}.", file=sys.stderr)
        return 2
    began = time.monotonic()
    spark = cluster.session(master, folder, on_s3=on_s3)
    on_connect = master == "connect"
    if not on_connect:
        spark.sparkContext.setLogLevel("OFF")  # Spark logs the errors that operations expect
    runs = [(name, Place(spark, cluster.BUCKET if on_s3 else folder)) for name in OPERATIONS if not names or name in names]
    if cluster.has_s3() and not on_s3:
        runs += [(name, Place(spark, cluster.BUCKET)) for name in ON_S3 if not names or name in names]
    java = "" if on_connect else f"Java {spark.sparkContext._jvm.java.lang.System.getProperty('java.version')}, "
    what = f"PySpark {spark.version}, Python {platform.python_version()}, {java}{master}"
    print(f"{what}: enabled after {time.monotonic() - began:.1f} s", flush=True)
    failed, skipped, passed = [], [], 0
    for name, place in runs:
        started = time.monotonic()
        try:
            OPERATIONS[name](place)
        except NotInThisSparkError as missing:
            skipped.append(name)
            print(f"  -     {name}: this Spark has no {missing}", flush=True)
        except Exception as error:  # noqa: BLE001  (the next operation runs all the same)
            if on_connect and (reason := NOT_ON_CONNECT.get(name) or _why_not_on_connect(error)):
                skipped.append(name)
                print(f"  -     {name}: {reason}", flush=True)
                continue
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


def _why_not_on_connect(error: Exception) -> str:
    """What bayou or PySpark refuses by name on Spark Connect; nothing for other errors."""
    is_refused = "Spark Connect" in getattr(error, "features", ()) or "JVM_ATTRIBUTE_NOT_SUPPORTED" in str(error)
    return str(error).partition(". ")[0] if is_refused else ""


if __name__ == "__main__":
    sys.exit(main())
