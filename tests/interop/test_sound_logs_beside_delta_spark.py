# SPDX-License-Identifier: Apache-2.0
"""Damaged logs that the check calls sound: delta-spark reads the schema and the rows that bayou reads."""

from __future__ import annotations

import os
from itertools import islice

import pytest
from tests.core.checks.building import found
from tests.core.checks.damaged import rearranged_table, write_to

from bayou.log.delta_log import open_log

pytestmark = pytest.mark.oracle

FIRST = int(os.environ.get("CHECKED_LOGS_FROM", "0"))
COUNT = int(os.environ.get("CHECKED_LOGS_BESIDE_DELTA_SPARK", "8"))
SEEDS = range(FIRST, FIRST + 40 * COUNT)
TYPES = {"string": "string", "int64": "bigint"}


def sound_tables():
    """The tables of some seeds that the check calls sound."""
    tables = ((seed, rearranged_table(seed)) for seed in SEEDS)
    return ((seed, each) for seed, each in tables if found(each, files=True, footers=True).exit_code == 0)


def test_delta_spark_reads_what_the_check_calls_sound_as_bayou_does(delta_spark, tmp_path):
    seeds = []
    for seed, builder in islice(sound_tables(), COUNT):
        path = str(tmp_path / str(seed))
        write_to(path, builder)
        rows = open_log(path).snapshot().to_arrow()
        columns = [[each.name, TYPES[str(each.type)], True] for each in rows.schema]
        expected = [[None if value is None else str(value) for value in row.values()] for row in rows.to_pylist()]
        answer = delta_spark.outcome(f"select * from delta.`{path}`")
        assert sorted(answer.get("rows", ()), key=str) == sorted(expected, key=str), f"seed {seed}: {answer}"
        assert answer["columns"] == columns, f"seed {seed}"
        seeds.append(seed)
    assert len(seeds) == COUNT
