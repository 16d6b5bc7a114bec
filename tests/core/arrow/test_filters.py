# SPDX-License-Identifier: Apache-2.0
"""A filter keeps the rows for which Spark finds it true: judged by the truth of each row, in plain Python."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.arrow.tables import snapshot, without_rows
from tests.support.drawing import drawing
from tests.support.tables.spark_semantics import truth

from bayou import errors
from bayou.plan.predicates.predicate import (
    And,
    Boolean,
    Column,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    Or,
    StartsWith,
    Unknown,
)
from bayou.protocol.types.schema import StructField, StructType

NAN = math.nan
VALUES = {
    ("i",): ("integer", [None, -1, 0, 1, 2]),
    ("d",): ("double", [None, -0.0, 0.0, 1.5, NAN, -math.inf]),
    ("t",): ("string", [None, "", "a", "ab", "é"]),
    ("s", "x"): ("long", [None, 0, 5]),
    ("p",): ("string", [None, "u", "v"]),
}
SCHEMA = StructType(
    (
        StructField("i", "integer"),
        StructField("d", "double"),
        StructField("t", "string"),
        StructField("s", StructType((StructField("x", "long"),))),
        StructField("p", "string"),
        StructField("n", "long"),
    )
)


@st.composite
def leaves(draw):
    path = draw(st.sampled_from(list(VALUES)))
    kind, values = VALUES[path]
    literals = st.sampled_from(values).map(lambda value: Literal(value, kind))
    column = Column(path)
    made = [
        st.builds(Comparison, st.sampled_from(["=", "<", "<=", ">", ">=", "<=>"]), st.just(column), literals),
        st.builds(In, st.just(column), st.lists(literals, max_size=3).map(tuple)),
        st.just(IsNull(column)),
        st.just(IsNotNull(column)),
    ]
    if kind == "string":
        made.append(st.builds(StartsWith, st.just(column), st.sampled_from(["", "a"])))
    return draw(st.one_of(made))


PREDICATES = st.recursive(
    st.one_of(leaves(), st.sampled_from([True, False, None]).map(Boolean)),
    lambda inner: st.one_of(
        inner.map(Not), st.lists(inner, max_size=3).map(tuple).flatmap(lambda each: st.sampled_from([And(each), Or(each)]))
    ),
    max_leaves=6,
)
ROWS = st.lists(
    st.tuples(*(st.sampled_from(values) for path, (_, values) in VALUES.items() if path != ("p",)), st.booleans()), max_size=6
)


@given(predicate=PREDICATES, files=st.lists(st.tuples(st.sampled_from(VALUES[("p",)][1]), ROWS), max_size=3))
@drawing(1)
def test_the_rows_are_those_for_which_the_filter_is_true(predicate, files):
    made, expected, number = [], [], 0
    for partition, rows in files:
        numbers = range(number, number + len(rows))
        number += len(rows)
        made.append((_table(rows, numbers), {"partitionValues": {"p": partition}, **without_rows(*range(0, len(rows), 3))}))
        for position, row in enumerate(rows):
            facts = dict(zip([("i",), ("d",), ("t",), ("s", "x")], row[:4], strict=True)) | {("p",): partition}
            if row[4]:
                facts["s", "x"] = None
            if position % 3 and truth(predicate, facts, unknown=None):
                expected.append(numbers[position])
    found = snapshot(SCHEMA, made, partition_by=["p"], row_group_size=2)
    assert found.to_arrow(["n"], predicate)["n"].to_pylist() == expected
    assert sum(batch.num_rows for batch in found.to_batches(["p"], predicate, batch_size=1)) == len(expected)


def _table(rows, numbers):
    struct = pa.struct([("x", pa.int64())])
    return pa.table(
        {
            "i": pa.array([row[0] for row in rows], pa.int32()),
            "d": pa.array([row[1] for row in rows], pa.float64()),
            "t": pa.array([row[2] for row in rows], pa.string()),
            "s": pa.array([None if row[4] else {"x": row[3]} for row in rows], struct),
            "n": pa.array(numbers, pa.int64()),
        }
    )


def test_a_filter_is_given_as_to_the_list_of_files():
    found = snapshot(SCHEMA, [_table([(1, 0.0, "a", 5, False), (2, NAN, "b", None, True)], [0, 1])])
    kept = {
        "one": [("i", ">", 1)],
        "either": [[("i", "==", 1)], [("t", "==", "b")]],
        "nested": [("s.x", "is not null")],
        "whole": [("s", "is null")],
        "none": [],
    }
    assert {name: found.to_arrow(["n"], where)["n"].to_pylist() for name, where in kept.items()} == {
        "one": [1],
        "either": [0, 1],
        "nested": [0],
        "whole": [1],
        "none": [0, 1],
    }


@pytest.mark.parametrize("where", [Unknown(), Not(And((Unknown(), Boolean(value=True))))])
def test_a_filter_that_cannot_be_decided_is_refused_before_a_file_is_opened(where):
    with pytest.raises(errors.UnsupportedFeatureError, match="collation"):
        snapshot({"a": "long"}, []).to_batches(where=where)


def test_a_filter_on_a_string_with_a_collation_is_refused():
    columns = StructType((StructField("a", "string", metadata={"__COLLATIONS": {"a": "icu.UNICODE_CI"}}),))
    found = snapshot(columns, [pa.table({"a": ["x"]})])
    assert found.to_arrow()["a"].to_pylist() == ["x"]
    with pytest.raises(errors.UnsupportedFeatureError, match="collation"):
        found.to_arrow(where=[("a", "==", "X")])


def test_a_comparison_of_types_that_do_not_compare_is_refused():
    found = snapshot({"a": "long"}, [pa.table({"a": [1]})])
    with pytest.raises(errors.UnsupportedFeatureError):
        found.to_arrow(where=Comparison("=", Column(("a",)), Literal("x", "string")))


@pytest.mark.parametrize("where", [[("nothing", "==", 1)], [("a", "~", 1)], [("a", "==", "x")]])
def test_a_wrong_filter_is_an_error_of_the_table(where):
    found = snapshot({"a": "long"}, [])
    with pytest.raises(errors.InvalidOptionError) as raised:
        found.to_arrow(where=where)
    assert raised.value.table == found.table_uri
