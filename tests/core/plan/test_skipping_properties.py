# SPDX-License-Identifier: Apache-2.0
"""Skipping drops no file with a matching row, and drops what delta-spark's rules drop; and these tests would notice."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.core.plan import delta_rules
from tests.core.plan.spark_semantics import truth
from tests.core.plan.strategies import PARTITION, PATHS, Table, predicates, tables

from bayou.plan import bounds, comparisons, skipping, statistics
from bayou.plan.partition_values import arrow_type
from bayou.plan.predicate import Predicate
from bayou.plan.statistics import from_json
from bayou.protocol import stats

_QUICK = settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
_HUNT = settings(_QUICK, max_examples=3000, phases=[Phase.generate], database=None, report_multiple_bugs=False)


def mask_of(predicate: Predicate, table: Table) -> list[bool]:
    texts = pa.array([file.stats for file in table.files], pa.string())
    known = from_json(texts, {path: table.types[path] for path in PATHS})
    values = pa.array([file.partition for file in table.files], arrow_type(table.types[PARTITION]))
    mask = skipping.may_match(predicate, known, {PARTITION: values})
    assert mask.type == pa.bool_()
    assert mask.null_count == 0
    return mask.to_pylist()


def check_safe(data: st.DataObject, only: str | None = None) -> None:
    table = data.draw(tables(only=only))
    predicate = data.draw(predicates(table, depth=1 if only else 2))
    for file, is_kept in zip(table.files, mask_of(predicate, table), strict=True):
        matching = [
            row
            for row in file.live_rows
            if any(truth(predicate, row, unknown=unknown) for unknown in (True, False, None))
        ]
        assert is_kept or not matching, (predicate, matching, file.stats)


def check_useful(data: st.DataObject, only: str | None = None) -> None:
    table = data.draw(tables(own_only=True, only=only))
    predicate = data.draw(predicates(table, depth=1 if only else 2))
    for file, is_kept in zip(table.files, mask_of(predicate, table), strict=True):
        is_kept_by_delta = delta_rules.keeps(predicate, table.types, file.stats or "{}", (PARTITION, file.partition))
        assert is_kept_by_delta or not is_kept, (predicate, file.stats, file.partition)


@_QUICK
@given(st.data())
def test_no_file_with_a_matching_row_is_dropped(data):
    check_safe(data)


@_QUICK
@given(st.data())
def test_what_delta_spark_skips_is_skipped(data):
    check_useful(data)


@pytest.mark.soak
@settings(_QUICK, max_examples=50_000, derandomize=False)
@given(st.data())
def test_no_file_with_a_matching_row_is_dropped_in_a_long_run(data):
    check_safe(data)


@pytest.mark.soak
@settings(_QUICK, max_examples=50_000, derandomize=False)
@given(st.data())
def test_what_delta_spark_skips_is_skipped_in_a_long_run(data):
    check_useful(data)


def _trust_float_maximum(self: bounds.ColumnBounds, op: str, against: comparisons.Constant) -> Any:
    if op == "=":
        return pc.and_kleene(
            comparisons.compare("<=", self._low, against), comparisons.compare(">=", self._high, against)
        )
    return comparisons.compare(op, self._low if op in {"<", "<="} else self._high, against)


# The type of the columns in which the broken rule shows, and what to put in the rule's place.
BROKEN_RULES: dict[str, tuple[str, tuple[Any, str, Any]]] = {
    "the millisecond is forgotten": ("timestamp", (bounds, "_next_millisecond", lambda maximum: maximum)),
    "<= is taken for <": ("integer", (comparisons, "_FUNCTIONS", {**comparisons._FUNCTIONS, "<=": pc.less})),
    "a float's maximum is trusted": ("double", (bounds.ColumnBounds, "_compared_float", _trust_float_maximum)),
    "a float is read as a double": ("float", (statistics, "_as_written", lambda bound, _: bound)),
    "a decimal's digits are trusted": ("decimal(38,10)", (bounds, "_bound", comparisons.compare)),
    "NOT flips to the wrong operator": ("integer", (skipping, "NEGATED", {**skipping.NEGATED, "<": ">"})),
    "a missing statistic skips": ("integer", (bounds, "_kept", lambda mask: pc.fill_null(mask, False))),
    "a cut maximum is not raised": ("string", (stats, "truncate_maximum", stats.truncate_minimum)),
    "any zero null count means all NULL": (
        "integer",
        (bounds.ColumnBounds, "has_value", lambda self: bounds._kept(pc.not_equal(self._null_count, 0))),
    ),
}


@pytest.mark.parametrize("rule", BROKEN_RULES)
def test_a_rule_that_drops_too_much_is_noticed(rule, monkeypatch):
    only, broken = BROKEN_RULES[rule]
    monkeypatch.setattr(*broken)
    with pytest.raises(AssertionError):
        _HUNT(given(st.data())(lambda data: check_safe(data, only)))()


WEAK_RULES: dict[str, tuple[Any, str, Any]] = {
    "all-NULL files are kept": (bounds.ColumnBounds, "has_value", lambda self: self._everywhere()),
    "equality ignores bounds": (bounds.ColumnBounds, "may", lambda self, *_: self.has_value()),
    "null counts are ignored": (bounds.ColumnBounds, "has_null", lambda self: self._everywhere()),
    "prefixes are ignored": (bounds.ColumnBounds, "may_start_with", lambda self, _: self.has_value()),
    "lists are ignored": (bounds.ColumnBounds, "may_equal_any", lambda self, _: self.has_value()),
}


@pytest.mark.parametrize("rule", WEAK_RULES)
def test_a_rule_that_drops_too_little_is_noticed(rule, monkeypatch):
    monkeypatch.setattr(*WEAK_RULES[rule])
    with pytest.raises(AssertionError):
        _HUNT(given(st.data())(lambda data: check_useful(data, "string")))()
