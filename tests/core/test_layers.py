# SPDX-License-Identifier: Apache-2.0
"""Imports point down only, Spark's internals stay in one room, and files stay small."""

from __future__ import annotations

import ast
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

import bayou

SOURCE = Path(bayou.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# What each room may import of bayou, beside itself.
ROOMS = {
    "error_texts": set(),
    "errors": {"error_texts"},
    "version": set(),
    "protocol": {"errors"},
    "storage": {"errors", "protocol"},
    "plan": {"errors", "protocol"},
    "log": {"errors", "protocol", "storage", "plan"},
    "spark": {"errors", "version", "protocol", "storage", "plan", "log"},
    "table": {"errors", "version", "protocol", "storage", "plan", "log", "spark"},
    "cli": {"errors", "version", "protocol", "storage", "plan", "log"},
    "as_delta": {"errors", "version", "protocol", "storage", "plan", "log", "spark", "table"},
    "testing": {"errors", "version", "protocol", "storage", "plan", "log", "spark", "table", "as_delta"},
}

# What each room may import of others; rooms that are not named may import anything.
STANDARD_LIBRARY_ONLY = {"error_texts", "errors", "version", "protocol"}
SPARK_ROOMS = {"spark", "table", "as_delta", "testing"}
ROOMS_WITH_NUMPY = {"spark", "testing"}
DEPENDENCIES = {"pyarrow", "sqlglot"}
OF_ROOM = {"cli": {"click", "rich"}, "spark": {"rich"}, "testing": {"pytest"}}

JVM_ROOM = ("spark", "jvm")
JVM_NAMES = {"_jvm", "_jsparkSession"}
JVM_PACKAGES = ("org.apache.spark.", "org.apache.hadoop.")

LOOK_HARD_LINES = 400
MOST_LINES = 800


@dataclass(frozen=True)
class Import:
    """One import statement: the module that it names, and where it stands."""

    module: str
    line: int
    is_for_types: bool


def room_of(file: Path) -> str:
    first = file.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def package_of(file: Path) -> list[str]:
    return ["bayou", *file.relative_to(SOURCE).parts[:-1]]


def imports(file: Path) -> list[Import]:
    """Every import of a file, also those inside functions; those under TYPE_CHECKING are marked."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package_of(file)[: len(package_of(file)) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            # `from bayou import log` names a room as `import bayou.log` does.
            modules = [f"bayou.{alias.name}" for alias in node.names] if module == "bayou" else [module]
        else:
            continue
        found.extend(Import(module, node.lineno, id(node) in for_types) for module in modules)
    return found


def is_in_jvm_room(file: Path) -> bool:
    return file.relative_to(SOURCE).with_suffix("").parts[:2] == JVM_ROOM


def name(file: Path) -> str:
    return str(PurePosixPath(file.relative_to(SOURCE)))


def where(file: Path, line: int) -> str:
    return f"{name(file)}:{line}"


def each_file(of=lambda _: True):
    return pytest.mark.parametrize("file", [file for file in FILES if of(file)], ids=name)


@each_file(lambda file: room_of(file) in ROOMS)
def test_imports_point_down_only(file):
    room = room_of(file)
    allowed = ROOMS[room] | {room}
    wrong = [
        f"{where(file, found.line)} imports {found.module}"
        for found in imports(file)
        if found.module.startswith("bayou.") and found.module.split(".")[1] in ROOMS.keys() - allowed
    ]
    assert not wrong


@each_file()
def test_each_room_imports_only_what_it_may(file):
    room = room_of(file)
    wrong = [
        f"{where(file, found.line)} imports {found.module}"
        for found in imports(file)
        if not found.is_for_types and not _is_allowed(room, found.module.split(".")[0])
    ]
    assert not wrong


def _is_allowed(room, top):
    if top == "bayou" or top in sys.stdlib_module_names:
        return True
    if room in STANDARD_LIBRARY_ONLY:
        return False
    if top in {"pyspark", "py4j"}:
        return room in SPARK_ROOMS
    if top == "numpy":
        return room in ROOMS_WITH_NUMPY
    # What no dependency of pyproject.toml names may be there by chance, and is not for a user.
    return top in DEPENDENCIES | OF_ROOM.get(room, set())


@each_file(lambda file: room_of(file) not in SPARK_ROOMS | {"__init__"})
def test_pyspark_is_not_imported_for_types_outside_spark(file):
    wrong = [where(file, found.line) for found in imports(file) if found.module.split(".")[0] in {"pyspark", "py4j"}]
    assert not wrong


@each_file(lambda file: not is_in_jvm_room(file))
def test_only_spark_jvm_knows_the_internals_of_spark(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    wrong = [where(file, node.lineno) for node in ast.walk(tree) if id(node) not in docstrings and _is_internal(node)]
    assert not wrong


def _is_internal(node):
    if isinstance(node, ast.Attribute):
        return node.attr in JVM_NAMES
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _names_a_class(node.value)


def _names_a_class(text):
    return text in JVM_NAMES or any(package in text for package in JVM_PACKAGES)


@each_file()
def test_files_stay_small(file):
    lines = len(file.read_text(encoding="utf-8").splitlines())
    assert lines <= MOST_LINES
    if lines > LOOK_HARD_LINES:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.warn(f"{name(file)} has {lines} lines: look hard whether it is one thing", stacklevel=1)


@each_file()
def test_every_file_names_its_license(file):
    assert file.read_text(encoding="utf-8").startswith("# SPDX-License-Identifier: Apache-2.0\n")


def test_the_walk_sees_the_rooms():
    assert {room_of(file) for file in FILES} >= {"errors", "protocol", "storage", "plan", "log", "cli"}
