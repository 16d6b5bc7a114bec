# SPDX-License-Identifier: Apache-2.0
"""Values that statements store: casts by the session's policy, defaults, structs by their names, and CHAR columns."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from tests.support.operations.statements import rows, setting

import bayou
from bayou.errors import CastOverflowError, SchemaMismatchError


def test_the_strict_policy_refuses_what_may_lose_something(spark, people):
    with setting(spark, "spark.sql.storeAssignmentPolicy", "STRICT"):
        with pytest.raises(SchemaMismatchError) as caught:
            spark.sql(f"merge into {people} t using (select 1L id) s on t.id = s.id when matched then update set id = 2.5D")
        assert caught.value.error_class == "CANNOT_UP_CAST_DATATYPE"
        with pytest.raises(SchemaMismatchError):
            bayou.DeltaTable.forName(spark, people).update(set={"id": "'7'"})
        bayou.DeltaTable.forName(spark, people).update("id = 1", set={"id": "cast(5 as short)", "name": "null"})
    assert rows(spark, people) == [(2, "b"), (5, None)]


@pytest.mark.smoke
def test_values_of_an_update_are_cast_by_the_sessions_policy_for_what_is_stored(spark, people):
    with setting(spark, "spark.sql.storeAssignmentPolicy", "LEGACY"):
        spark.sql(f"update {people} set id = 'five' where id = 1")
    assert rows(spark, people) == [(2, "b"), (None, "a")]
    with pytest.raises(CastOverflowError):
        spark.sql(f"update {people} set id = 1e30D where id = 2")
    with setting(spark, "spark.sql.storeAssignmentPolicy", "STRICT"), pytest.raises(SchemaMismatchError):
        spark.sql(f"update {people} set id = '7' where id = 2")


@pytest.mark.smoke
def test_structs_in_an_update_go_by_their_names_wherever_they_are(spark, table_path):
    target = f"delta.`{table_path}`"
    spark.sql(f"create table {target} (id int, s struct<a: int, b: string>, l array<struct<a: int, b: string>>) using delta")
    spark.sql(f"insert into {target} values (1, null, null)")
    spark.sql(f"update {target} set s = named_struct('b', 'x', 'a', 5), l = array(named_struct('b', 'y', 'a', 6))")
    assert tuple(spark.sql(f"select s.a, s.b, l[0].a, l[0].b from {target}").first()) == (5, "x", 6, "y")
    with pytest.raises(SchemaMismatchError, match="All nested columns must match"):
        spark.sql(f"update {target} set s = named_struct('a', 5)")
    spark.sql(f"update {target} t set t.s.a = 9 where t.s.b = 'x'")
    assert spark.sql(f"select s.a from {target}").first()[0] == 9


@pytest.mark.smoke
def test_an_update_to_default_sets_the_columns_default(spark, table_path):
    target = f"delta.`{table_path}`"
    feature = "tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
    spark.sql(f"create table {target} (id int, v int default 7, w int) using delta {feature}")
    for way in ("statement", "method"):
        spark.sql(f"insert overwrite {target} values (1, 2, 3)")
        if way == "statement":
            spark.sql(f"update {target} as t set t.v = default, w = default where id = 1")
        else:
            bayou.DeltaTable.forPath(spark, table_path).update("id = 1", {"v": "default", "w": "DEFAULT"})
        assert tuple(spark.sql(f"select * from {target}").first()) == (1, 7, None)


def test_a_field_has_no_default(spark, table_path):
    spark.sql(f"create table delta.`{table_path}` (id int, s struct<a: int, b: int>) using delta")
    spark.sql(f"insert into delta.`{table_path}` values (1, named_struct('a', 1, 'b', 2))")
    merge = f"merge into delta.`{table_path}` t using (select 1 id) n on t.id = n.id when matched then update set"
    for text in (f"update delta.`{table_path}` set s.a = default", f"{merge} s.a = default"):
        with pytest.raises(AnalysisException):
            spark.sql(text)
    with pytest.raises(AnalysisException):
        bayou.DeltaTable.forPath(spark, table_path).update(set={"s.a": "default"})
    assert spark.sql(f"select s.a from delta.`{table_path}`").first()[0] == 1


@pytest.mark.smoke
def test_rows_are_found_by_values_of_char_columns_that_were_set(spark, table_path):
    target = f"delta.`{table_path}`"
    spark.sql(f"create table {target} (id int, c char(5)) using delta")
    spark.sql(f"insert into {target} values (1, 'x'), (2, 'ab'), (3, 'y')")
    spark.sql(f"update {target} set c = 'ab' where id = 1")
    bayou.DeltaTable.forPath(spark, table_path).update("id = 3", {"c": "'ab'"})
    assert spark.sql(f"select count(*) from {target} where c = 'ab'").first()[0] == 3
    spark.sql(f"update {target} set id = id + 10 where c = 'ab'")
    bayou.DeltaTable.forPath(spark, table_path).update("c = 'ab   '", {"id": "id + 10"})
    assert sorted(row[0] for row in spark.sql(f"select id from {target}").collect()) == [21, 22, 23]
    spark.sql(f"merge into {target} t using (select 'ab' k) s on t.c = s.k or t.c = rpad(s.k, 5, ' ') when matched then delete")
    assert spark.sql(f"select count(*) from {target}").first()[0] == 0


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("vectors", ["true", "false"])
def test_values_of_chars_in_structs_arrays_and_maps_are_compared_as_a_query_compares_them(spark, table_path, vectors):
    target = f"delta.`{table_path}`"
    spark.sql(
        f"create table {target} (id int, c char(3), s struct<x: char(2), y: int>, a array<char(2)>,"
        f" m map<char(2), struct<z: char(2)>>) using delta tblproperties ('delta.enableDeletionVectors' = '{vectors}')"
    )
    values = "'{0}', named_struct('x', '{0}', 'y', 1), array('{0}'), map('{0}', named_struct('z', '{0}'))"
    for number, text in enumerate("abcdefg"):
        spark.sql(f"insert into {target} select {number}, {values.format(text)}")
    spark.sql(f"insert into {target} (id) values (9)")
    conditions = ["s.x = 'a'", "a[0] = 'a'", "m['a'].z = 'a'", "length(s.x) = 1", "c like 'a'", "s.x like 'a'"]
    for condition in conditions:
        assert spark.sql(f"select * from {target} where {condition}").count() == 0
        assert bayou.DeltaTable.forPath(spark, table_path).delete(condition).num_affected_rows == 0
        spark.sql(f"update {target} set id = 100 where {condition}")
    spark.sql(f"delete from {target} where s.x = 'a '")
    spark.sql(f"delete from {target} where a[0] = 'b '")
    bayou.DeltaTable.forPath(spark, table_path).delete("m['c '].z = 'c '")
    spark.sql(f"update {target} set id = 20 where s.x = 'd ' and length(s.x) = 2")
    spark.sql(f"merge into {target} t using (select 'e ' k) s on t.s.x = s.k when matched then delete")
    assert sorted(row[0] for row in spark.sql(f"select id from {target}").collect()) == [5, 6, 9, 20]
    assert spark.sql(f"select s, a, m from {target} where id = 9").first()[:] == (None, None, None)


def test_values_may_be_cast_as_the_session_casts_any_others(spark, people):
    follows = "spark.databricks.delta.updateAndMergeCastingFollowsAnsiEnabledFlag"
    with setting(spark, follows, "true"), setting(spark, "spark.sql.ansi.enabled", "false"):
        spark.sql(f"update {people} set id = 'five' where id = 1")
    assert rows(spark, people) == [(2, "b"), (None, "a")]
