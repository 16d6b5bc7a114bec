# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from bayou.errors import InvalidSchemaError, SchemaMismatchError
from bayou.protocol.evolution.schema_merge import check_write, merge_schemas
from bayou.protocol.features.type_widening import TYPE_CHANGES, Widening
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType

PRIMITIVES = ["byte", "short", "integer", "long", "double", "string", "decimal(10,2)", "decimal(12,2)", "date", "void"]


def struct(**columns):
    return StructType(tuple(StructField(name, kind) for name, kind in columns.items()))


def schemas():
    def structs(children):
        fields = st.builds(StructField, st.sampled_from("abcABC"), children, st.booleans())
        distinct = st.lists(fields, min_size=1, max_size=3, unique_by=lambda field: field.name.lower())
        return distinct.map(lambda found: StructType(tuple(found)))

    types = st.recursive(
        st.sampled_from(PRIMITIVES),
        lambda children: st.one_of(structs(children), children.map(ArrayType), st.builds(MapType, children, children)),
        max_leaves=5,
    )
    return structs(types)


SCHEMAS = schemas()
WIDENINGS = st.sampled_from(Widening)


def merged_or_none(table, given, widening=Widening.NEVER):
    try:
        return merge_schemas(table, given, widening=widening)
    except SchemaMismatchError:
        return None


def fits(table, given):
    try:
        check_write(table, given)
    except SchemaMismatchError:
        return False
    return True


@hypothesis_given(SCHEMAS, SCHEMAS)
def test_rows_fit_exactly_where_a_merge_leaves_the_table_as_it_is(table, given):
    assert fits(table, given) == (merged_or_none(table, given) == table)


@hypothesis_given(SCHEMAS, WIDENINGS)
def test_a_schema_merged_with_itself_stays(schema, widening):
    assert merge_schemas(schema, schema, widening=widening) == schema
    assert fits(schema, schema)


@hypothesis_given(SCHEMAS, SCHEMAS, WIDENINGS)
def test_the_rows_fit_the_merged_schema_and_a_second_merge_changes_nothing(table, given, widening):
    merged = merged_or_none(table, given, widening)
    if merged is not None:
        assert fits(merged, given)
        assert merge_schemas(merged, given, widening=widening) == merged


@hypothesis_given(SCHEMAS, SCHEMAS, WIDENINGS)
def test_a_merge_keeps_the_tables_columns_first_under_their_names(table, given, widening):
    merged = merged_or_none(table, given, widening)
    if merged is not None:
        assert merged.names[: len(table.names)] == table.names
        assert [field.nullable for field in merged.fields[: len(table.fields)]] == [field.nullable for field in table.fields]


@hypothesis_given(SCHEMAS, SCHEMAS, WIDENINGS)
def test_a_check_refuses_exactly_what_does_not_fit_and_names_the_class_by_what_a_merge_could_do(table, given, widening):
    merged = merged_or_none(table, given, widening)
    if fits(table, given):
        check_write(table, given, widening=widening)
        return
    with pytest.raises(SchemaMismatchError) as caught:
        check_write(table, given, widening=widening)
    assert caught.value.problems
    assert caught.value.error_class == ("DELTA_FAILED_TO_MERGE_FIELDS" if merged is None else "DELTA_METADATA_MISMATCH")
    assert ("mergeSchema" in str(caught.value)) == (merged is not None)


def test_new_columns_come_last_in_their_struct_nullable_and_without_what_writers_kept():
    metadata = {"comment": "c", "delta.columnMapping.id": 7, "delta.generationExpression": "1", "CURRENT_DEFAULT": "2"}
    table = struct(a="long", s=ArrayType(struct(x="long")))
    inner = StructType((StructField("y", ArrayType("long", contains_null=False), nullable=False), StructField("X", "long")))
    given = StructType(
        (
            StructField("b", "string", nullable=False, metadata=metadata),
            StructField("S", ArrayType(inner)),
            StructField("A", "long"),
        )
    )
    merged = merge_schemas(table, given)
    expected_inner = StructType((StructField("x", "long"), StructField("y", ArrayType("long"))))
    expected = (
        StructField("a", "long"),
        StructField("s", ArrayType(expected_inner)),
        StructField("b", "string", metadata={"comment": "c"}),
    )
    assert merged == StructType(expected)


def test_the_tables_nullability_and_metadata_stay():
    kept = StructField("a", "long", nullable=False, metadata={"comment": "mine", "delta.columnMapping.id": 1})
    other = StructField("A", "long", metadata={"comment": "theirs", "delta.columnMapping.id": 9})
    assert merge_schemas(StructType((kept,)), StructType((other,))) == StructType((kept,))


@pytest.mark.parametrize(
    ("table", "given", "merged"),
    [
        ("byte", "short", "short"),
        ("byte", "integer", "integer"),
        ("short", "byte", "short"),
        ("short", "integer", "integer"),
        ("integer", "byte", "integer"),
        ("integer", "short", "integer"),
        ("void", "long", "long"),
        ("void", struct(x="long"), struct(x="long")),
        (struct(x="long"), "void", struct(x="long")),
        ("decimal(10,2)", "decimal(10, 2)", "decimal(10,2)"),
    ],
)
def test_what_merges_without_type_widening(table, given, merged):
    result = merge_schemas(struct(a=table), struct(a=given))
    assert result == struct(a=merged)
    assert not result.fields[0].metadata


