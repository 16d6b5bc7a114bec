# SPDX-License-Identifier: Apache-2.0
"""Every error that names one of delta-spark's error classes has the SQLSTATE that goes with it, and no class is made up.

`error_states.json` holds the facts: the error classes of delta-spark 4.4 by their SQLSTATE. A class with a dot is a kind of the
class before the dot, and has its state.
"""

from __future__ import annotations

import ast
import json
from itertools import pairwise
from pathlib import Path

from tests.support.sources import FILES, SOURCE, nodes_of, text_of

from bayou import errors

STATES = {
    name: state for state, names in json.loads(Path(__file__).with_name("error_states.json").read_text()).items() for name in names
}
OF_NOBODY = {"DELTA_DELETION_VECTOR_FILE_NOT_FOUND", "DELTA_FILE_NOT_FOUND_DETAILED", "DELTA_INVALID_PATH"}
"""Classes that delta-spark raises without listing them, or raised once."""
OF_SPARK = {
    "AMBIGUOUS_REFERENCE": "42704",
    "ARITHMETIC_OVERFLOW": "22003",
    "CANNOT_UP_CAST_DATATYPE": "42846",
    "DATATYPE_MISMATCH": "42K09",
    "EXPECT_TABLE_NOT_VIEW": "42809",
    "FAILED_READ_FILE": "KD001",
    "NON_FOLDABLE_ARGUMENT": "42K08",
    "NUMERIC_VALUE_OUT_OF_RANGE": "22003",
    "PARSE_SYNTAX_ERROR": "42601",
    "PATH_NOT_FOUND": "42K03",
    "TABLE_OR_VIEW_ALREADY_EXISTS": "42P07",
    "TABLE_OR_VIEW_NOT_FOUND": "42P01",
    "UNBOUND_SQL_PARAMETER": "42P02",
}


def nodes_with(part):
    """The nodes of the files that hold a text, each with the name of its file."""
    for file in FILES:
        if part in text_of(file):
            for node in nodes_of(file):
                yield str(file.relative_to(SOURCE)), node


def calls():
    """Each call that names an error class, with the nodes of its arguments."""
    for file, node in nodes_with("error_class"):
        if isinstance(node, ast.Call):
            given = {each.arg: each.value for each in node.keywords}
            if "error_class" in given:
                yield f"{file}:{node.lineno}", node.func, given["error_class"], given.get("sql_state")


def state_of(error_class):
    name = error_class.partition(".")[0]
    return STATES.get(name) or OF_SPARK.get(name)


def own_state(function):
    """The state that errors of a class have where none is named."""
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return getattr(getattr(errors, name, None), "sql_state", None)


def test_the_states_of_errors_are_those_of_their_classes():
    wrong, checked = [], 0
    for where, function, error_class, sql_state in calls():
        if not isinstance(error_class, ast.Constant) or error_class.value in OF_NOBODY or not isinstance(error_class.value, str):
            continue
        found = own_state(function) if sql_state is None else getattr(sql_state, "value", None)
        if isinstance(sql_state, ast.expr) and not isinstance(sql_state, ast.Constant):
            continue
        checked += 1
        if found != state_of(error_class.value):
            wrong.append(f"{where}: {error_class.value} has {state_of(error_class.value)}, and the error {found}")
    assert wrong == []
    assert checked > 100


def test_the_state_that_follows_a_class_is_that_of_the_class():
    """Among arguments and in tables."""
    wrong, checked = [], 0
    for file, node in nodes_with("DELTA_"):
        row = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
        for error_class, state in pairwise(getattr(each, "value", None) for each in row):
            known = state_of(error_class) if isinstance(error_class, str) and is_class(error_class) else None
            if known is None or not isinstance(state, str) or " " in state:
                continue
            checked += 1
            if state != known:
                wrong.append(f"{file}:{node.lineno}: {error_class} has {known}, and the error {state}")
    assert wrong == []
    assert checked > 50


def test_a_class_that_is_worked_out_comes_with_its_state():
    assert [
        where
        for where, function, error_class, sql_state in calls()
        if not isinstance(error_class, ast.Constant) and sql_state is None and own_state(function) is None and is_raised(function)
    ] == []


def is_raised(function):
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return isinstance(getattr(errors, name, None), type)


def test_errors_have_the_states_of_the_classes_that_they_have_by_themselves():
    found = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.DeltaError)]
    named = [each for each in found if each.error_class and each.error_class not in OF_NOBODY]
    assert {each.__name__: each.sql_state for each in named} == {each.__name__: state_of(each.error_class) for each in named}
    assert len(named) > 20


def test_no_error_class_is_made_up():
    """Also those that stand somewhere else than in a call, and the beginnings of those that are put together."""
    unknown = []
    for file, node in nodes_with("DELTA_"):
        if isinstance(node, ast.JoinedStr):
            first = node.values[0]
            if isinstance(first, ast.Constant) and str(first.value).startswith("DELTA_"):
                known = [name for name in STATES if name.startswith(str(first.value).partition(".")[0])]
                unknown += [] if known else [f"{file}:{node.lineno}: {first.value}..."]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and is_class(node.value):
            name = node.value.partition(".")[0]
            whole = name in STATES or name in OF_NOBODY or node.value in OF_NOBODY
            part = any(known.startswith(node.value) for known in STATES)
            unknown += [] if whole or part else [f"{file}:{node.lineno}: {node.value}"]
    assert unknown == []


def is_class(text):
    return text.startswith("DELTA_") and text.replace("_", "").replace(".", "").isalnum() and text.upper() == text
