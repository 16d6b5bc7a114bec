# SPDX-License-Identifier: Apache-2.0
"""A program that was written for delta-spark on Spark Connect, unmodified, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("as_delta_program.py")


@pytest.fixture(scope="module")
def facts(server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("as_delta")
    answers = folder / "facts.json"
    command = [sys.executable, "-m", "bayou.as_delta", str(PROGRAM), server.url, str(folder), str(answers)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(answers.read_text(encoding="utf-8"))


@pytest.mark.parametrize("way", ["helper", "plain builder", "created", "newSession", "after a stop"])
def test_each_way_to_a_session_gives_one_that_reads_and_writes_delta(facts, way):
    if way not in facts:
        pytest.skip(f"this PySpark has no {way}")
    assert facts[way] == [0, 1, 2, 3, 9]


def test_a_program_reads_back_what_it_set_for_delta_spark_and_the_server_gets_the_rest(facts):
    assert facts["given"] == ["io.delta.sql.DeltaSparkSessionExtension", "2"]
    assert facts["default"] == "false"
    assert facts["catalog"] == ["org.apache.spark.sql.delta.catalog.DeltaCatalog", "spark_catalog"]
