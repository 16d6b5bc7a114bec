# SPDX-License-Identifier: Apache-2.0
"""A file is proved to match only where every row of it does; and these tests would notice if it were not so."""

from __future__ import annotations

import json
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.cases import in_one_test
from tests.support.tables.random_tables import PARTITION, PATHS, POOLS, Table, any_predicate, any_table
from tests.support.tables.spark_semantics import truth

from bayou.plan import proofs
from bayou.plan.predicates.literals import literal
from bayou.plan.predicates.partition_values import arrow_type
from bayou.plan.predicates.predicate import And, Boolean, Column, Comparison, In, IsNotNull, IsNull, Not, Or, Predicate, Unknown
from bayou.plan.proofs import must_match
from bayou.plan.skipping import may_match
from bayou.plan.statistics.columns import from_json

_ANY_SIZE = settings(suppress_health_check=list(HealthCheck))


def proved(predicate: Predicate, table: Table) -> list[bool]:
    known = from_json(pa.array([file.stats for file in table.files], pa.string()), {path: table.types[path] for path in PATHS})
    values = pa.array([file.partition for file in table.files], arrow_type(table.types[PARTITION]))
    mask = must_match(predicate, known, {PARTITION: values})
    assert mask.null_count == 0
    return mask.to_pylist()


def always_true(predicate: Predicate, row) -> bool:
    return all(truth(predicate, row, unknown=unknown) is True for unknown in (True, False, None))


def check(random: Random, only: str | None = None) -> int:
    found = 0
    table = any_table(random, only=only)
    for _ in range(4):
        predicate = any_predicate(random, table)
        for file, is_proved in zip(table.files, proved(predicate, table), strict=True):
            if is_proved:
                found += 1
                assert all(always_true(predicate, row) for row in file.live_rows), (predicate, file)
    return found


def test_a_bound_that_its_writer_rounded_to_a_double_proves_nothing():
    limit = 2**53
    stats = {"numRecords": 1, "minValues": {"c": float(limit)}, "maxValues": {"c": float(limit)}, "nullCount": {"c": 0}}
    known = from_json(pa.array([json.dumps(stats)]), {("c",): "long"})
    column, rounded = Column(("c",)), literal(limit, "long")  # the row has one more
    assert must_match(Comparison("<=", column, rounded), known, {}).to_pylist() == [False]
    assert may_match(Comparison(">", column, rounded), known, {}).to_pylist() == [True]


@_ANY_SIZE
@given(st.randoms(use_true_random=False))
def test_every_row_of_a_proved_file_matches(random):
    check(random)


@pytest.mark.parametrize("data_type", sorted(POOLS))
def test_so_it_is_in_a_fixed_slice_of_random_tables_of_each_type_and_some_files_are_proved(data_type):
    random = Random(data_type)
    assert sum(check(random, data_type) for _ in range(15)) > 0


BROKEN = {
    "NULLs are forgotten": (
        "_has_no_null",
        lambda _path, statistics, _: pa.repeat(pa.scalar(True), len(statistics.num_records)),
    ),
    "NULL as a constant is forgotten": ("_may_be_null_anyway", lambda _: False),
    "a file that may match is taken for one that does": (
        "may_match",
        lambda predicate, statistics, partitions: pc.invert(proofs_may_match(predicate.child, statistics, partitions)),
    ),
}
proofs_may_match = proofs.may_match


@pytest.mark.parametrize("rule", BROKEN)
def test_a_rule_that_proves_too_much_is_noticed(rule, monkeypatch):
    monkeypatch.setattr(proofs, *BROKEN[rule])
    with pytest.raises(AssertionError):
        hunt("integer")


def hunt(only: str) -> None:
    random = Random(0)
    for _ in range(500):
        check(random, only)


def files(*statistics):
    return from_json(pa.array([json.dumps(each) for each in statistics], pa.string()), {("a",): "integer"})


A = Column(("a",))
FULL = {"numRecords": 3, "minValues": {"a": 1}, "maxValues": {"a": 5}, "nullCount": {"a": 0}}


def at_least(value):
    return Comparison(">=", A, literal(value, "integer"))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, True),
        ({"tightBounds": True}, True),
        ({"tightBounds": False}, False),
        ({"nullCount": {"a": 1}}, False),
        ({"nullCount": {}}, False),
        ({"numRecords": None}, False),
        ({"minValues": {"a": 0}}, False),
        ({"minValues": {}}, False),
    ],
)
def test_bounds_have_to_be_tight_rows_counted_and_nulls_absent(change, expected):
    assert must_match(at_least(1), files({**FULL, **change}), {}).to_pylist() == [expected]


@in_one_test(
    ("predicate", "expected"),
    [
        (And(()), True),
        (Or(()), False),
        (Boolean(value=True), True),
        (Boolean(value=False), False),
        (Boolean(value=None), False),
        (Not(Boolean(value=None)), False),
        (Unknown(), False),
        (Not(Unknown()), False),
        (And((at_least(1), Unknown())), False),
        (Or((at_least(1), at_least(9))), True),
        (Not(at_least(6)), True),
        (In(A, ()), False),
        (Not(In(A, (literal(7, "integer"),))), True),
        (Not(In(A, (literal(7, "integer"), literal(None, "integer")))), False),
        (IsNull(A), False),
        (IsNotNull(A), True),
        (Comparison("<=>", A, literal(None, "integer")), False),
        (Not(Comparison("<=>", A, literal(None, "integer"))), True),
    ],
)
def test_each_kind_of_predicate_is_proved_where_it_is_true_for_all_rows(predicate, expected):
    assert must_match(predicate, files(FULL), {}).to_pylist() == [expected]


def test_null_rows_prove_that_a_column_is_null():
    nulls = {"numRecords": 3, "nullCount": {"a": 3}}
    assert must_match(IsNull(A), files(nulls), {}).to_pylist() == [True]


def test_a_partition_value_proves_where_it_is_not_null():
    statistics = files(FULL, FULL, FULL)
    values = pa.array([1, 2, None], pa.int32())
    equal = Comparison("=", Column(("p",)), literal(1, "integer"))
    assert must_match(equal, statistics, {("p",): values}).to_pylist() == [True, False, False]
    assert must_match(Not(equal), statistics, {("p",): values}).to_pylist() == [False, True, False]


def test_a_predicate_that_is_nested_too_deep_proves_nothing():
    predicate: Predicate = at_least(1)
    for _ in range(50_000):
        predicate = Not(predicate)
    assert must_match(predicate, files(FULL), {}).to_pylist() == [False]
