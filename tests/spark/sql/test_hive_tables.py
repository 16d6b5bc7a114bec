# SPDX-License-Identifier: Apache-2.0
"""Tables with names in a Hive metastore: made in one process, found in the next."""

from __future__ import annotations

import pytest
from tests.support.processes import PROGRAMS, ask

KINDS = ("managed", "external", "saved", "partitioned")
SCRIPT = str(PROGRAMS / "hive_tables.py")


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """What two processes said, the one that made the tables and the one that used them."""
    folder = str(tmp_path_factory.mktemp("hive"))
    return [ask(SCRIPT, folder, step, "ours", "") for step in ("make", "use")]


def test_a_table_that_one_process_makes_the_next_one_reads_and_changes(steps):
    made, used = steps
    assert made["make"] == {key: [[1, "a"]] for key in KINDS}
    assert used["use"] == {key: [[11, "a", None], [3, "c", 5]] for key in KINDS}


def test_the_metastore_has_no_columns_and_every_reader_does(steps):
    made, used = steps
    for entries in (made["entries"], used["entries"]):
        assert {(each["provider"], each["partitions"]) for each in entries.values()} == {("delta", 0)}
        assert [entries[kind]["type"] for kind in KINDS] == ["MANAGED", "EXTERNAL", "MANAGED", "MANAGED"]
    two = [["id", "bigint", False], ["Name", "string", False]]
    assert made["seen"]["columns"]["managed"] == two
    assert made["seen"]["columns"]["partitioned"] == [two[0], ["Name", "string", True]]
    assert used["seen"]["columns"]["external"] == [*two, ["more", "int", False]]
    assert used["seen"]["tables"] == sorted(KINDS)


def test_a_dropped_table_keeps_its_files_only_where_they_are_elsewhere(steps):
    assert steps[1]["dropped"] == [True, False]
