# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import inspect

import pytest
from tests.core.as_delta import expected_signatures as expected

from bayou.as_delta import delta
from bayou.as_delta.delta import exceptions, pip_utils, tables

OWN = {"txn", "keep", "by", "kind", "dry_run", "inventory", "keep_versions", "collectStatistics"}


def parameters(function):
    """A bound method's parameters in the notation of `expected_signatures`; what is bayou's own is never taken by position."""
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = [
        f"{marks.get(each.kind, '')}{each.name}{'' if each.default is inspect.Parameter.empty else '='}"
        for each in inspect.signature(function).parameters.values()
        if each.kind is not inspect.Parameter.KEYWORD_ONLY or each.name not in OWN
    ]
    return " ".join(name for name in found if name not in {"self", "cls"})


@pytest.mark.parametrize(
    ("owner", "methods"),
    [
        (tables.DeltaTable, expected.DELTA_TABLE),
        (tables.DeltaTableBuilder, expected.DELTA_TABLE_BUILDER),
        (tables.DeltaOptimizeBuilder, expected.DELTA_OPTIMIZE_BUILDER),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_methods_take_what_those_of_delta_spark_take(owner, methods):
    assert {name: parameters(getattr(owner, name)) for name in methods} == methods


@pytest.mark.parametrize(
    ("owner", "methods"),
    [(tables.DeltaTable, expected.DELTA_TABLE_ROWS), (tables.DeltaMergeBuilder, expected.DELTA_MERGE_BUILDER)],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_methods_that_change_rows_take_what_those_of_delta_spark_take_where_they_are_there(owner, methods):
    there = {name: text for name, text in methods.items() if hasattr(owner, name)}
    assert {name: parameters(getattr(owner, name)) for name in there} == there


def test_an_identity_generator_has_the_defaults_of_delta_spark():
    assert parameters(tables.IdentityGenerator) == "start= step="
    assert tables.IdentityGenerator() == tables.IdentityGenerator(1, 1)


def test_the_pip_helper_takes_what_that_of_delta_spark_takes():
    assert parameters(pip_utils.configure_spark_with_delta_pip) == "spark_session_builder extra_packages="


def star(module):
    found = {}
    exec(f"from {module.__name__} import *", found)
    return set(found) - {"__builtins__"}


def test_a_star_gives_the_names_that_delta_spark_gives():
    assert star(delta) == {"DeltaTable", "configure_spark_with_delta_pip", "__version__"}
    assert star(pip_utils) == {"List", "Optional", "SparkSession", "configure_spark_with_delta_pip"}
    assert star(exceptions) == {
        "DeltaConcurrentModificationException",
        "ConcurrentWriteException",
        "MetadataChangedException",
        "ProtocolChangedException",
        "ConcurrentAppendException",
        "ConcurrentDeleteReadException",
        "ConcurrentDeleteDeleteException",
        "ConcurrentTransactionException",
    }
    classes = {"DeltaTable", "DeltaMergeBuilder", "DeltaTableBuilder", "DeltaOptimizeBuilder", "IdentityGenerator"}
    spark = {"Column", "DataFrame", "SparkSession", "functions", "DataType", "StructType", "StructField", "since", "is_remote"}
    typing = {"Any", "Dict", "Iterable", "List", "NoReturn", "Optional", "TYPE_CHECKING", "Tuple", "Union", "cast", "overload"}
    own = {"ColumnMapping", "OptionalColumnMapping", "ExpressionOrColumn", "OptionalExpressionOrColumn", "dataclass", "delta"}
    assert star(tables) == classes | spark | typing | own
