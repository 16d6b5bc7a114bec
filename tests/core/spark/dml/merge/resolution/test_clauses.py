# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.errors import InvalidOptionError
from bayou.spark.dml.merge.resolution.clauses import Action, Clause, Kind, check_clauses

DELETE = Clause(Kind.MATCHED, Action.DELETE)


def test_a_merge_needs_a_clause():
    with pytest.raises(InvalidOptionError) as error:
        check_clauses([], "/t")
    assert (error.value.error_class, error.value.sql_state) == ("DELTA_MERGE_MISSING_WHEN", "42601")


@pytest.mark.parametrize("kind", Kind)
def test_only_the_last_clause_of_a_kind_may_have_no_condition(kind):
    action = Action.INSERT if kind is Kind.NOT_MATCHED else Action.UPDATE
    plain, some = Clause(kind, action), Clause(kind, action, "x > 1")
    check_clauses([some, some, plain], "/t")
    with pytest.raises(InvalidOptionError) as error:
        check_clauses([plain, some], "/t")
    assert error.value.error_class == f"DELTA_NON_LAST_{kind.value}_CLAUSE_OMIT_CONDITION"


def test_clauses_of_different_kinds_do_not_mind_each_other():
    check_clauses([DELETE, Clause(Kind.NOT_MATCHED, Action.INSERT), Clause(Kind.NOT_MATCHED_BY_SOURCE, Action.DELETE)], "/t")


def test_what_a_clause_says_of_itself():
    star, nothing = Clause(Kind.MATCHED, Action.UPDATE), Clause(Kind.MATCHED, Action.UPDATE, None, {})
    assert (star.is_star, star.does_nothing, star.pairs) == (True, False, [])
    assert (nothing.is_star, nothing.does_nothing) == (False, True)
    assert (DELETE.is_star, DELETE.does_nothing) == (False, False)
    assert not Clause(Kind.MATCHED, Action.UPDATE, "x", {}).does_nothing
    assert Clause(Kind.MATCHED, Action.UPDATE, None, {"a": "b"}).pairs == [("a", "b")]
    assert Clause(Kind.MATCHED, Action.UPDATE, None, [("a", "b"), ("a", "c")]).pairs == [("a", "b"), ("a", "c")]
