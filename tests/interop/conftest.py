# SPDX-License-Identifier: Apache-2.0
"""The oracles: delta-spark in a process of its own, delta-rs in this one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "ORACLE "


class DeltaSpark:
    """Runs SQL on delta-spark."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def sql(self, *statements: str) -> list[list[str | None]]:
        """Runs some statements; the rows of the last one, as texts."""
        self._process.stdin.write(json.dumps(statements) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(MARK):
                answer = json.loads(line.removeprefix(MARK))
                assert "error" not in answer, answer["error"]
                return answer["rows"]
        pytest.fail("delta-spark's process ended")


@pytest.fixture(scope="session")
def delta_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeltaSpark]:
    """delta-spark; skips the test where `make matrix` has not provided it."""
    python, jars = os.environ.get("BAYOU_ORACLE_PYTHON"), os.environ.get("BAYOU_ORACLE_JARS")
    if not python or not jars:
        pytest.skip("delta-spark is not provided (BAYOU_ORACLE_PYTHON, BAYOU_ORACLE_JARS): `make oracle` provides it")
    environment = {**os.environ, "PYSPARK_PYTHON": python}
    environment.pop("PYTHONPATH", None)
    environment.pop("SPARK_HOME", None)
    folder = tmp_path_factory.mktemp("oracle")
    with (folder / "stderr").open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [python, str(Path(__file__).with_name("oracle.py")), jars],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=folder,
            env=environment,
        )
        yield DeltaSpark(process)
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()
