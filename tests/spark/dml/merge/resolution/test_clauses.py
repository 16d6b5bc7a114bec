# SPDX-License-Identifier: Apache-2.0
"""What a MERGE may be told: its clauses, the names in them, their conditions; and what is refused."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812
from tests.spark.dml.merge.merges import TEN, counts, make, source
from tests.support.tables.queried import rows

import bayou
from bayou.errors import InvalidOptionError, InvalidSchemaError, SchemaMismatchError, UnsupportedFeatureError


def test_an_update_that_sets_nothing_is_left_out(spark, table_path):
    table = make(spark, table_path, TEN)
    new = source(spark, "select 1L id")
    with pytest.raises(InvalidOptionError) as error:
        table.merge(new, "t.id = s.id").whenMatchedUpdate(set={}).execute()
    assert error.value.error_class == "DELTA_MERGE_MISSING_WHEN"


def test_only_the_last_clause_of_a_kind_may_have_no_condition(spark, table_path):
    table = make(spark, table_path, TEN)
    begun = table.merge(source(spark, "select 1L id, 1L p, 1L v"), "t.id = s.id")
    for builder, name in (
        (begun.whenMatchedDelete().whenMatchedUpdateAll("s.id = 1"), "MATCHED"),
        (begun.whenNotMatchedInsertAll().whenNotMatchedInsertAll("s.id = 1"), "NOT_MATCHED"),
        (begun.whenNotMatchedBySourceDelete().whenNotMatchedBySourceDelete("t.id = 1"), "NOT_MATCHED_BY_SOURCE"),
    ):
        with pytest.raises(AnalysisException) as error:
            builder.execute()
        assert error.value.getErrorClass() == f"DELTA_NON_LAST_{name}_CLAUSE_OMIT_CONDITION"


def test_arguments_are_checked_as_delta_spark_checks_them(spark, table_path):
    table = make(spark, table_path, TEN)
    new = source(spark, "select 1L id")
    for call, error, text in (
        (lambda: table.merge(None, "1 = 1"), ValueError, "'source' in merge cannot be None"),
        (lambda: table.merge("s", "1 = 1"), TypeError, "Type of 'source' in merge must be DataFrame."),
        (lambda: table.merge(new, None), ValueError, "'condition' in merge cannot be None"),
        (lambda: table.merge(new, 1), TypeError, "'condition' must be a Spark SQL Column or a string"),
        (lambda: table.merge(new, "1 = 1").whenMatchedUpdate(), ValueError, "'set' in whenMatchedUpdate cannot be None"),
        (lambda: table.merge(new, "1 = 1").whenMatchedUpdate(set=["v"]), TypeError, "'set' in whenMatchedUpdate must be a dict"),
        (lambda: table.merge(new, "1 = 1").whenMatchedUpdate(set={1: "v"}), TypeError, "Keys of dict in 'set'"),
        (lambda: table.merge(new, "1 = 1").whenNotMatchedInsert(values={"v": 1}), TypeError, "Values of dict in 'values'"),
        (lambda: table.merge(new, "1 = 1").whenMatchedDelete(1), TypeError, "'condition' must be a Spark SQL Column"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_names_are_resolved_against_the_side_that_a_clause_is_about(spark, table_path):
    table = make(spark, table_path, TEN)
    new = source(spark, "select id, id w from range(8, 12)")
    begun = table.merge(new, "t.id = s.id")
    for builder in (
        begun.whenMatchedUpdate(set={"v": "nothing"}),
        begun.whenMatchedUpdate(set={"nothing": "1"}),
        begun.whenNotMatchedInsert(values={"id": "t.id"}),
        begun.whenNotMatchedInsert("t.id = 1", {"id": "s.id"}),
        begun.whenNotMatchedBySourceUpdate(set={"v": "s.w"}),
        begun.whenMatchedUpdateAll(),
        begun.whenNotMatchedInsertAll(),
    ):
        with pytest.raises(SchemaMismatchError) as error:
            builder.execute()
        assert isinstance(error.value, AnalysisException)
        assert error.value.error_class == "DELTA_MERGE_UNRESOLVED_EXPRESSION"
    with pytest.raises(SchemaMismatchError, match="AMBIGUOUS") as error:
        begun.whenMatchedDelete("id = 8").execute()
    assert isinstance(error.value, AnalysisException)
    assert (error.value.column, set(error.value.columns[1:-1].split(", "))) == ("`id`", {"`t`.`id`", "`s`.`id`"})
    # Without ambiguity no name needs a qualifier, and case does not count.
    begun.whenMatchedUpdate("W = 8", {"V": "w + v"}).whenNotMatchedInsert("w = 10", {"Id": "ID"}).execute()
    assert {(8, 16), (9, 9), (10, None)} <= set(rows(table, "id", "v"))


def test_conditions_may_be_columns_of_the_source(spark, table_path):
    table = make(spark, table_path, TEN)
    new = spark.sql("select id k, id * 3 w from range(8, 12)")
    builder = table.merge(new, F.col("t.id") == new.k).whenMatchedUpdate(new.w == 24, {"v": new.w + F.col("t.v")})
    assert counts(builder.execute()) == (1, 0, 0)
    assert (8, 32) in rows(table, "id", "v")


def test_conditions_must_be_deterministic_and_have_no_subquery_or_aggregate(spark, table_path):
    table = make(spark, table_path, TEN)
    new = source(spark, "select 1L id, 1L p, 1L v")
    for builder, name in (
        (table.merge(new, "t.id = s.id and rand() > 0.5").whenMatchedDelete(), "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
        (table.merge(new, "t.id = s.id").whenMatchedDelete("rand() > 2"), "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
        (table.merge(new, "t.id = (select 1)").whenMatchedDelete(), "DELTA_UNSUPPORTED_SUBQUERY"),
        (table.merge(new, "t.id = s.id").whenMatchedDelete("t.id in (select 1)"), "DELTA_UNSUPPORTED_SUBQUERY"),
        (table.merge(new, "max(t.id) = 1").whenMatchedDelete(), "DELTA_AGGREGATION_NOT_SUPPORTED"),
        (table.merge(new, "t.id = s.id").whenMatchedDelete("t.id = max(s.v)"), "DELTA_AGGREGATION_NOT_SUPPORTED"),
    ):
        with pytest.raises(UnsupportedFeatureError, match=r"not supported in the (search|DELETE) condition of MERGE") as error:
            builder.execute()
        assert error.value.error_class == name
    with pytest.raises(SchemaMismatchError, match="not a boolean") as refused:
        table.merge(new, "t.id + s.id").whenMatchedDelete().execute()
    assert refused.value.error_class == "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE"
    with pytest.raises(SchemaMismatchError, match="not a boolean") as refused:
        table.merge(new, "t.id = s.id").whenMatchedDelete("t.id + s.id").execute()
    assert refused.value.error_class == "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"


@pytest.mark.parametrize("value", ["max(s.v)", "row_number() over (order by s.v)", "explode(array(1L))"])
@pytest.mark.parametrize("clause", ["whenMatchedUpdate", "whenNotMatchedInsert", "whenNotMatchedBySourceUpdate"])
def test_a_value_that_is_no_expression_over_a_row_is_refused_as_spark_refuses_it(spark, table_path, clause, value):
    table = make(spark, table_path, TEN)
    given = value.replace("s.v", "t.v") if "BySource" in clause else value
    builder = getattr(table.merge(source(spark, "select 1L id, 1L p, 1L v"), "t.id = s.id"), clause)(None, {"v": given})
    with pytest.raises(AnalysisException, match=r"UNSUPPORTED_(EXPR_FOR_OPERATOR|GENERATOR)"):
        builder.execute()
    assert len(list(bayou.open(table_path).history())) == 1


def test_columns_are_set_once_and_nested_ones_are_not_inserted(spark, table_path):
    table = make(spark, table_path, "select 1 id, named_struct('a', 1, 'b', 2) s")
    begun = table.merge(spark.sql("select 1 id, 5 x").alias("n"), "t.id = n.id")
    for builder, kind, name in (
        (begun.whenMatchedUpdate(set={"s": "s", "s.a": "1"}), SchemaMismatchError, "DELTA_CONFLICT_SET_COLUMN"),
        (begun.whenNotMatchedInsert(values={"id": "1", "ID": "2"}), InvalidSchemaError, "DELTA_DUPLICATE_COLUMNS_ON_INSERT"),
        (
            begun.whenNotMatchedInsert(values={"s.a": "1"}),
            UnsupportedFeatureError,
            "DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION",
        ),
    ):
        with pytest.raises(kind) as error:
            builder.execute()
        assert error.value.error_class == name
    begun.whenMatchedUpdate(set={"s.b": "n.x"}).execute()
    assert table.toDF().select("s.a", "s.b").collect()[0] == (1, 5)
