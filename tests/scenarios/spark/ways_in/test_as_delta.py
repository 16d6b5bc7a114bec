# SPDX-License-Identifier: Apache-2.0
"""A program that was written for delta-spark, unmodified, in a process of its own with bayou in delta-spark's place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from bayou.as_delta.versions import artifact, delta_spark_version

ROOT = Path(__file__).parents[4]
PROGRAM = Path(__file__).with_name("as_delta_program.py")
NOT_YET = ["UnsupportedFeatureError", "DELTA_OPERATION_NOT_ALLOWED"]


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("as_delta")
    (folder / "spark-defaults.conf").write_text(
        "spark.jars.packages io.delta:delta-spark_2.13:4.0.0\nspark.y 2\n"
        "spark.sql.extensions io.delta.sql.DeltaSparkSessionExtension\n"
        "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog\n",
        encoding="utf-8",
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONF_DIR": str(folder),
        "PYSPARK_SUBMIT_ARGS": "--packages io.delta:delta-core_2.12:2.4.0 --conf spark.driver.memory=1g pyspark-shell",
    }
    environment.pop("SPARK_HOME", None)
    command = [sys.executable, "-m", "bayou.as_delta", str(PROGRAM), str(folder / "data"), str(folder / "facts.json")]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads((folder / "facts.json").read_text(encoding="utf-8"))


@pytest.mark.smoke
@pytest.mark.parametrize("way", ["helper", "new session", "plain builder", "same session", "context", "configuration"])
def test_each_way_to_a_session_gives_one_that_reads_and_writes_delta(facts, way):
    assert facts[way] is True


def test_what_is_not_of_delta_reaches_the_session_and_the_rest_does_not(facts):
    assert facts["Spark's own"][0] == "1"
    assert "delta" not in str([facts["Spark's own"], facts["system properties"]])
    assert facts["system properties"][0] == "2"


def test_a_program_reads_back_what_it_set_for_delta_spark(facts):
    package = f"io.delta:{artifact(pyspark.__version__)}:{delta_spark_version(pyspark.__version__)}"
    given = ["1", "io.delta.sql.DeltaSparkSessionExtension", "org.apache.spark.sql.delta.catalog.DeltaCatalog", package]
    assert facts["conf"] == given
    assert facts["context's conf"] == given
    assert facts["another setting"] == ["2", "none"]
    assert facts["set and unset"] == ["org.apache.spark.sql.delta.catalog.DeltaCatalog", "none"]


def test_the_catalog_of_delta_spark_that_is_set_on_a_running_session_is_bayous(facts):
    assert facts["set later"] is True


def test_the_table_class_is_there_under_the_names_and_keywords_of_delta_spark(facts):
    assert facts["history"] == ["WRITE", "WRITE"]
    assert facts["is table"] == [True, False]
    assert facts["built"] == [True, 0]


def test_statements_of_delta_are_known_and_what_is_not_there_is_named(facts):
    assert facts["optimize"] == [["path", "metrics"]] * 2
    assert facts["sql"] == ["path"]
    assert facts["table_changes"][1] == "DELTA_TABLE_ONLY_OPERATION"
    assert facts["table_history"] == facts["sql of history"][0][0]
    assert facts["other sql"][0] == "ParseException"


def test_a_table_of_a_stopped_session_says_so(facts):
    assert [error[0] for error in facts["stopped"]] == ["SessionError"] * 3


def test_history_and_detail_as_sql_give_what_the_methods_give(facts):
    assert facts["sql of history"] == [[3, 2, 1, 0], [3]]
    assert facts["sql of detail"] is True
    assert facts["sql of parquet"] == [["parquet", "spark_catalog.default.plain", ["p"]]] * 2
    assert facts["sql of nothing"][1] == "TABLE_OR_VIEW_NOT_FOUND"


def test_statements_that_change_rows_give_the_row_of_counts_that_delta_spark_gives(facts):
    assert facts["sql of rows"] == [
        [{"num_affected_rows": 2}],
        [{"num_affected_rows": 1}],
        [{"num_affected_rows": 2, "num_updated_rows": 0, "num_deleted_rows": 1, "num_inserted_rows": 1}],
        [{"rows": 3}],
    ]


def test_versions_and_exceptions_are_those_of_delta_spark(facts):
    assert facts["versions"] == [delta_spark_version(pyspark.__version__)] * 2
    assert facts["exceptions"] is True
