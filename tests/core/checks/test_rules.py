# SPDX-License-Identifier: Apache-2.0
"""Each rule finds the table that breaks it, and nothing in the table that differs from it by one value."""

from __future__ import annotations

import pytest
from tests.core.checks import cases_of_actions, cases_of_features, cases_of_files, cases_of_logs
from tests.core.checks.building import found, table

from bayou.checks.row_counts import RowCount, RowCounts
from bayou.checks.rule import Reads, Severity
from bayou.checks.rules import RULES

CASES = cases_of_logs.CASES | cases_of_actions.CASES | cases_of_features.CASES | cases_of_files.CASES
BROKEN_ROWS = {
    "constraint-rows": RowCounts((RowCount("CHECK", "positive", "id > 0", 1_234),)),
    "invariant-rows": RowCounts((RowCount("INVARIANT", "id", "id > 0", problem="it has no column ID"),)),
    "generated-rows": RowCounts((RowCount("GENERATED", "id", "id <=> 1", 1),)),
    "identity-rows": RowCounts((RowCount("IDENTITY", "id", "id > 0", 1),)),
    "schema-not-null": RowCounts((RowCount("NOT NULL", "id", "id IS NOT NULL", 1),)),
    "schema-char-length": RowCounts((RowCount("CHAR_VARCHAR", "id", "length(id) < 3", 1),)),
    "data-file-rows": RowCounts(problem="a file is not a Parquet file"),
}
"""What Spark counts, by the rule that finds it. Tests on Spark count the rows of tables."""
BY_ID = {each.id: each for each in RULES}


def test_each_rule_has_a_case():
    assert CASES.keys() | BROKEN_ROWS.keys() == BY_ID.keys()


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


@pytest.mark.parametrize("rule", BROKEN_ROWS)
def test_a_count_of_rows_is_a_finding_of_one_rule(rule):
    report = found(table(), count_rows=lambda *_: BROKEN_ROWS[rule])
    assert [each.rule for each in report.findings if each.severity is BY_ID[rule].severity] == [rule]
    assert {each.action for each in report.findings} == {"metaData"}


def test_a_finding_of_rows_names_the_condition_and_their_number():
    report = found(table(), count_rows=lambda *_: BROKEN_ROWS["constraint-rows"])
    assert [each.detail for each in report.broken] == ["positive, id > 0: 1,234 rows violate it"]


def test_rows_without_violations_are_no_finding():
    asked = []

    def count(uri, version):
        asked.append((uri, version))
        return RowCounts((RowCount("CHECK", "positive", "id > 0"),))

    builder = table(later=([],))
    assert found(builder, count_rows=count).broken == ()
    assert asked == [(builder.uri, 1)]


def test_rows_are_not_counted_if_no_version_follows_from_the_log():
    builder = table()
    builder.write("_delta_log/00000000000000000000.json", "{")
    assert "data-file-rows" not in {each.rule for each in found(builder, count_rows=lambda *_: RowCounts(problem="?")).findings}
