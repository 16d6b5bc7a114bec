# SPDX-License-Identifier: Apache-2.0
"""Random sequences of appends, DELETE, UPDATE and MERGE on random tables: rows, changes, refusals and counts are delta-spark's."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from tests.interop.row_change_runs import check_story
from tests.interop.row_change_stories import some_stories, stories

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.row_change_operations import Story

pytestmark = pytest.mark.oracle


def lived_through(spark: Any, delta_spark: Any, story: Story, folder: Path) -> None:
    try:
        check_story(spark, delta_spark, story, folder)
    except AssertionError as error:
        raise AssertionError(f"{error}\nThe story:\n{story}") from error
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("story", some_stories(1, 3)[:2])
def test_both_engines_change_the_same_rows_step_by_step(delta_spark, spark, tmp_path_factory, story):
    lived_through(spark, delta_spark, story, tmp_path_factory.mktemp("story"))


@pytest.mark.soak
@given(story=stories())
def test_both_engines_change_the_same_rows_in_thousands_of_stories(delta_spark, spark, tmp_path_factory, story):
    lived_through(spark, delta_spark, story, tmp_path_factory.mktemp("story"))
