# SPDX-License-Identifier: Apache-2.0
"""smoke.py [--all] [--s3] [--master MASTER] [VERSION ...]: some 80 operations end to end on each of some PySpark releases.

A version is a minor (`4.1`: its newest patch), a patch (`3.5.0`) or `pre`, the newest pre-release that the package index has.
Each runs in an environment of its own, which is made once and kept (environments.py). `--all` adds the oldest patch of each
minor, the newest pre-release, and Java 17 and 21 where both are found. Some operations run on S3 too, where the JARs of
that Hadoop can be fetched; `--s3` runs all of them there instead of on the local disk.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import java_home
import s3_jars
from environments import environment, runtime_dependencies

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.support import object_servers  # noqa: E402

MINORS = ("3.5", "4.0", "4.1", "4.2", "4.3")
"""The minors that the README promises; CI runs the newest patch of each."""
OLDEST = ("3.5.0", "4.0.0", "4.1.0", "4.2.0", "4.3.0")
JAVAS = {"3.5": (17,), "4.0": (17, 21), "4.1": (17, 21), "4.2": (17, 21), "4.3": (17, 21)}
"""The Javas that each minor runs on, of those that bayou promises."""


@dataclass(frozen=True)
class Leg:
    """One run of the smoke.

    Attributes:
        version: what was asked for.
        requirement: what pip installs.
        java: the home of the Java that it runs on; None for the one that the environment names.
    """

    version: str
    requirement: str
    java: Path | None = None

    @property
    def name(self) -> str:
        """The run in a report."""
        return self.version if self.java is None else f"{self.version} on {self.java.name}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="also the oldest patches, the newest pre-release, and each Java")
    parser.add_argument("--s3", action="store_true", help="on S3 instead of the local disk")
    parser.add_argument("--master", default="local[2]", help="a Spark master, `standalone`, or `connect` (from 4.0 on)")
    parser.add_argument("versions", nargs="*", default=[])
    given = parser.parse_args()
    on_connect = given.master == "connect"
    minors = MINORS[1:] if on_connect else MINORS
    legs = _every_leg() if given.all else [_leg(version) for version in given.versions or minors]
    if on_connect:
        legs = [replace(leg, requirement=leg.requirement.replace("pyspark", "pyspark[connect]", 1)) for leg in legs]
    started = time.monotonic()
    # Environments first and one by one: pip's cache then serves the next one, and what is printed stays in order.
    pythons = {leg.requirement: environment((*runtime_dependencies(), leg.requirement)) for leg in legs}
    arguments = ["--master", given.master, *(["--s3"] if given.s3 else [])]
    jars = {requirement: s3_jars.provide_for(python) for requirement, python in pythons.items()}
    with _s3_server() as s3, ThreadPoolExecutor(max(1, int(os.environ.get("JOBS", "2")))) as pool:

        def run(leg: Leg) -> bool:
            place = {"SMOKE_S3": s3, "BAYOU_S3_JARS": jars[leg.requirement]}
            return _run(leg, pythons[leg.requirement], arguments, place)

        results = list(pool.map(run, legs))
    failed = [leg.name for leg, passed in zip(legs, results, strict=True) if not passed]
    print(f"\nsmoke: {', '.join(leg.name for leg in legs)} in {time.monotonic() - started:.0f} s", flush=True)
    print(f"smoke: {'FAILED on ' + ', '.join(failed) if failed else 'all passed'}", flush=True)
    return 1 if failed else 0


def _leg(version: str, java: Path | None = None) -> Leg:
    if version == "pre":
        found = newest_pre_release()
        if found is None:
            print("the package index has no pre-release of PySpark that is newer than every release", file=sys.stderr)
            sys.exit(2)
        return Leg(found, f"pyspark=={found}", java)
    return Leg(version, f"pyspark=={version}" if version.count(".") > 1 else f"pyspark=={version}.*", java)


def _every_leg() -> list[Leg]:
    legs = []
    for minor in MINORS:
        homes = {java: java_home.find(java) for java in JAVAS[minor]}
        for java, home in homes.items():
            if home is None:
                print(f"Java {java} is not on this machine: {minor} does not run on it here", flush=True)
        legs += [_leg(minor, home) for home in homes.values() if home is not None]
    pre_release = newest_pre_release()
    return [*legs, *map(_leg, OLDEST), *([_leg(pre_release)] if pre_release else [])]


def newest_pre_release() -> str | None:
    """The newest pre-release of PySpark if it is newer than every release; None if there is none."""
    command = [sys.executable, "-m", "pip", "index", "versions", "pyspark"]
    releases = _listed(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    everything = _listed(subprocess.run([*command, "--pre"], capture_output=True, text=True, check=True).stdout)
    newest = everything[0] if everything else None
    return None if newest in releases else newest


def _listed(text: str) -> list[str]:
    found = re.search(r"Available versions: (.*)", text)
    return found[1].split(", ") if found else []


@contextlib.contextmanager
def _s3_server() -> Iterator[str]:
    """A server with a bucket for all legs; gives its URL."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it notes every request
    with object_servers.moto() as url:
        object_servers.make_bucket(url, "smoke")
        yield url


def _run(leg: Leg, python: Path, arguments: list[str], s3: Mapping[str, str]) -> bool:
    variables = {**os.environ, **s3, "PYSPARK_PYTHON": str(python)}
    variables.pop("SPARK_HOME", None)
    if leg.java is not None:
        variables["JAVA_HOME"] = str(leg.java)
    command = [python, ROOT / "tests" / "smoke" / "program.py", *arguments]
    run = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    print(f"\n== smoke {leg.name}\n{run.stdout}{'' if run.returncode == 0 else run.stderr[-4000:]}", flush=True)
    return run.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
