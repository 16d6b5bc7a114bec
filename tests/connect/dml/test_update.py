# SPDX-License-Identifier: Apache-2.0
"""UPDATE on a Connect session, read back by delta-rs."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.connect.dml.conftest import FEED, VECTORS, WAYS, all_rows

import bayou
from bayou.errors import ConcurrentModificationError, DeltaError, SchemaMismatchError


def with_new(**values):
    """The rows of a new table with other values in `v`, by `_` and the id."""
    new = {int(name[1:]): value for name, value in values.items()}
    return sorted((each, part, new.get(each, v)) for each, part, v in all_rows())


@WAYS
def test_rows_that_match_get_new_values(make, rows, ways):
    result = make(ways).update("id in (1, 12)", {"v": "concat(upper(v), '!')"})
    assert (result.num_updated_rows, result.committed) == (2, True)
    assert rows() == with_new(_1="V1!", _12="V12!")


@WAYS
def test_values_are_computed_from_the_old_row(make, rows, ways):
    make(ways).alias("t").update("t.id = 1", {"t.id": "t.id + 100", "V": F.concat(F.col("t.v"), F.col("id").cast("string"))})
    assert rows() == sorted([*all_rows(1), (101, "a", "v11")])


@WAYS
def test_a_row_may_move_to_another_partition(make, rows, ways):
    make(ways).update("id < 2", {"part": "'new'"})
    assert rows() == sorted([*all_rows(0, 1), (0, "new", "v0"), (1, "new", "v1")])


def test_whole_partitions_are_rewritten_without_a_search(make, rows):
    result = make(VECTORS).update("part = 'b'", {"v": "'x'"})
    assert (result.num_updated_rows, result.num_rewritten_files) == (10, 2)
    assert rows() == [(each, part, "x" if part == "b" else v) for each, part, v in all_rows()]


def test_all_rows_are_updated(make, rows):
    assert make().update(set={"v": "null"}).num_updated_rows == 20
    assert [row[2] for row in rows()] == [None] * 20


@WAYS
def test_the_feed_has_old_and_new_rows(make, rows, changes, ways):
    version = make(ways | FEED).update("id = 12", {"v": "'x'"}).version
    assert rows() == with_new(_12="x")
    assert changes(version) == [(12, "v12", "update_preimage"), (12, "x", "update_postimage")]


@WAYS
def test_the_feed_of_values_that_differ_at_each_evaluation_is_written_with_the_rows(make, rows, changes, ways):
    version = make(ways | FEED).update("id = 12", {"v": "uuid()"}).version
    new = next(v for each, _, v in rows() if each == 12)
    assert changes(version) == sorted([(12, "v12", "update_preimage"), (12, new, "update_postimage")])


def test_values_are_cast_to_the_type_of_the_column(make, rows):
    make().update("id = 3", {"id": "'33'", "v": "7"})
    assert rows() == sorted([*all_rows(3), (33, "a", "7")])


def test_a_value_that_the_type_cannot_hold_is_an_error(make, rows):
    with pytest.raises(Exception, match=r"(?i)fail to assign|cannot hold|overflow"):
        make().update("id = 3", {"id": "1e30"})
    assert rows() == all_rows()


def test_no_row_no_commit(make, rows):
    assert not make(VECTORS).update("id = 99", {"v": "'x'"}).committed
    assert rows() == all_rows()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"nothing": "1"}, "nothing"),
        ({"v": "nothing"}, "nothing"),
        ({"v": "'a'", "V": "'b'"}, "v"),
        ({"v.x": "1"}, "v"),
    ],
)
def test_invalid_assignments_are_refused(make, rows, values, message):
    with pytest.raises(SchemaMismatchError, match=message):
        make().update("id = 1", values)
    assert rows() == all_rows()


def test_types_are_checked_even_if_no_row_matches(make):
    table = make()
    assert not table.update("id = 99", {"id": "'33'"}).committed
    with pytest.raises(AnalysisException, match=r"(?i)cast"):
        table.update("id = 99", {"id": "array(1)"})


def test_the_policy_strict_refuses_values_that_may_not_fit(make, rows, spark):
    table = make()
    spark.conf.set("spark.sql.storeAssignmentPolicy", "STRICT")
    try:
        with pytest.raises(SchemaMismatchError, match="`id`"):
            table.update("id = 1", {"id": "1.5"})
        table.update("id = 1", {"id": "cast(101 as int)", "v": "'x'"})
    finally:
        spark.conf.unset("spark.sql.storeAssignmentPolicy")
    assert rows() == sorted([*all_rows(1), (101, "a", "x")])


@pytest.mark.parametrize("value", ["max(id)", "*", "sum(id) over ()", "explode(array(id))"])
def test_only_values_of_a_row_are_allowed(make, value):
    with pytest.raises(AnalysisException):
        make().update("id = 1", {"id": value})


def test_a_concurrent_update_of_the_same_row_conflicts(make, spark, table_path):
    plan = make(VECTORS).plan_update("id = 1", {"v": "'x'"})
    bayou.DeltaTable.forPath(spark, table_path).update("id = 1", {"v": "'y'"})
    with pytest.raises(ConcurrentModificationError):
        plan.execute()


@WAYS
def test_a_concurrent_update_of_another_file_does_not_conflict(make, rows, spark, table_path, ways):
    plan = make(ways).plan_update("id = 1", {"v": "'x'"})
    bayou.DeltaTable.forPath(spark, table_path).update("id = 13", {"v": "'y'"})
    plan.execute()
    assert rows() == with_new(_1="x", _13="y")


def test_an_error_of_a_value_changes_nothing(make, rows):
    with pytest.raises(Exception, match="no such row") as raised:
        make(VECTORS).update("id = 3", {"v": "raise_error('no such row')"})
    assert not isinstance(raised.value, DeltaError) or raised.value
    assert rows() == all_rows()


def test_a_constant_that_the_type_cannot_hold_is_an_error_where_no_row_gets_it(make, rows):
    with pytest.raises(PySparkException, match="CAST_INVALID_INPUT"):
        make().update("id = 1000", {"id": "'x'"})
    assert rows() == all_rows()
