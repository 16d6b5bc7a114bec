# SPDX-License-Identifier: Apache-2.0
"""The oracles: delta-spark in a process of its own, delta-rs in this one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.interop.stream_engines import Engines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

MARK = "ORACLE "


class DeltaSpark:
    """Runs SQL on delta-spark."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def sql(self, *statements: str) -> list[list[str | None]]:
        """Runs some statements; the rows of the last one, as texts."""
        answer = self._ask(statements)
        assert "error" not in answer, answer["error"]
        return answer["rows"]

    def outcome(self, *statements: str) -> dict[str, Any]:
        """Runs some statements: the `rows` of the last one with their `columns` (name, type, nullable), or its `error`."""
        return self._ask(statements)

    def refused(self, *statements: str) -> str:
        """Runs some statements of which the last one fails; what it says."""
        answer = self._ask(statements)
        assert "error" in answer, answer
        return str(answer["error"])

    def tried(self, *statements: str) -> str | None:
        """Runs some statements of which the last one may fail; what it says, or None."""
        return self._ask(statements).get("error")

    def write(self, query: str, path: str, mode: str, options: dict[str, str], partition_by: list[str]) -> str | None:
        """Saves the rows of a query; the error, or None."""
        given = {"write": query, "path": path, "mode": mode, "options": options, "partition_by": partition_by}
        return self._ask(given).get("error")

    def write_by_name(self, query: str, verb: str, path: str, options: dict[str, str]) -> str | None:
        """Writes the rows of a query by a verb for tables with names; the error, or None."""
        return self._ask({"write": query, "verb": verb, "path": path, "options": options}).get("error")

    def begin_each(self, lists: Sequence[Sequence[str]], of: str) -> Callable[[], list[dict[str, Any]]]:
        """Has lists of statements run, while the test does something else.

        Args:
            lists: the statements.
            of: the path of a table.

        Returns:
            What waits for the answers: `rows` of the last statement of each list, or its `error`, and the table's `version` then.
        """
        self._send({"each": lists, "of": of})
        return lambda: self._answer()["rows"]

    def stream(self, **given: Any) -> str | None:
        """Runs a streaming query, as `oracle.run_stream` does; what stopped it, or None."""
        return self._ask(given).get("error")

    def recompute(self, path: str) -> None:
        """Has the statistics of all files of a table made anew, which no SQL does."""
        answer = self._ask({"recompute": path})
        assert "error" not in answer, answer["error"]

    def begin(self, path: str, where: str | None) -> None:
        """Begins a transaction that has read the files of a filter; None reads nothing."""
        answer = self._ask({"begin": path, "where": where})
        assert "error" not in answer, answer["error"]

    def commit(self, *actions: str) -> str:
        """Commits the transaction with these actions in JSON; the version, or the error."""
        answer = self._ask({"commit": actions})
        return answer["error"] if "error" in answer else answer["rows"][0][0]

    def _ask(self, what: object) -> dict[str, Any]:
        self._send(what)
        return self._answer()

    def _send(self, what: object) -> None:
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()

    def _answer(self) -> dict[str, Any]:
        for line in self._process.stdout:
            if line.startswith(MARK):
                return json.loads(line.removeprefix(MARK))
        pytest.fail("delta-spark's process ended")


@pytest.fixture(scope="session")
def provided() -> tuple[str, str]:
    """The Python that runs delta-spark, and the folder of its JARs; skips the test where `make matrix` has not provided them."""
    python, jars = os.environ.get("BAYOU_ORACLE_PYTHON"), os.environ.get("BAYOU_ORACLE_JARS")
    if not python or not jars:
        pytest.skip("delta-spark is not provided (BAYOU_ORACLE_PYTHON, BAYOU_ORACLE_JARS): `make oracle` provides it")
    return python, jars


@pytest.fixture(scope="session")
def delta_spark(provided: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeltaSpark]:
    """delta-spark in a process of its own."""
    python, jars = provided
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


@pytest.fixture
def engines(spark: SparkSession, delta_spark: DeltaSpark, tmp_path: Path) -> Engines:
    """Both engines on one streaming query."""
    return Engines(spark, delta_spark, tmp_path)
