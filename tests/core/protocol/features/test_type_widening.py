# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test

from bayou.protocol.actions.actions import Protocol
from bayou.protocol.features.type_widening import (
    TYPE_CHANGES,
    Widening,
    is_widening,
    notes_versions,
    record_type_changes,
    with_noted_version,
    without_type_changes,
)
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType, schema_to_json
from bayou.testing.table_builder import TableBuilder, add

TYPES = [
    *("byte", "short", "integer", "long", "float", "double", "string", "boolean", "date", "timestamp", "timestamp_ntz", "void"),
    *("decimal(5,0)", "decimal(10,0)", "decimal(10,2)", "decimal(12,2)", "decimal(12,4)", "decimal(20,0)", "decimal(38,10)"),
]
KINDS = st.sampled_from(TYPES)


@in_one_test(
    ("from_type", "to_type", "modes"),
    [
        ("byte", "short", {Widening.ICEBERG, Widening.SAME_FAMILY, Widening.ALWAYS}),
        ("byte", "long", {Widening.ICEBERG, Widening.SAME_FAMILY, Widening.ALWAYS}),
        ("integer", "long", {Widening.ICEBERG, Widening.SAME_FAMILY, Widening.ALWAYS}),
        ("float", "double", {Widening.ICEBERG, Widening.SAME_FAMILY, Widening.ALWAYS}),
        ("decimal(10,2)", "decimal(12,2)", {Widening.ICEBERG, Widening.SAME_FAMILY, Widening.ALWAYS}),
        ("decimal(10,2)", "decimal(12,4)", {Widening.SAME_FAMILY, Widening.ALWAYS}),
        ("date", "timestamp_ntz", {Widening.SAME_FAMILY, Widening.ALWAYS}),
        ("integer", "double", {Widening.ALWAYS}),
        ("byte", "decimal(10,0)", {Widening.ALWAYS}),
        ("integer", "decimal(12,2)", {Widening.ALWAYS}),
        ("long", "decimal(20,0)", {Widening.ALWAYS}),
        ("byte", "decimal(9,0)", set()),
        ("integer", "decimal(11,2)", set()),
        ("long", "decimal(19,0)", set()),
        ("long", "double", set()),
        ("integer", "float", set()),
        ("decimal(10,2)", "decimal(11,4)", set()),
        ("decimal(10,2)", "decimal(12,1)", set()),
        ("decimal(10,0)", "long", set()),
        ("long", "integer", set()),
        ("double", "float", set()),
        ("date", "timestamp", set()),
        ("integer", "string", set()),
        ("void", "long", set()),
        ("long", "long", set()),
    ],
)
def test_each_mode_allows_its_changes(from_type, to_type, modes):
    assert {mode for mode in Widening if is_widening(from_type, to_type, mode)} == modes


@given(KINDS, KINDS, st.sampled_from(Widening))
def test_no_change_goes_both_ways(one, other, widening):
    assert not (is_widening(one, other, widening) and is_widening(other, one, widening))


@given(KINDS, KINDS, KINDS, st.sampled_from([Widening.ICEBERG, Widening.SAME_FAMILY]))
def test_two_changes_within_a_family_are_one(one, two, three, widening):
    if is_widening(one, two, widening) and is_widening(two, three, widening):
        assert is_widening(one, three, widening)


@given(KINDS, KINDS)
def test_a_narrower_mode_allows_nothing_more(one, other):
    order = [Widening.NEVER, Widening.ICEBERG, Widening.SAME_FAMILY, Widening.ALWAYS]
    allowed = [is_widening(one, other, mode) for mode in order]
    assert allowed == sorted(allowed)


def struct(**columns):
    return StructType(tuple(StructField(name, kind) for name, kind in columns.items()))


