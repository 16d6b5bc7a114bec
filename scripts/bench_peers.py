# SPDX-License-Identifier: Apache-2.0
"""bench_peers.py [ROWS [ROUNDS]]: the same work on delta-spark, delta-rs and bayou, each in its own process, in turn.

delta-spark and bayou run on the PySpark that delta-spark is made for. At the end the script prints the tables of
docs/performance.md. Only ratios of one run mean anything on another machine, and only if nothing else runs there at that time.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import oracle_jars
from cache_folder import cache
from environments import ROOT, dependencies, environment
from matrix import ORACLE, ORACLE_WITHOUT_DEPENDENCIES

ROWS = 6_000_000
ROUNDS = 2
"""How often each engine has its turn, unless the command says so. The best time of a case counts."""
DELTA_RS = ("deltalake==1.6.6", "pyarrow")
WORKER = Path(__file__).with_name("timed_peers.py")
HEADINGS = {"change": "Changes of rows", "read": "Reads and writes", "maintain": "Maintenance and streams"}


def main() -> int:
    rows = sys.argv[1] if len(sys.argv) > 1 else str(ROWS)
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS  # noqa: PLR2004  (of arguments)
    jars = str(oracle_jars.provide(cache()))
    pythons = {
        "delta-spark": environment(ORACLE, ORACLE_WITHOUT_DEPENDENCIES),
        "bayou": environment((*dependencies(), ORACLE[0])),
        "delta-rs": environment(DELTA_RS),
    }
    with tempfile.TemporaryDirectory(prefix="bayou-bench-") as folder:
        found: dict[str, dict[str, float]] = {name: {} for name in pythons}
        titles: dict[str, str] = {}
        for name, python in [*pythons.items()] * rounds:
            for line in _run(name, python, Path(folder), rows, jars):
                titles.setdefault(line["case"], line["title"])
                found[name][line["case"]] = min(line["seconds"], found[name].get(line["case"], line["seconds"]))
    _print(titles, found, int(rows), f"{ORACLE[0]}, {ORACLE_WITHOUT_DEPENDENCIES[0]}, {DELTA_RS[0]}")
    return 0


def _print(titles: dict[str, str], found: dict[str, dict[str, float]], rows: int, versions: str) -> None:
    day = dt.datetime.now(tz=dt.timezone.utc).date()
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    print(f"\n{day}, {rows:,} rows, {machine}, {versions}; seconds")
    for group, heading in HEADINGS.items():
        print(f"\n## {heading}\n\n| | delta-spark | bayou | bayou / delta-spark | delta-rs |\n|---|---:|---:|---:|---:|")
        for case in (each for each in titles if each.partition(" ")[0] == group):
            theirs, ours, rust = (found[name].get(case) for name in ("delta-spark", "bayou", "delta-rs"))
            ratio = "" if theirs is None or ours is None else f"{ours / theirs:.2f}".replace("0.00", "below 0.01")
            print(f"| {titles[case]} | {_text(theirs)} | {_text(ours)} | {ratio} | {_text(rust)} |")


def _text(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.2f}"


def _run(name: str, python: Path, folder: Path, rows: str, jars: str) -> list[dict]:
    """The seconds of each case."""
    print(f"== {name}", flush=True)
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYSPARK_PYTHON": str(python), "BAYOU_ORACLE_JARS": jars}
    variables.pop("SPARK_HOME", None)
    command = [python, WORKER, name, folder, rows]
    lines = []
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout or ():
            if line.startswith("{"):
                lines.append(json.loads(line))
                print(f"  {lines[-1]['title']}: {lines[-1]['seconds']:.2f} s", flush=True)
    if run.returncode:
        raise subprocess.CalledProcessError(run.returncode, command)
    return lines


if __name__ == "__main__":
    sys.exit(main())
