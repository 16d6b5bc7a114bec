# SPDX-License-Identifier: Apache-2.0
"""Logs with random damage: the check ends with a report and without a crash, and what it calls sound can be read."""

from __future__ import annotations

import os

from tests.core.checks.building import found
from tests.core.checks.damaged import damaged_table
from tests.support.cases import in_one_test

SEEDS = range(int(os.environ.get("CHECKED_LOGS", "100")))


@in_one_test("seed", SEEDS)
def test_a_damaged_log_gives_a_report(seed):
    builder, chance = damaged_table(seed)
    report = found(builder, files=chance.random() < 0.3, footers=chance.random() < 0.3)
    if report.exit_code == 0:
        builder.log().snapshot().files().validate(full=True)
