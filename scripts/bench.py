# SPDX-License-Identifier: Apache-2.0
"""bench.py BENCH [ARGUMENT...]: runs the shared benchmark on plain Parquet and on bayou, where the benchmark exists."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = "^(scan|scan_narrow|write|append_one|append_one_many|open_huge|point_many|history|stream)$"


def main() -> int:
    benchmark, extra = Path(sys.argv[1]), sys.argv[2:]
    if not benchmark.exists():
        print(f"the benchmark is not part of this repository, and there is none at {benchmark}")
        return 0
    work = os.environ.get("BENCH_WORK") or str(Path(tempfile.gettempdir()) / "bayou-bench")
    engines = f"parquet={sys.executable},bayou={sys.executable}"
    command = [sys.executable, benchmark, "compare", "--work", work, "--engines", engines, "--only", CASES, *extra]
    print("running", *command, flush=True)
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
