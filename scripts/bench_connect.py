# SPDX-License-Identifier: Apache-2.0
"""bench_connect.py BENCH [ARGUMENT...]: the shared benchmark with the engines bayou-connect and parquet-connect.

Each engine's process starts a stock server of the PySpark that it runs in, with the settings of the other engines.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

CASES = "^(scan|scan_narrow|write|append_one|delete_dv|update_dv|upsert_random_dv|point_many|open_huge)$"


def with_connect(benchmark: Path) -> Any:
    """Return the benchmark as a module that knows the two engines and starts its processes through this script."""
    spec = importlib.util.spec_from_file_location("shared_bench", benchmark)
    bench: Any = importlib.util.module_from_spec(cast("ModuleSpec", spec))
    cast("ModuleSpec", spec).loader.exec_module(bench)  # type: ignore[union-attr]

    class OnConnect:
        def __init__(self, work: str) -> None:
            from pyspark.sql import SparkSession  # noqa: PLC0415  (only the processes of engines need it)

            os.environ["PYSPARK_PYTHON"] = sys.executable
            self.work, self.root = work, f"{work}/fixtures"
            builder: Any = SparkSession.builder.remote("local[2]")
            for name, value in SETTINGS.items():
                builder = builder.config(name, value)
            self.spark = self.session(builder)

        def session(self, builder: Any) -> Any:
            return builder.getOrCreate()

    class ParquetConnect(OnConnect, bench.Parquet):
        pass

    class BayouConnect(OnConnect, bench.Bayou):
        def session(self, builder: Any) -> Any:
            import bayou  # noqa: PLC0415  (as above)

            return bayou.enable(builder.getOrCreate())

    bench.ENGINES |= {"parquet-connect": ParquetConnect, "bayou-connect": BayouConnect}
    return bench


# Those of the shared benchmark's classic sessions.
SETTINGS = {
    "spark.driver.memory": "6g",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}


def main() -> int:
    if sys.argv[1:2] == ["run"]:  # the benchmark starts each engine so
        benchmark, arguments = Path(os.environ["BENCH"]), sys.argv[1:]
    else:
        benchmark, arguments = Path(sys.argv[1]), ["compare", *sys.argv[2:]]
    if not benchmark.exists():
        print(f"the benchmark is not part of this repository, and there is none at {benchmark}")
        return 0
    os.environ["BENCH"] = str(benchmark)
    bench = with_connect(benchmark)
    bench.__file__ = __file__
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("run", "compare"))
    parser.add_argument("--work", default=os.environ.get("BENCH_WORK") or str(Path(tempfile.gettempdir()) / "bayou-bench"))
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--only", default=CASES)
    parser.add_argument("--engine", choices=bench.ENGINES)
    engines = ("parquet-connect", "bayou-connect", "bayou")
    parser.add_argument("--engines", default=",".join(f"{name}={sys.executable}" for name in engines))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args(arguments)
    with contextlib.suppress(KeyboardInterrupt):
        (bench.run if chosen.verb == "run" else bench.compare)(chosen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
