# SPDX-License-Identifier: Apache-2.0
"""What programs that were written for delta-spark look at: settings, conditions of errors, rows of descriptions.

The answers are those of delta-spark 4.4.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
PROGRAM = Path(__file__).with_name("as_delta_answers.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("as_delta_answers")


@pytest.fixture(scope="module")
def answers(folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-m", "bayou.as_delta", str(PROGRAM), str(folder), str(folder / "answers.json")]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads((folder / "answers.json").read_text(encoding="utf-8"))


@pytest.mark.smoke
def test_a_setting_can_be_saved_and_restored_though_nobody_set_it(answers):
    assert answers["setting"] == ["false", "true", "false", "false", "true"]
    assert answers["setting without a default"] is None
    assert answers["unknown setting"] is True


def test_a_statement_with_a_word_of_another_one_fails_for_its_own_reason(answers):
    found = [each.replace("FIELDS_", "FIELD_") for each in answers["statements"]]  # Spark 3.5 has another name
    assert found == ["TABLE_OR_VIEW_ALREADY_EXISTS", "TABLE_OR_VIEW_NOT_FOUND", "FIELD_ALREADY_EXISTS"]


def test_a_description_takes_what_pyspark_puts_into_its_braces(answers):
    assert answers["formatted"] == [2, 1, 1, 1, 1]


def test_a_description_of_what_is_no_delta_table_says_what_it_is(answers, folder):
    found = {text: (name, state) for text, (name, state, _, _) in answers["descriptions"].items()}
    view = ("EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE", "42809")
    assert found == {
        "history nope": ("TABLE_OR_VIEW_NOT_FOUND", "42P01"),
        "detail nope": ("TABLE_OR_VIEW_NOT_FOUND", "42P01"),
        "history plain": ("DELTA_ONLY_OPERATION", "0AKDD"),
        "history seen": view,
        "detail seen": view,
        "detail passing": view,
        "history delta.`{}/nope`": ("DELTA_TABLE_ONLY_OPERATION", "0AKDD"),
        "detail delta.`{}/nope`": ("DELTA_MISSING_DELTA_TABLE", "42P01"),
        "history '{}/nope'": ("DELTA_TABLE_ONLY_OPERATION", "0AKDD"),
        "detail '{}/nope'": ("DELTA_FILE_NOT_FOUND", "42K03"),
        "history '{}/empty'": ("DELTA_TABLE_ONLY_OPERATION", "0AKDD"),
    }
    caught = {text: "AnalysisException" in kinds for text, (_, _, _, kinds) in answers["descriptions"].items()}
    assert all(caught.values()), caught
    assert "Py4JJavaError" in answers["descriptions"]["detail '{}/nope'"][3]
    assert answers["folder"] == [True, None, {}]


def test_errors_give_their_facts_by_the_names_of_delta_spark(answers, folder):
    table = answers["parameters"]["drop"][2].pop("tableName")  # delta-spark has the name, bayou the place
    assert table.strip("`").endswith("zt")
    assert answers["parameters"] == {
        "forPath": ["DELTA_MISSING_DELTA_TABLE", "42P01", {"tableName": f"`{folder}/nope`"}],
        "forName": ["DELTA_MISSING_DELTA_TABLE", "42P01", {"tableName": "`nope`"}],
        "save": ["DELTA_PATH_EXISTS", "42K04", {"path": f"file:{folder}/table"}],
        "load": ["PATH_NOT_FOUND", "42K03", {"path": f"{folder}/nope"}],
        "files": ["DELTA_TABLE_NOT_FOUND", "42P01", {"tableName": f"`{folder}/files`"}],
        "property": [
            "DELTA_UNKNOWN_CONFIGURATION",
            "F0000",
            {"config": "delta.nope", "disableCheckConfig": "spark.databricks.delta.allowArbitraryProperties.enabled"},
        ],
        "drop": [
            "DELTA_CONSTRAINT_DOES_NOT_EXIST",
            "42704",
            {
                "constraintName": "c",
                "config": "spark.databricks.delta.constraints.assumesDropIfExists.enabled",
                "confValue": "true",
            },
        ],
        "history": ["DELTA_ONLY_OPERATION", "0AKDD", {"operation": "DESCRIBE HISTORY"}],
        "buckets": ["DELTA_OPERATION_NOT_ALLOWED_DETAIL", "0AKDC", {"operation": "Bucketing", "tableName": "`default`.`bk`"}],
        "batch": [
            "DELTA_ILLEGAL_OPTION",
            "42616",
            {"input": "x", "name": "txnVersion", "explain": "must be a non-negative integer"},
        ],
    }
