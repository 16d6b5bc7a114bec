# SPDX-License-Identifier: Apache-2.0
"""bench_changes.py [ROWS]: the same DELETE and MERGE on delta-spark and on bayou, each in a process of its own, in turn.

Both run on the PySpark that delta-spark is made for. At the end it prints a table like the one in README.md. Only the ratios mean
anything on another machine, and only if nothing else runs there at that time.
"""

from __future__ import annotations

import json
import os
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
"""How often each engine has its turn; the best time of a case counts."""
WORKER = Path(__file__).with_name("timed_changes.py")


def main() -> int:
    rows = sys.argv[1] if len(sys.argv) > 1 else str(ROWS)
    jars = str(oracle_jars.provide(cache()))
    pythons = {
        "delta-spark": environment(ORACLE, ORACLE_WITHOUT_DEPENDENCIES),
        "bayou": environment((*dependencies(), ORACLE[0])),
    }
    with tempfile.TemporaryDirectory(prefix="bayou-bench-") as folder:
        found: dict[str, dict[str, float]] = {name: {} for name in pythons}
        for name, python in [*pythons.items()] * ROUNDS:
            for case, seconds in _run(name, python, Path(folder) / name, rows, jars).items():
                found[name][case] = min(seconds, found[name].get(case, seconds))
    print(f"\n{int(rows):,} rows, {os.cpu_count()} cores; seconds\n\n| | {' | '.join(found)} | ratio |\n|---|---:|---:|---:|")
    for case, seconds in found["bayou"].items():
        theirs = found["delta-spark"][case]
        print(f"| {case} | {theirs:.2f} | {seconds:.2f} | {seconds / theirs:.2f} |")
    return 0


def _run(name: str, python: Path, folder: Path, rows: str, jars: str) -> dict[str, float]:
    """The seconds of each case."""
    print(f"== {name}", flush=True)
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYSPARK_PYTHON": str(python), "BAYOU_ORACLE_JARS": jars}
    variables.pop("SPARK_HOME", None)
    command = [python, WORKER, name, folder, rows]
    run = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True)
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    return {line["case"]: line["seconds"] for line in lines}


if __name__ == "__main__":
    sys.exit(main())