def test_changes_are_recorded_at_the_nearest_field_with_the_path_inside_it():
    before = struct(a="byte", e=ArrayType(MapType("float", "decimal(6,2)")), s=ArrayType(struct(x="date", y="long")))
    after = struct(
        S=ArrayType(struct(X="timestamp_ntz", y="long")), e=ArrayType(MapType("double", "decimal(10,4)")), a="short", n="long"
    )
    recorded = record_type_changes(after, before)
    assert recorded.names == after.names
    assert recorded.field("a").metadata == {TYPE_CHANGES: [{"fromType": "byte", "toType": "short"}]}
    assert recorded.field("e").metadata == {
        TYPE_CHANGES: [
            {"fromType": "float", "toType": "double", "fieldPath": "element.key"},
            {"fromType": "decimal(6,2)", "toType": "decimal(10,4)", "fieldPath": "element.value"},
        ]
    }
    assert not recorded.field("s").metadata
    assert recorded.field("s").type.element_type.field("x").metadata == {
        TYPE_CHANGES: [{"fromType": "date", "toType": "timestamp_ntz"}]
    }
    assert not recorded.field("n").metadata


def test_earlier_changes_and_other_metadata_stay():
    earlier = {"comment": "c", TYPE_CHANGES: [{"fromType": "byte", "toType": "short"}]}
    before = StructType((StructField("a", "short", metadata=earlier),))
    after = StructType((StructField("a", "integer", metadata=earlier),))
    (field,) = record_type_changes(after, before).fields
    assert field.metadata == {
        "comment": "c",
        TYPE_CHANGES: [*earlier[TYPE_CHANGES], {"fromType": "short", "toType": "integer"}],
    }
    assert len(earlier[TYPE_CHANGES]) == 1


def test_a_change_that_is_no_widening_is_not_recorded():
    before, after = struct(a="void", b="string", c="long"), struct(a="long", b="string", c="string")
    assert record_type_changes(after, before) == after


def test_the_fields_before_are_found_whatever_their_case():
    (field,) = record_type_changes(struct(a="long"), struct(A="integer")).fields
    assert field.metadata == {TYPE_CHANGES: [{"fromType": "integer", "toType": "long"}]}


def test_a_decimal_spelled_with_spaces_is_no_wider_one():
    assert not is_widening("decimal(10, 2)", "decimal(10,2)")


PREVIEW = Protocol(3, 7, ("typeWidening-preview",), ("typeWidening-preview",))
FINISHED = Protocol(3, 7, ("typeWidening",), ("typeWidening",))
BOTH = Protocol(3, 7, ("typeWidening", "typeWidening-preview"), ("typeWidening", "typeWidening-preview"))


def test_only_tables_of_the_preview_note_versions():
    assert all(map(notes_versions, (PREVIEW, BOTH)))
    assert not any(map(notes_versions, (FINISHED, Protocol(1, 2))))


def test_notes_without_a_version_get_one_at_every_depth_and_others_keep_theirs():
    inner = struct(x="long")
    before = struct(a="integer", m=MapType("integer", ArrayType(struct(x="integer"))))
    after = record_type_changes(struct(a="long", m=MapType("long", ArrayType(inner))), before)
    noted = with_noted_version(after, 7)
    assert noted.field("a").metadata[TYPE_CHANGES] == [{"tableVersion": 7, "fromType": "integer", "toType": "long"}]
    change = {"tableVersion": 7, "fromType": "integer", "toType": "long", "fieldPath": "key"}
    assert noted.field("m").metadata[TYPE_CHANGES] == [change]
    (nested,) = noted.field("m").type.value_type.element_type.fields
    assert nested.metadata[TYPE_CHANGES] == [{"tableVersion": 7, "fromType": "integer", "toType": "long"}]
    assert with_noted_version(noted, 9) == noted
    assert without_type_changes(noted) == struct(a="long", m=MapType("long", ArrayType(inner)))


def test_a_commit_notes_the_version_that_it_becomes(tmp_path):
    widened = record_type_changes(struct(a="long"), struct(a="integer"))
    for protocol, expected in ((PREVIEW, 3), (FINISHED, None)):
        path = str(tmp_path / protocol.writer_features[0])
        builder = TableBuilder(path).create(
            struct(a="integer"), protocol=protocol, configuration={"delta.enableTypeWidening": "true"}
        )
        builder.commit(add("a.parquet"))
        log = builder.log()
        snapshot = log.update()
        with log.transaction("CHANGE COLUMN", snapshot=snapshot) as transaction:
            builder.commit(add("b.parquet"))
            transaction.commit([replace(snapshot.metadata, schema_string=schema_to_json(widened))])
        assert log.update().version == 3
        assert log.update().schema.field("a").metadata[TYPE_CHANGES][0].get("tableVersion") == expected
