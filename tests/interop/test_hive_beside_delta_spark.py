# SPDX-License-Identifier: Apache-2.0
"""One Hive metastore, two engines: a table that one of them registers, the other opens, changes and drops."""

from __future__ import annotations

import pytest
from tests.support import processes

pytestmark = [pytest.mark.oracle, pytest.mark.soak]  # four processes, each with a metastore of its own to start

KINDS = ("managed", "external", "saved", "partitioned")
SCRIPT = str(processes.PROGRAMS / "hive_tables.py")


@pytest.fixture(scope="module")
def said(provided, tmp_path_factory):
    """What each engine said, in turn: of the tables that it made, and of the other's when it used them."""
    python, jars = provided
    folder = str(tmp_path_factory.mktemp("hive"))
    theirs = {"python": python, "environment": {"PYTHONPATH": str(processes.ROOT)}, "seconds": 600}
    return {
        "made by us": processes.ask(SCRIPT, folder, "make", "ours", ""),
        "made by them": processes.ask(SCRIPT, folder, "make", "theirs", jars, **theirs),
        "used by them": processes.ask(SCRIPT, folder, "use", "ours", jars, **theirs),
        "used by us": processes.ask(SCRIPT, folder, "use", "theirs", ""),
    }


def test_the_entries_are_those_that_delta_spark_writes(said):
    assert said["made by us"]["entries"] == said["made by them"]["entries"]
    assert said["used by us"]["entries"] == said["used by them"]["entries"]


@pytest.mark.parametrize("user", ["us", "them"])
def test_each_reads_and_changes_what_the_other_registered(said, user):
    assert said[f"used by {user}"]["use"] == {kind: [[11, "a", None], [3, "c", 5]] for kind in KINDS}
    assert said[f"used by {user}"]["dropped"] == [True, False]


def test_a_user_sees_the_same_columns(said):
    assert said["made by us"]["seen"]["columns"] == said["made by them"]["seen"]["columns"]
    assert said["used by us"]["seen"]["columns"] == said["used by them"]["seen"]["columns"]
