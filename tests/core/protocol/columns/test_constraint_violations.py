# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import pickle

import pytest

from bayou.errors import ConstraintViolationError, DeltaError
from bayou.protocol.columns.constraint_violations import new_constraint_violation, violation
from bayou.protocol.columns.constraints import LENGTH_CHECK_NAME, Constraint, ConstraintKind

CHECK = Constraint("positive", ConstraintKind.CHECK, (), "id > 0")
NOT_NULL = Constraint("NOT NULL", ConstraintKind.NOT_NULL, ("s", "a b"), "`s`.`a b` IS NOT NULL")


def test_a_check_constraint_shows_the_values_of_the_row():
    error = violation(CHECK, [{"id": -1, "b": None, "flag": True}], num_violations=3, table="/t", version=7)
    assert isinstance(error, DeltaError)
    assert str(error).startswith("[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] ")
    assert "CHECK constraint positive id > 0 violated by row with values:\n - b : null\n - flag : true\n - id : -1" in str(error)
    assert (error.constraint, error.expression, error.num_violations) == ("positive", "id > 0", 3)
    assert (error.table, error.version, error.sql_state) == ("/t", 7, "23001")
    assert error.rows == ({"id": -1, "b": None, "flag": True},)


@pytest.mark.parametrize("kind", [ConstraintKind.INVARIANT, ConstraintKind.GENERATED])
def test_invariants_and_generated_columns_fail_as_check_constraints_do(kind):
    error = violation(Constraint("Generated Column", kind, ("d",), "(`d` <=> (x))"), [{"d": 1}])
    assert error.error_class == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    assert "CHECK constraint Generated Column (`d` <=> (x)) violated by row with values:\n - d : 1" in str(error)


def test_not_null_names_the_column():
    error = violation(NOT_NULL, [])
    assert "NOT NULL constraint violated for column: s.`a b`." in str(error)
    assert (error.error_class, error.sql_state) == ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "23502")


def test_a_string_that_is_too_long_is_shown():
    check = Constraint(LENGTH_CHECK_NAME, ConstraintKind.CHAR_VARCHAR, ("v",), "length(`v`) <= 3")
    error = violation(check, [{"v": "abcd"}])
    assert 'Value "abcd" exceeds char/varchar type length limitation. Failed check: length(`v`) <= 3.' in str(error)
    assert (error.error_class, error.sql_state) == ("DELTA_EXCEED_CHAR_VARCHAR_LIMIT", "22001")
    assert violation(check, []).error_class == error.error_class


def test_endless_bad_rows_with_endless_values_stay_a_short_error():
    rows = ({"id": number, "text": "x" * 1_000_000} for number in itertools.count())
    error = violation(CHECK, rows, num_violations=10**9)
    assert len(error.rows) == 5
    assert len(str(error)) < 3_000


@pytest.mark.parametrize(
    ("constraint", "error_class", "text"),
    [
        (CHECK, "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION", "(id > 0)"),
        (NOT_NULL, "DELTA_NEW_NOT_NULL_VIOLATION", "s.`a b`"),
    ],
)
def test_a_new_constraint_is_refused_with_the_number_of_rows(constraint, error_class, text):
    error = new_constraint_violation(constraint, num_violations=12, table="/t", version=1, rows=[{"id": 0}] * 9)
    assert (error.error_class, error.sql_state, error.num_violations, len(error.rows)) == (error_class, "23512", 12, 5)
    assert text in str(error)


def test_the_error_is_caught_as_a_value_error_too():
    with pytest.raises(ValueError):
        raise violation(CHECK, [])
    assert issubclass(ConstraintViolationError, DeltaError)
    assert pickle.dumps(CHECK)