@pytest.mark.parametrize(
    ("table", "given", "reason"),
    [
        ("integer", "long", "DELTA_MERGE_INCOMPATIBLE_DATATYPE"),
        ("long", "integer", "DELTA_MERGE_INCOMPATIBLE_DATATYPE"),
        ("integer", "double", "DELTA_MERGE_INCOMPATIBLE_DATATYPE"),
        ("float", "double", "DELTA_MERGE_INCOMPATIBLE_DATATYPE"),
        ("string", struct(x="long"), "DELTA_MERGE_INCOMPATIBLE_DATATYPE"),
        (ArrayType("long"), "long", "DELTA_MERGE_INCOMPATIBLE_DATATYPE"),
        ("decimal(10,2)", "decimal(12,2)", "DELTA_MERGE_INCOMPATIBLE_DECIMAL_TYPE"),
        ("decimal(10,2)", "decimal(10,4)", "DELTA_MERGE_INCOMPATIBLE_DECIMAL_TYPE"),
        ("decimal(10,2)", "long", "DELTA_MERGE_INCOMPATIBLE_DATATYPE"),
    ],
)
def test_types_with_nothing_in_common_are_refused_with_path_and_reason(table, given, reason):
    with pytest.raises(SchemaMismatchError) as caught:
        merge_schemas(
            struct(k="long", s=ArrayType(struct(a=table))), struct(S=ArrayType(struct(A=given))), table_uri="/t", version=4
        )
    error = caught.value
    assert (error.error_class, error.sql_state, error.table, error.version) == ("DELTA_FAILED_TO_MERGE_FIELDS", "22005", "/t", 4)
    assert error.columns == ("s.element.a",)
    assert "'s' and 'S'" in str(error)
    assert "column 's.element.a' is " in error.problems[0]
    assert error.__cause__.error_class == reason
    assert "Failed to merge" in str(error.__cause__)


def test_a_merge_names_every_conflict():
    with pytest.raises(SchemaMismatchError) as caught:
        merge_schemas(
            struct(a="long", b="date", m=MapType("long", "long")), struct(b="long", m=MapType("date", "date"), a="string")
        )
    assert caught.value.columns == ("a", "b", "m.key", "m.value")


def test_two_columns_of_one_name_in_the_rows_are_refused():
    for call in (merge_schemas, check_write):
        with pytest.raises(InvalidSchemaError) as caught:
            call(struct(a="long"), struct(a="long", A="long"))
        assert caught.value.error_class == "DELTA_DUPLICATE_COLUMNS_FOUND.DATA"


def test_existing_types_can_be_kept_while_columns_are_added_and_types_widened():
    table = struct(a="long", b="integer", v="void", s=struct(x="date"))
    given = struct(a="string", b="long", v="long", s=struct(x="string", y="long"), c="date")
    kept = merge_schemas(table, given, keeps=lambda *_: True)
    assert kept == struct(a="long", b="integer", v="void", s=struct(x="date", y="long"), c="date")
    widened = merge_schemas(table, given, keeps=lambda *_: True, widening=Widening.ALWAYS)
    assert widened.field("b").type == "long"


def test_a_column_keeps_its_type_for_values_that_are_cast_to_it_alone():
    table, given = struct(a="long", s=struct(x="date")), struct(a="string", s=struct(x="timestamp"))
    asked = []
    assert merge_schemas(table, given, keeps=lambda *pair: asked.append(pair) or True) == table
    assert asked == [("long", "string"), ("date", "timestamp")]
    with pytest.raises(SchemaMismatchError) as caught:
        merge_schemas(table, given, keeps=lambda wanted, _: wanted == "long")
    assert caught.value.facts["columns"] == ("s.x",)


def test_a_widened_type_is_recorded_where_the_table_allows_it():
    table = struct(a="integer", s=struct(x=ArrayType("float")))
    given = struct(a="long", s=struct(x=ArrayType("double")))
    merged = merge_schemas(table, given, widening=Widening.SAME_FAMILY)
    assert merged.fields[0] == StructField("a", "long", metadata={TYPE_CHANGES: [{"fromType": "integer", "toType": "long"}]})
    (nested,) = merged.field("s").type.fields
    assert nested.metadata == {TYPE_CHANGES: [{"fromType": "float", "toType": "double", "fieldPath": "element"}]}
    assert not merged.field("s").metadata


def test_a_byte_that_becomes_a_short_without_type_widening_is_not_recorded():
    (merged,) = merge_schemas(struct(a="byte"), struct(a="short")).fields
    assert merged == StructField("a", "short")


TYPES = {"bigint", "date", "int", "string", "timestamp"}


def names(problems):
    """The column that each problem is about."""
    return [each.split("'")[1] for each in problems]


