# SPDX-License-Identifier: Apache-2.0
"""clients.py NAME...: runs the test suites of released programs that were written for delta-spark, unmodified, on bayou.

Their sources and tests come from their source distributions. They are run as their users would run them, under
`pytest -p bayou.testing.as_delta`, with the tests left out that need what is not there yet.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from cache_folder import cache
from environments import ROOT, dependencies, environment

PYSPARK = "pyspark==4.2.0"


@dataclass(frozen=True)
class Client:
    """A program and its tests.

    Attributes:
        release: its name and version, as pip has them.
        requirements: what its source and its tests need beside PySpark.
        tests: files and folders of its tests that use Delta tables.
        without: tests that are left out; each is for a command that bayou refuses by its name, unless it is told otherwise.
        conftest: a plugin with its fixtures, where the release leaves out its `conftest.py`.
        variables: environment variables that its tests look at.
        program: a program of this repository that uses it, which is run instead of its tests.
    """

    release: str
    requirements: tuple[str, ...]
    tests: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    conftest: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    program: str = ""


CLIENTS = {
    "koheesio": Client(
        "koheesio==0.11.1",
        (
            *("pydantic>=2", "jsonpickle", "cryptography", "python-decouple", "pytz", "pyyaml", "tomli", "pandas<3", "numpy<3"),
            *("chispa", "freezegun", "pytest-mock", "pytest-order", "pytest-asyncio", "responses", "requests_mock"),
            *("time_machine", "flaky", "setuptools<81", "pyarrow"),
        ),
        ("tests/spark/writers/delta", "tests/spark/test_delta.py", "tests/spark/readers/test_delta_reader.py"),
    ),
    "databricks4py": Client(
        "databricks4py==0.3.0",
        ("pytest-timeout", "pyarrow", "pandas<3"),
        tuple(
            f"tests/test_{name}.py"
            for name in (
                *("delta", "delta_advanced_integration", "delta_metrics_sink_integration", "merge", "migration_runner_integration"),
                *("quality_integration", "soft_delete", "streaming_integration", "table_alter_integration"),
                *("workflow_e2e_integration", "checkpoint", "streaming", "streaming_dlq"),
            )
        ),
        ("optimize", "vacuum", "restore"),
        "databricks4py.testing.fixtures",
    ),
    "superlake": Client(
        "superlake==1.0.3",
        ("pandas<3", "arrow", "applicationinsights", "loguru", "pytz", "pyarrow"),
        ("tests",),
    ),
    "lakelogic": Client(
        "lakelogic==1.84.0",
        ("lakelogic==1.84.0", "pandas<3", "openpyxl", "lxml", "xlrd", "pytest-mock", "pytest-asyncio", "pyarrow"),
        tuple(
            f"tests/test_{name}.py"
            for name in (
                *("spark", "incremental", "materialization_comprehensive", "merge_adds_declared_columns", "run_log", "ddl"),
                *("scd2_late_arrival", "scd2_interval_diagnostics", "scd2_declared_temporal_types", "stream_sink", "quarantine"),
                *("scd1_surrogate_key_on_spark_delta", "deletion_vectors_stay_disabled", "spark_partition_layout"),
                *("delta_clustering_reconcile", "materialization_secondary_and_compaction", "delta_compat"),
                "max_target_watermark",
            )
        ),
        ("test_from_max_target_success_and_fallback",),  # it is written for a session that is none
        variables=(("RUN_SPARK_TESTS", "1"),),
    ),
    "kedro-datasets": Client(
        "kedro-datasets==9.6.0",
        ("kedro", "lazy_loader", "pandas<3", "hdfs", "s3fs", "pytest-mock", "pytest-cov", "moto", "pyarrow"),
        ("kedro_datasets_experimental/tests/databricks",),
    ),
    "dbt": Client("dbt-core==1.10.*", ("dbt-core==1.10.*", "dbt-spark==1.9.*", "pyarrow"), program="examples/dbt_project/check.py"),
}


def main() -> int:
    names = sys.argv[1:] or list(CLIENTS)
    unknown = [name for name in names if name not in CLIENTS]
    if unknown:
        print(f"no such client: {', '.join(unknown)}; there are {', '.join(CLIENTS)}", file=sys.stderr)
        return 2
    results = {name: _run(CLIENTS[name]) for name in names}
    print("\nclients:", ", ".join(f"{name} {'passed' if ok else 'FAILED'}" for name, ok in results.items()), flush=True)
    return 0 if all(results.values()) else 1


def _run(client: Client) -> bool:
    python = environment((*dependencies(), PYSPARK, *client.requirements))
    folder = ROOT if client.program else _sources(client.release, python)
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), "src", "tests"]),
        "PYSPARK_PYTHON": str(python),
        **dict(client.variables),
    }
    variables.pop("SPARK_HOME", None)
    plugins = ["-p", "bayou.testing.as_delta", *(["-p", client.conftest] if client.conftest else [])]
    chosen = ["-k", " and ".join(f"not {word}" for word in client.without)] if client.without else []
    print(f"\n== {client.release}", flush=True)
    if client.program:
        return subprocess.run([python, client.program], cwd=folder, env=variables, check=False).returncode == 0
    options = ["-q", "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:randomly"]
    command = [python, "-m", "pytest", *options, *plugins, *chosen, *client.tests]
    return subprocess.run(command, cwd=folder, env=variables, check=False).returncode == 0


def _sources(release: str, python: Path) -> Path:
    """The folder of a release's source distribution; fetched when it is not in the cache."""
    folder = cache() / "clients" / release
    complete = folder / ".complete"
    if not complete.exists():
        fetch = [python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", folder]
        subprocess.run([*fetch, release], check=True)
        for archive in folder.glob("*.tar.gz"):
            with tarfile.open(archive) as opened:
                opened.extractall(folder, filter="data")
        complete.touch()
    return next(each for each in folder.iterdir() if each.is_dir())


if __name__ == "__main__":
    sys.exit(main())
