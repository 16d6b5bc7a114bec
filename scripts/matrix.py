# SPDX-License-Identifier: Apache-2.0
"""matrix.py NAME...: runs a part of the tests on other versions of PySpark, each in an environment of its own.

Environments live in BAYOU_CACHE (by default the user's cache folder) under a name made of what they hold, so that a
run makes only those that are not there yet. bayou itself is not installed there: the tests run on this checkout.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import oracle_jars
from cache_folder import cache

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
NO_TESTS = 5


@dataclass(frozen=True)
class Leg:
    """One column of the matrix.

    Attributes:
        requirements: what pip installs beside bayou's own and its tests' dependencies.
        suites: arguments for pytest, one run each.
        has_oracle: whether delta-spark is provided to the tests, in a further environment.
    """

    requirements: tuple[str, ...]
    suites: tuple[tuple[str, ...], ...]
    has_oracle: bool = field(default=False)


# As many processes share a suite as `make` says, each with a session of its own.
SHARED_OUT = ("-n", os.environ.get("JOBS", "2"), "--dist", "worksteal")
SMOKE = ("-m", "smoke", "tests/spark")

LEGS = {
    "3.5": Leg(("pyspark==3.5.*",), (SMOKE,)),
    "4.0": Leg(("pyspark==4.0.*",), (SMOKE,)),
    "4.1": Leg(("pyspark==4.1.*",), (SMOKE,)),
    "4.2": Leg(("pyspark==4.2.0",), (SMOKE, ("tests/interop",)), has_oracle=True),
    # What "4.2" takes samples of, in full.
    "oracle-soak": Leg(("pyspark==4.2.0",), (("-m", "soak", "--hypothesis-profile=soak", "tests/interop"),), has_oracle=True),
    # The oldest Arrow that pyproject.toml allows, without Spark.
    "oldest": Leg(("pyarrow==15.0.*", "numpy<2"), (("tests/core",),)),
}

# delta-spark without its own pin on PySpark's patch version; its JARs come from Maven.
ORACLE = ("pyspark==4.2.0", "importlib_metadata")
ORACLE_WITHOUT_DEPENDENCIES = ("delta-spark==4.4.0",)


def main() -> int:
    names = sys.argv[1:] or ["3.5", "4.0", "4.2"]
    unknown = [name for name in names if name not in LEGS]
    if unknown:
        print(f"no such leg: {', '.join(unknown)}; there are {', '.join(LEGS)}", file=sys.stderr)
        return 2
    results = {name: _run_leg(name, LEGS[name]) for name in names}
    print("\nmatrix:", ", ".join(f"{name} {'passed' if ok else 'FAILED'}" for name, ok in results.items()), flush=True)
    return 0 if all(results.values()) else 1


def _run_leg(name: str, leg: Leg) -> bool:
    python = _environment((*_dependencies(), *leg.requirements))
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYSPARK_PYTHON": str(python)}
    environment.pop("SPARK_HOME", None)
    if leg.has_oracle:
        environment["BAYOU_ORACLE_PYTHON"] = str(_environment(ORACLE, ORACLE_WITHOUT_DEPENDENCIES))
        environment["BAYOU_ORACLE_JARS"] = str(oracle_jars.provide(cache()))
    passed = [_run_suite(name, python, suite, environment) for suite in leg.suites]
    return all(passed)


def _run_suite(name: str, python: Path, suite: tuple[str, ...], environment: dict[str, str]) -> bool:
    started = time.monotonic()
    print(f"\n== matrix {name}: pytest {' '.join(suite)}", flush=True)
    code = subprocess.run([python, "-m", "pytest", *SHARED_OUT, *suite], cwd=ROOT, env=environment, check=False).returncode
    print(f"== matrix {name}: {time.monotonic() - started:.0f} s", flush=True)
    if code == NO_TESTS:
        print(f"== matrix {name}: no test is there for `{' '.join(suite)}`", flush=True)
    return code in {0, NO_TESTS}


def _dependencies() -> tuple[str, ...]:
    """What bayou and its tests depend on, but PySpark, out of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["cli"], *extras["test"]]
    return tuple(requirement for requirement in wanted if not requirement.startswith("bayou["))


def _environment(requirements: tuple[str, ...], without_dependencies: tuple[str, ...] = ()) -> Path:
    """The Python of an environment that holds these; made when it is not in the cache, whole or not at all."""
    base = getattr(sys, "_base_executable", sys.executable)
    described = "\n".join([sys.version, base, *requirements, *without_dependencies])
    folder = cache() / "environments" / hashlib.sha256(described.encode()).hexdigest()[:16]
    python = folder / "bin" / "python"
    complete = folder / ".complete"
    if complete.exists():
        return python
    print(f"\n== making an environment with {', '.join((*requirements, *without_dependencies))}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([base, "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip", "install", "-q"]
    subprocess.run([*pip, *requirements], check=True)
    if without_dependencies:
        subprocess.run([*pip, "--no-deps", *without_dependencies], check=True)
    complete.touch()
    return python


if __name__ == "__main__":
    sys.exit(main())
