# SPDX-License-Identifier: Apache-2.0
"""The list of the protocol's sentences: each rule checks one, each sentence has rules or a reason, and the page is up to date."""

from __future__ import annotations

from scripts import check_page

from bayou.checks.coverage import COVERAGE
from bayou.checks.rules import RULES

IDS = {each.id for each in RULES}


def test_each_rule_checks_a_sentence():
    assert IDS - {rule for each in COVERAGE for rule in each.rules} == set()


def test_each_sentence_names_rules_or_a_reason():
    assert {rule for each in COVERAGE for rule in each.rules} - IDS == set()
    assert [each.text for each in COVERAGE if bool(each.rules) == bool(each.reason)] == []


def test_each_rule_says_one_sentence():
    assert [each.id for each in RULES if not each.text.endswith(".") or ". " in each.text] == []


def test_the_page_is_what_the_rules_give_today():
    assert check_page.PAGE.read_text(encoding="utf-8") == check_page.page(), (
        f"docs/check.md is out of date; run: {check_page.COMMAND}"
    )
