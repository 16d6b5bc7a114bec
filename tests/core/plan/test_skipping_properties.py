# SPDX-License-Identifier: Apache-2.0
"""Skipping drops no file with a matching row, and drops what delta-spark's rules drop; and these tests would notice."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.plan import delta_rules
from tests.support.tables.random_tables import PARTITION, PATHS, POOLS, Table, any_predicate, any_table
from tests.support.tables.spark_semantics import truth

from bayou.plan import skipping
from bayou.plan.predicates import comparisons
from bayou.plan.predicates.partition_values import arrow_type
from bayou.plan.predicates.predicate import Predicate, columns, only_about
from bayou.plan.statistics import bounds
from bayou.plan.statistics import columns as statistics_columns
from bayou.plan.statistics.columns import from_json
from bayou.protocol.stats import file_stats

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.tables.random_files import Row

_ANY_SIZE = settings(suppress_health_check=list(HealthCheck))


def mask_of(predicate: Predicate, table: Table) -> list[bool]:
    texts = pa.array([file.stats for file in table.files], pa.string())
    known = from_json(texts, {path: table.types[path] for path in PATHS})
    values = pa.array([file.partition for file in table.files], arrow_type(table.types[PARTITION]))
    mask = skipping.may_match(predicate, known, {PARTITION: values})
    assert mask.type == pa.bool_()
    assert mask.null_count == 0
    return mask.to_pylist()


def check_safe(random: Random, only: str | None = None) -> None:
    table = any_table(random, only=only)
    for _ in range(4):
        predicate = any_predicate(random, table)
        for file, is_kept in zip(table.files, mask_of(predicate, table), strict=True):
            assert is_kept or not any(may_be_true(predicate, row) for row in file.live_rows), (predicate, file)


def check_useful(random: Random, only: str | None = None) -> None:
    table = any_table(random, own_only=True, only=only)
    for _ in range(4):
        predicate = any_predicate(random, table)
        for file, is_kept in zip(table.files, mask_of(predicate, table), strict=True):
            assert not is_kept or delta_rules.keeps(predicate, table.types, file.stats or "{}", (PARTITION, file.partition)), (
                predicate,
                file,
            )


def may_be_true(predicate: Predicate, row: Row) -> bool:
    """Whether the predicate is true for the row, whatever stands where nothing is understood."""
    return any(truth(predicate, row, unknown=unknown) for unknown in (True, False, None))


def hunt(check: Callable[[Random, str | None], None], only: str) -> None:
    """The same check without hypothesis: faster where one counterexample is all that is wanted."""
    random = Random(0)
    for _ in range(2_000):
        check(random, only)


@_ANY_SIZE
@given(st.randoms(use_true_random=False))
def test_no_file_with_a_matching_row_is_dropped(random):
    check_safe(random)


@_ANY_SIZE
@given(st.randoms(use_true_random=False))
def test_what_delta_spark_skips_is_skipped(random):
    check_useful(random)


@_ANY_SIZE
@given(st.randoms(use_true_random=False))
def test_what_a_predicate_says_of_some_columns_is_true_wherever_it_is(random):
    table = any_table(random)
    predicate = any_predicate(random, table)
    for names in ({PARTITION[0]}, {path[0] for path in PATHS}, set()):
        about = only_about(predicate, names)
        assert {path[0] for path in columns(about)} <= names
        for file in table.files:
            assert all(may_be_true(about, row) for row in file.live_rows if may_be_true(predicate, row))


@pytest.mark.parametrize("data_type", sorted(POOLS))
def test_both_hold_in_a_fixed_slice_of_random_tables_of_each_type(data_type):
    random = Random(data_type)
    for _ in range(8):
        check_safe(random, data_type)
        check_useful(random, data_type)


@pytest.mark.soak
@pytest.mark.parametrize("data_type", [None, *sorted(POOLS)])
def test_both_hold_in_a_long_run_over_random_tables(data_type):
    random = Random()
    for _ in range(20_000):
        check_safe(random, data_type)
        check_useful(random, data_type)


def _trust_float_maximum(self: bounds.ColumnBounds, op: str, against: comparisons.Constant) -> Any:
    if op == "=":
        return pc.and_kleene(comparisons.compare("<=", self._low, against), comparisons.compare(">=", self._high, against))
    return comparisons.compare(op, self._low if op in {"<", "<="} else self._high, against)


# The type of the columns in which the broken rule shows, and what to put in the rule's place.
BROKEN_RULES: dict[str, tuple[str, tuple[Any, str, Any]]] = {
    "the millisecond is forgotten": ("timestamp", (bounds, "_next_millisecond", lambda maximum: maximum)),
    "<= is taken for <": ("integer", (comparisons, "_FUNCTIONS", {**comparisons._FUNCTIONS, "<=": pc.less})),
    "a float's maximum is trusted": ("double", (bounds.ColumnBounds, "_compared_float", _trust_float_maximum)),
    "a float is read as a double": ("float", (statistics_columns, "_as_written", lambda bound, _: bound)),
    "a decimal's digits are trusted": ("decimal(38,10)", (bounds, "_bound", comparisons.compare)),
    "NOT flips to the wrong operator": ("integer", (skipping, "NEGATED", {**skipping.NEGATED, "<": ">"})),
    "a missing statistic skips": ("integer", (bounds, "_kept", lambda mask: pc.fill_null(mask, False))),
    "a cut maximum is not raised": ("string", (file_stats, "truncate_maximum", file_stats.truncate_minimum)),
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
        hunt(check_safe, only)


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
        hunt(check_useful, "string")
