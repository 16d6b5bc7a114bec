# SPDX-License-Identifier: Apache-2.0
"""Every error class that the sources name has the SQLSTATE of Spark or delta-spark, and no class is made up.

`error_states.json` holds the facts: the error classes of delta-spark 4.4 by their SQLSTATE. A class with a dot is a kind of the
class before the dot, and has its state.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from tests.support.sources import FILES, nodes_of

from bayou import errors
from bayou.errors.catalogue import rows
from bayou.errors.states import STATES

OF_DELTA = {
    name: state for state, names in json.loads(Path(__file__).with_name("error_states.json").read_text()).items() for name in names
}
OF_NOBODY = {
    "DELTA_DELETION_VECTOR_FILE_NOT_FOUND": "XXKDS",
    "DELTA_FILE_NOT_FOUND_DETAILED": "42K03",
    "DELTA_INVALID_PATH": "2D521",
}
"""Classes that delta-spark raises without listing them, or raised once."""
OF_SPARK = {
    "AMBIGUOUS_REFERENCE": "42704",
    "ARITHMETIC_OVERFLOW": "22003",
    "CANNOT_UP_CAST_DATATYPE": "42846",
    "DATATYPE_MISMATCH": "42K09",
    "DUPLICATE_CLAUSES": "42614",
    "DUPLICATE_KEY": "23505",
    "EXPECT_TABLE_NOT_VIEW": "42809",
    "FAILED_READ_FILE": "KD001",
    "COLUMN_ALREADY_EXISTS": "42711",
    "GENERATED_COLUMN_WITH_DEFAULT_VALUE": "42623",
    "INVALID_DEFAULT_VALUE": "42623",
    "INVALID_SQL_ARG": "42K08",
    "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE": "42K0E",
    "NON_FOLDABLE_ARGUMENT": "42K08",
    "NOT_SUPPORTED_COMMAND_FOR_V2_TABLE": "0A000",
    "NUMERIC_VALUE_OUT_OF_RANGE": "22003",
    "PARSE_SYNTAX_ERROR": "42601",
    "PATH_NOT_FOUND": "42K03",
    "SPECIFY_CLUSTER_BY_WITH_BUCKETING_IS_NOT_ALLOWED": "42908",
    "SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED": "42908",
    "TABLE_OR_VIEW_ALREADY_EXISTS": "42P07",
    "TABLE_OR_VIEW_NOT_FOUND": "42P01",
    "UNBOUND_SQL_PARAMETER": "42P02",
    "UNRESOLVED_COLUMN": "42703",
    "UNSUPPORTED_FEATURE": "0A000",
}
KNOWN = OF_DELTA | OF_SPARK | OF_NOBODY


def texts():
    """Each text of the sources, and of a key of the catalogue its class; an f-string is a pattern for its placeholders."""
    for file in FILES:
        for node in nodes_of(file):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{file.name}:{node.lineno}", node.value.partition("/")[0]
            elif isinstance(node, ast.JoinedStr):
                yield f"{file.name}:{node.lineno}", pattern(node)


def pattern(node):
    return "".join(str(each.value) if isinstance(each, ast.Constant) else "[A-Z_]*" for each in node.values)


def classes_named():
    """The error classes of the catalogue, and of arguments and attributes named `error_class`; one put together is a pattern."""
    for file in FILES:
        for node in nodes_of(file):
            is_argument = isinstance(node, ast.keyword) and node.arg == "error_class"
            is_attribute = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "error_class"
            given = node.value if is_argument or is_attribute else None
            for each in (given.body, given.orelse) if isinstance(given, ast.IfExp) else (given,):
                if isinstance(each, ast.JoinedStr):
                    yield f"{file.name}:{each.lineno}", pattern(each)
                elif isinstance(each, ast.Constant) and each.value is not None:
                    yield f"{file.name}:{each.lineno}", each.value
    yield from ((row.key, row.error_class) for row in rows().values() if row.error_class is not None)


def test_the_states_are_those_of_spark_and_delta():
    assert {name: KNOWN.get(name) for name in STATES} == STATES


def test_every_class_that_an_error_is_given_has_a_state():
    found = list(classes_named())
    assert [each for each in found if not any(re.fullmatch(each[1].partition(".")[0], name) for name in STATES)] == []
    assert len({each for _, each in found}) > 150


def test_every_class_of_delta_that_the_sources_name_has_a_state():
    """Also those that stand somewhere else than in an error."""
    assert [(where, text) for where, text in texts() if (name := text.partition(".")[0]) in OF_DELTA and name not in STATES] == []


def test_the_table_has_no_class_that_no_source_names():
    named = {text.partition(".")[0] for _, text in texts()}
    patterns = {each for each in named if "[A-Z_]*" in each and re.fullmatch(r"[A-Z_*\[\]-]+", each) and re.match("[A-Z]", each)}
    assert [name for name in STATES if name not in named and not any(re.fullmatch(each, name) for each in patterns)] == []


def test_no_error_class_is_made_up():
    """Also those that stand somewhere else than in an error, and the beginnings of those that are put together."""
    unknown = []
    for where, text in texts():
        name = text.partition("[")[0].partition(".")[0]
        if is_class(name) and name not in KNOWN and not any(known.startswith(name) for known in KNOWN):
            unknown.append((where, text))
    assert unknown == []


def is_class(text):
    return text.startswith("DELTA_") and text.replace("_", "").isalnum() and text.upper() == text


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (errors.DeltaError("x"), None),
        (errors.DeltaError("x", error_class="NO_SUCH_CLASS"), None),
        (errors.DeltaError("x", error_class="DELTA_METADATA_MISMATCH"), "42KDG"),
        (errors.TableNotFoundError("x"), "42P01"),
        (errors.TableNotFoundError("x", error_class="DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"), "42K09"),
    ],
)
def test_an_error_has_the_state_of_its_class(error, state):
    assert (error.sql_state, error.getSqlState()) == (state, state)
