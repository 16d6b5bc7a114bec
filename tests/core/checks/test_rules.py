# SPDX-License-Identifier: Apache-2.0
"""Each rule finds the table that breaks it, and nothing in the table that differs from it by one value."""

from __future__ import annotations

import pytest
from tests.core.checks import cases_of_actions, cases_of_features, cases_of_files, cases_of_logs
from tests.core.checks.building import found

from bayou.checks.rule import Reads, Severity
from bayou.checks.rules import RULES

CASES = cases_of_logs.CASES | cases_of_actions.CASES | cases_of_features.CASES | cases_of_files.CASES
BY_ID = {each.id: each for each in RULES}


def test_each_rule_has_a_case():
    assert CASES.keys() == BY_ID.keys()


def test_ids_are_unique():
    assert len(BY_ID) == len(RULES)


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_finds_what_breaks_it_and_nothing_else(rule):
    case = CASES[rule]
    looks = {"files": BY_ID[rule].reads is Reads.FILES, "footers": BY_ID[rule].reads is Reads.FOOTERS}
    broken = found(case.build(case.broken), **looks)
    assert rule in {each.rule for each in broken.findings}
    sound = found(case.build(case.sound), **looks)
    assert [(each.rule, each.detail) for each in sound.findings if each.rule == rule or each.severity > Severity.ODD] == []
