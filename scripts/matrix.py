# SPDX-License-Identifier: Apache-2.0
"""matrix.py NAME... [-- ARGUMENT...]: runs a part of the tests on other versions of PySpark, each in an environment of its own.

bayou itself is not installed there: the tests run on this checkout. Arguments after `--` are pytest's, and replace the part of the
tests that a version has by itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import oracle_jars
import s3_jars
from cache_folder import cache
from environments import dependencies, environment

ROOT = Path(__file__).resolve().parent.parent
NO_TESTS = 5


@dataclass(frozen=True)
class Leg:
    """One column of the matrix.

    Attributes:
        requirements: what pip installs beside bayou's own and its tests' dependencies.
        suites: arguments for pytest, one run each.
        has_oracle: whether delta-spark is provided to the tests, in a further environment.
        is_long: whether delta-spark gets more statements than its start counts.
    """

    requirements: tuple[str, ...]
    suites: tuple[tuple[str, ...], ...]
    has_oracle: bool = field(default=False)
    is_long: bool = field(default=False)


# As many processes share a suite as `make` says, each with a session of its own.
SHARED_OUT = ("-n", os.environ.get("JOBS", "2"), "--dist", "worksteal")
SMOKE = ("-m", "smoke", "tests/spark", "tests/scenarios/spark")

LEGS = {
    "3.5": Leg(("pyspark==3.5.*",), (SMOKE,)),
    "4.0": Leg(("pyspark==4.0.*",), (SMOKE,)),
    "4.1": Leg(("pyspark==4.1.*",), (SMOKE,)),
    "4.2": Leg(("pyspark==4.2.*",), (SMOKE,)),
    # Beside the PySpark that delta-spark is made for.
    "oracle": Leg(("pyspark==4.2.0",), (("tests/interop",),), has_oracle=True),
    # What "oracle" takes samples of, in full.
    "oracle-soak": Leg(
        ("pyspark==4.2.0",), (("-m", "soak", "--hypothesis-profile=soak", "tests/interop"),), has_oracle=True, is_long=True
    ),
    # The oldest Arrow that pyproject.toml allows, without Spark.
    "oldest": Leg(("pyarrow==15.0.*", "numpy<2"), (("tests/core", "tests/scenarios/core"),)),
}

# delta-spark without its own pin on PySpark's patch version; its JARs come from Maven.
ORACLE = ("pyspark==4.2.0", "importlib_metadata")
ORACLE_WITHOUT_DEPENDENCIES = ("delta-spark==4.4.0",)


def main() -> int:
    given = sys.argv[1:]
    split = given.index("--") if "--" in given else len(given)
    names, arguments = given[:split] or ["oracle"], tuple(given[split + 1 :])
    unknown = [name for name in names if name not in LEGS]
    if unknown:
        print(f"no such leg: {', '.join(unknown)}; there are {', '.join(LEGS)}", file=sys.stderr)
        return 2
    legs = {name: replace(LEGS[name], suites=(arguments,)) if arguments else LEGS[name] for name in names}
    results = {name: _run_leg(name, leg) for name, leg in legs.items()}
    print("\nmatrix:", ", ".join(f"{name} {'passed' if ok else 'FAILED'}" for name, ok in results.items()), flush=True)
    return 0 if all(results.values()) else 1


def _run_leg(name: str, leg: Leg) -> bool:
    python = environment((*dependencies(), *leg.requirements))
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYSPARK_PYTHON": str(python)}
    variables.pop("SPARK_HOME", None)
    if "BAYOU_S3_JARS" in variables:
        variables["BAYOU_S3_JARS"] = s3_jars.provide_for(python)  # those of another Hadoop do not fit
    if leg.has_oracle:
        variables["BAYOU_ORACLE_PYTHON"] = str(environment(ORACLE, ORACLE_WITHOUT_DEPENDENCIES))
        variables["BAYOU_ORACLE_JARS"] = str(oracle_jars.provide(cache()))
        variables |= {"BAYOU_ORACLE_LONG_RUN": "1"} if leg.is_long else {}
    passed = [_run_suite(name, python, suite, variables) for suite in leg.suites]
    return all(passed)


def _run_suite(name: str, python: Path, suite: tuple[str, ...], variables: dict[str, str]) -> bool:
    started = time.monotonic()
    print(f"\n== matrix {name}: pytest {' '.join(suite)}", flush=True)
    code = subprocess.run([python, "-m", "pytest", *SHARED_OUT, *suite], cwd=ROOT, env=variables, check=False).returncode
    print(f"== matrix {name}: {time.monotonic() - started:.0f} s", flush=True)
    if code == NO_TESTS:
        print(f"== matrix {name}: no test is there for `{' '.join(suite)}`", flush=True)
    return code in {0, NO_TESTS}


if __name__ == "__main__":
    sys.exit(main())