def refusal(table, given, **facts):
    with pytest.raises(SchemaMismatchError) as caught:
        check_write(table, given, table_uri="/t", version=5, **facts)
    assert (caught.value.table, caught.value.version) == ("/t", 5)
    return caught.value


def test_columns_in_any_order_and_missing_ones_fit():
    table = StructType(
        (StructField("a", "long", nullable=False), StructField("s", struct(x="long", y="date")), StructField("z", "long"))
    )
    check_write(table, struct(S=struct(Y="date", x="long"), a="long"))


def test_nullability_and_metadata_are_no_difference():
    given = StructType((StructField("a", ArrayType("long", contains_null=False), nullable=False, metadata={"comment": "x"}),))
    check_write(struct(a=ArrayType("long")), given)


def test_columns_that_are_not_in_the_table_ask_for_merge_schema():
    error = refusal(struct(a="long", s=struct(x="long")), struct(a="long", b="date", s=struct(y="long")), table_id="id-1")
    assert error.error_class == "DELTA_METADATA_MISMATCH"
    assert error.sql_state == "42KDG"
    assert names(error.problems) == ["b", "s.y"]
    text = str(error)
    assert "A schema mismatch detected when writing to the Delta table (Table ID: id-1)" in text
    assert "To enable schema migration using DataFrameWriter or DataStreamWriter, please set:" in text
    assert '\'.option("mergeSchema", "true")\'' in text
    assert "Table schema:\na: bigint, s: struct<x:bigint>" in text
    assert "Data schema:\na: bigint, b: date, s: struct<y:bigint>" in text
    assert "overwriteSchema" not in text


def test_all_differences_are_listed_with_both_types():
    table = struct(a="long", l=ArrayType("date"), m=MapType("string", struct(x="integer")))
    error = refusal(table, struct(a="string", l=ArrayType("timestamp"), m=MapType("long", struct(x="long", q="long"))))
    types = [("bigint", "string"), ("date", "timestamp"), ("string", "bigint"), ("int", "bigint"), ()]
    assert names(error.problems) == ["a", "l.element", "m.key", "m.value.x", "m.value.q"]
    assert [tuple(word for word in each.split() if word in TYPES) for each in error.problems] == types
    assert error.error_class == "DELTA_FAILED_TO_MERGE_FIELDS"
    assert "'a' and 'a'" in str(error)
    assert "mergeSchema" not in str(error)


def test_a_type_that_a_merge_would_widen_asks_for_merge_schema():
    assert refusal(struct(a="integer"), struct(a="long")).error_class == "DELTA_FAILED_TO_MERGE_FIELDS"
    assert refusal(struct(a="integer"), struct(a="long"), widening=Widening.ALWAYS).error_class == "DELTA_METADATA_MISMATCH"


def test_the_schemas_are_left_out_where_they_are_long():
    wide = StructType(tuple(StructField(f"c{i}", "long") for i in range(40)))
    assert "Table schema:" not in str(refusal(wide, struct(x="long")))


def test_an_overwrite_with_another_schema_is_told_how_to_replace_the_schema():
    assert '\'.option("overwriteSchema", "true")\'' in str(refusal(struct(a="long"), struct(b="long"), overwrite=True))


def test_other_partition_columns_are_refused():
    table = struct(a="long", p="long", q="long")
    error = refusal(table, table, partition_columns=("p",), partition_by=("q", "p"))
    assert error.error_class == "DELTA_METADATA_MISMATCH"
    assert "Given: [q, p] Table: [p]" in str(error)
    assert error.next_step == "Leave the partition columns out, or give those of the table."
    assert "overwriteSchema" in refusal(table, table, partition_by=("p",), overwrite=True).next_step
    assert len(error.problems) == 1
    assert refusal(table, table, partition_by=("p",)).error_class == "DELTA_METADATA_MISMATCH"
    check_write(table, table, partition_columns=("p", "q"), partition_by=("P", "Q"))
    check_write(table, table, partition_columns=("p", "q"))


def test_rows_without_a_partition_column_are_refused():
    error = refusal(struct(a="long", p="long"), struct(a="long"), partition_columns=("p",))
    assert error.error_class == "DELTA_PARTITION_COLUMN_NOT_FOUND"
    assert names(error.problems) == ["p"]


@pytest.mark.parametrize("given", [struct(p="long"), struct(P="long", a="void")])
def test_rows_with_nothing_but_partition_columns_are_refused(given):
    error = refusal(struct(a="long", p="long"), given, partition_columns=("p",))
    assert error.error_class == "DELTA_NON_PARTITION_COLUMN_ABSENT"
    assert error.sql_state == "KD005"


@pytest.mark.parametrize("kind", ["void", "byte", "short", "integer"])
def test_void_and_narrower_integers_fit(kind):
    check_write(struct(a="integer", l=ArrayType("integer")), struct(a=kind, l=ArrayType(kind)))


def test_names_that_need_column_mapping_can_be_merged_and_compared():
    table, given = struct(**{"a b": "long"}), struct(**{"A B": "long", "c=d": "date"})
    assert merge_schemas(table, given).names == ("a b", "c=d")
    assert names(refusal(table, given).problems) == ["c=d"]
