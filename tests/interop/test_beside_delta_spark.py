# SPDX-License-Identifier: Apache-2.0
"""On a session that delta-spark is on, `format("delta")` stays delta-spark's, and bayou's functions work beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from tests.support.processes import ask

pytestmark = pytest.mark.oracle

THEIR_SOURCE = "org.apache.spark.sql.delta.sources.DeltaDataSource"


@pytest.fixture(scope="module")
def beside(provided, tmp_path_factory):
    """What happened in a process with both, by the name of the function in beside_delta_spark.py."""
    python, jars = provided
    spark = ".".join(pyspark.__version__.split(".")[:2])
    if any(Path(jars).glob(f"delta-spark_{spark}_*.jar")):
        python = sys.executable  # it has what bayou needs, and the Spark that the JARs are made for
    elif subprocess.run([python, "-c", "import pyarrow, numpy"], check=False, capture_output=True).returncode:
        pytest.skip("neither this Python nor delta-spark's has both the Spark of the JARs and what bayou needs")
    return ask(str(Path(__file__).with_name("beside_delta_spark.py")), str(tmp_path_factory.mktemp("beside")), jars, python=python)


def test_enable_says_once_that_the_format_stays_delta_sparks(beside):
    found = beside["enabling"]
    assert found["same"] == [True, True]
    (said,) = found["log"]
    assert said.startswith("WARNING: delta-spark is on this session: format('delta') stays delta-spark's")
    assert found["warnings"] == []
    assert found["source"] == THEIR_SOURCE


def test_both_read_what_bayou_wrote_each_by_its_own_files(beside):
    found = beside["both_read_what_bayou_wrote"]
    ours, theirs = found["indexes"]
    assert ours == "bayou.DeltaLogFiles"
    assert theirs.startswith("org.apache.spark.sql.delta.")
    assert found["rows"] == [True, True]
    assert found["counts"] == [100, 100]
    assert found["filtered"] == [[91, 94, 97], [91, 94, 97]]
    assert (found["joined"], found["sql"], found["detail"]) == (100, 100, 6)


def test_both_read_what_delta_spark_wrote(beside):
    found = beside["both_read_what_delta_spark_wrote"]
    assert found["rows"]
    assert found["count"] == [91, 91]
    assert found["history"] == ["MERGE", "UPDATE", "DELETE", "WRITE"]


def test_each_sees_at_once_what_the_other_wrote(beside):
    assert beside["both_write_one_table"] == {"rows": [[0, 1, 10, 11, 20, 21]] * 2, "version": [5, 5]}


def test_bayous_rule_lets_statements_on_delta_sparks_tables_through(beside):
    found = dict(beside["statements_of_delta_spark"])
    assert found.pop("rows") == found.pop("by bayou") == [[4, "d", 2]]
    assert {statement: said for statement, said in found.items() if said != "done"} == {}


def test_bayou_takes_no_statement_of_delta_sparks(beside):
    found = dict(beside["parsed_statements"])
    assert found.pop("parser") == "io.delta.sql.parser.DeltaSqlParser"
    assert found.pop("error").startswith("pyspark.errors")
    assert found
    assert not any("bayou" in node for node in found.values())


def test_no_statement_changes_a_table_that_bayou_reads_past_its_log(beside):
    found = beside["changing_a_table_that_bayou_reads"]
    assert (found["version"], found["rows"]) in [(0, [0, 1, 2]), (1, [0, 2])]
    assert (found["said"] == "done") == (found["version"] == 1)
