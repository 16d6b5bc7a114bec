# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import InvalidSchemaError
from bayou.protocol.types.paths import TableRules, edit_at, first_conflict, type_at
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType
from bayou.protocol.types.traverse import walk

RULES = TableRules("/t", 3)
TYPES = st.recursive(
    st.sampled_from(["long", "string"]),
    lambda children: st.one_of(
        children.map(ArrayType),
        st.builds(MapType, children, children),
        st.lists(children, min_size=1, max_size=3).map(
            lambda kinds: StructType(tuple(StructField(f"c{i}", kind) for i, kind in enumerate(kinds)))
        ),
    ),
    max_leaves=6,
)
SCHEMAS = TYPES.map(lambda kind: StructType((StructField("a", kind), StructField("b", "date"))))


@given(SCHEMAS, st.data())
def test_every_path_of_a_walk_leads_to_its_type_and_edits_only_that(schema, data):
    nodes = list(walk(schema))
    path, kind = data.draw(st.sampled_from(nodes[1:]))
    upper = tuple(name.upper() for name in path)
    assert type_at(schema, upper, RULES) == kind
    edited = edit_at(schema, upper, lambda _: "binary", RULES)
    assert type_at(edited, path, RULES) == "binary"
    assert edit_at(edited, path, lambda _: kind, RULES) == schema


def test_the_empty_path_leads_to_the_schema():
    schema = StructType((StructField("a", "long"),))
    assert type_at(schema, (), RULES) == schema
    with pytest.raises(TypeError):
        edit_at(schema, (), lambda _: "long", RULES)


@pytest.mark.parametrize(
    ("path", "error_class", "sql_state", "named"),
    [
        (("z",), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "42703", ("column",)),
        (("l", "x"), "DELTA_INCORRECT_ARRAY_ACCESS_BY_NAME", "KD003", ("l ", "l.element")),
        (("m", "x"), "DELTA_FOUND_MAP_TYPE_COLUMN", "KD003", ("m,", "m.key", "m.value")),
        (("a", "x"), "DELTA_COLUMN_PATH_NOT_NESTED", "42704", (" a ",)),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path, error_class, sql_state, named):
    fields = (StructField("a", "long"), StructField("l", ArrayType("long")), StructField("m", MapType("long", "long")))
    with pytest.raises(InvalidSchemaError) as caught:
        edit_at(StructType(fields), path, lambda kind: kind, RULES)
    assert (caught.value.error_class, caught.value.sql_state) == (error_class, sql_state)
    assert all(name in caught.value.next_step for name in named)
    assert (caught.value.table, caught.value.version) == ("/t", 3)


PATHS = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple), max_size=6)


def overlap(one, other):
    return one[: len(other)] == other or other[: len(one)] == one


@given(PATHS)
def test_the_first_path_that_overlaps_an_earlier_one_is_told_with_the_first_such(paths):
    pairs = [(first, second) for second in range(len(paths)) for first in range(second) if overlap(paths[first], paths[second])]
    assert first_conflict(paths) == (pairs[0] if pairs else None)


def test_each_path_is_looked_at_once():
    class Name(str):
        __slots__ = ()
        looks = 0

        def __hash__(self):
            Name.looks += 1
            return super().__hash__()

        def __eq__(self, other):
            Name.looks += 1
            return super().__eq__(other)

    def looks(count):
        Name.looks = 0
        assert first_conflict([(Name(f"c{number}"),) for number in range(count)]) is None
        return Name.looks

    assert looks(1_000) <= 10 * looks(100) + 100
