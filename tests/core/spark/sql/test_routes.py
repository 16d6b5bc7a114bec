# SPDX-License-Identifier: Apache-2.0
"""The table of routes names each way on which a statement comes to bayou, as the code has them, and no other."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import bayou
from bayou.spark.sql.functions.arguments import COUNTS
from bayou.spark.sql.routes import ROUTES, Entry, as_table
from bayou.spark.sql.statements.beginnings import BEGINNINGS

SPARK = Path(bayou.__file__).parent / "spark"
JAVA = SPARK / "jvm" / "java"
CHANGES = {"DeleteFromTable", "UpdateTable", "MergeIntoTable"}


def java(name):
    return (JAVA / name).read_text()


def named(text):
    """The nodes that a piece of Java asks for by name."""
    return set(re.findall(r'ame\.equals\("(\w+)"\)', text))


def method(text, start, end="\n  }\n"):
    begin = text.index(start)
    return text[begin : text.index(end, begin)]


def asked_of_catalog():
    text = "".join(file.read_text() for file in (JAVA / "catalog").glob("*.java")) + java("plans/Rule.java")
    return set(re.findall(r'ask\("(\w+)', text)) - {"scan", "command", "change", "constraint"} | {"exists"}


def answered_by_source():
    return set(re.findall(r'case "([\w ]+)":', (SPARK / "native" / "sql" / "data_source.py").read_text()))


KEYS = {
    Entry.REFUSED_TEXT: set(BEGINNINGS),
    Entry.PARSED: named(method(java("statements/Parser.java"), "boolean isOurs(")) | CHANGES,
    Entry.RESOLVED: named(method(java("statements/AnalyzerRule.java"), "TreeNode apply(")) | CHANGES,
    Entry.CATALOG: asked_of_catalog(),
    Entry.SOURCE: answered_by_source(),
    Entry.FUNCTION: set(COUNTS),
}


def keys_of(entry):
    found = [key for route in ROUTES if route.entry is entry for key in route.keys]
    assert len(found) == len(set(found)), "one way has two answers"
    return set(found)


@pytest.mark.parametrize("entry", KEYS)
def test_each_way_in_the_code_is_in_the_table(entry):
    assert keys_of(entry) == KEYS[entry]


def test_each_command_that_the_rule_takes_is_in_the_table():
    text = java("plans/Rule.java")
    of_nodes = set(re.findall(r'nodeName\(\)\.equals\("(\w+Constraint)"\)', text))
    taken = named(method(text, "TreeNode statement(TreeNode plan"))
    # The rest are refused by a pattern: AlterTable... of the catalog, and what names a path.
    assert keys_of(Entry.COMMAND) == (taken | of_nodes) - {"AlterTableRenameCommand"}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.statements)
def test_each_answer_is_a_module(route):
    assert importlib.util.find_spec(f"bayou.spark.{route.handler}") is not None


def test_the_documentation_shows_the_table():
    text = (SPARK.parent.parent.parent / "docs" / "sql.md").read_text()
    assert as_table() in text
