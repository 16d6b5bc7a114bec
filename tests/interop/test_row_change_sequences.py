# SPDX-License-Identifier: Apache-2.0
"""Random sequences of appends, DELETE, UPDATE and MERGE on random tables: rows, changes, refusals and counts are delta-spark's."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from tests.interop.row_change_operations import Merge
from tests.interop.row_change_runs import check_story
from tests.interop.row_change_stories import some_stories, stories

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.row_change_operations import Story

pytestmark = pytest.mark.oracle
SEEDS = {True: 9, False: 5}
"""Where stories come from that change rows several times, by vectors and by rewriting."""


def lived_through(spark: Any, delta_spark: Any, story: Story, folder: Path) -> list[str]:
    try:
        return check_story(spark, delta_spark, story, folder)
    except AssertionError as error:
        raise AssertionError(f"{error}\nThe story:\n{story}") from error
    finally:
        shutil.rmtree(folder)


def says_much(story: Story, *, vectors: bool) -> bool:
    """Whether rows are changed in several ways, by vectors or by rewriting, as asked."""
    kinds = {type(each).__name__ for each in story.operations}
    merges = [each for each in story.operations if isinstance(each, Merge)]
    matched = any(clause.kind == "matched" for each in merges if "where false" not in each.source for clause in each.clauses)
    by_vectors = story.table.properties.get("enableDeletionVectors") == "true"
    return matched and bool(kinds & {"Update", "Delete"}) and len(story.operations) <= 4 and by_vectors == vectors


@pytest.mark.parametrize("vectors", [True, False])
def test_both_engines_change_the_same_rows_step_by_step(delta_spark, spark, tmp_path_factory, vectors):
    story = next(each for each in some_stories(SEEDS[vectors], 40) if says_much(each, vectors=vectors))
    committed = lived_through(spark, delta_spark, story, tmp_path_factory.mktemp("story"))
    assert len(committed) > 1, story
    assert "Merge" in committed or not vectors, story


@pytest.mark.soak
@pytest.mark.timeout(0)  # as long as the stories take
@given(story=stories())
def test_both_engines_change_the_same_rows_in_thousands_of_stories(delta_spark, spark, tmp_path_factory, story):
    lived_through(spark, delta_spark, story, tmp_path_factory.mktemp("story"))
