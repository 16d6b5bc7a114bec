# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path

import pytest

from bayou.as_delta.default_settings import DEFAULTS
from bayou.as_delta.given_settings import get_given

PREFIX = "spark.databricks.delta."
DOCS = Path(__file__).parents[3] / "docs" / "settings.md"
OF_NO_DEFAULT = {f"streaming.allowSourceColumn{change}" for change in ("Rename", "Drop", "RenameAndDrop", "TypeChange")}
"""What delta-spark reads without registering it."""


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("schema.autoMerge.enabled", "false"),
        ("retentionDurationCheck.enabled", "true"),
        ("optimize.maxFileSize", "1073741824"),
        ("merge.materializeSource", "auto"),
        ("commitInfo.userMetadata", None),
    ],
)
def test_a_setting_of_delta_spark_that_nobody_set_has_the_value_that_it_registers(name, wanted):
    get = get_given(lambda _, _key, default="none": default)
    assert get(None, PREFIX + name) == wanted
    assert get(None, PREFIX + name, "given") == "given"
    assert get(None, PREFIX + name, default="given") == "given"
    assert get(None, PREFIX + "nothing.of.the.kind") == "none"


def test_each_setting_that_is_documented_by_its_name_has_an_answer():
    text = DOCS.read_text(encoding="utf-8").partition("## Table properties")[0]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    names = {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}
    assert len(names) > 60
    assert {name for name in names if PREFIX + name not in DEFAULTS} == OF_NO_DEFAULT
