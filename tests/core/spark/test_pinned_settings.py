# SPDX-License-Identifier: Apache-2.0
"""The settings that bayou fixes for its jobs, and the page that shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cases import in_one_test

from bayou.spark.pinned_settings import OPTIONS, PINS, UNSET_IN_HADOOP, Job, for_writer, table, values, with_options

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


def test_the_page_shows_the_settings_of_the_module():
    between = (
        PAGE.read_text(encoding="utf-8").split("<!-- pinned settings: begin -->\n")[1].split("<!-- pinned settings: end -->")[0]
    )
    assert between.strip() == table(), "docs/settings.md is out of date: paste bayou.spark.pinned_settings.table()"


@pytest.mark.parametrize("job", Job)
def test_every_kind_of_job_has_settings_and_names_none_twice(job):
    names = [pin.name for pin in (*PINS.get(job, ()), *OPTIONS.get(job, ()))]
    assert names
    assert len(names) == len({name.lower() for name in names})


@pytest.mark.parametrize("change", [str, str.upper, str.lower])
def test_an_option_of_a_relation_does_not_change_what_a_rewrite_fixes(change):
    given = {change("ignoreMissingFiles"): "true", change("ignoreCorruptFiles"): "true", "fs.x": "1"}
    found = with_options(given, Job.READ, Job.REWRITE)
    assert found == {
        "fs.x": "1",
        "datetimeRebaseMode": "CORRECTED",
        "int96RebaseMode": "CORRECTED",
        "ignoreMissingFiles": "false",
        "ignoreCorruptFiles": "false",
    }


@in_one_test("change", [str, str.upper])
@in_one_test("name", [*values(Job.WRITE), *(pin.name for pin in UNSET_IN_HADOOP), "parquet.column.statistics.enabled#c"])
def test_an_option_of_a_write_does_not_change_what_is_in_a_file(name, change):
    assert for_writer({change(name): "x", "parquet.block.size": "1", "compression": "zstd"}) == {
        "parquet.block.size": "1",
        "compression": "zstd",
    }
