# SPDX-License-Identifier: Apache-2.0
"""Imports point down only, no files form a circle, Spark's internals stay in one room, folders and files stay small."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from tests.support.sources import FILES, SOURCE, nodes_in, nodes_of, text_of, tree_of

# The rooms, lowest first: a file may import from its own room and from lower ones. A room is a folder, or a file with a rank of
# its own; a file belongs to the longest room that its path starts with.
ROOMS = (
    *("errors", "version", "report"),
    *("protocol/properties", "protocol/arguments", "protocol/types", "protocol/deletion_vectors", "protocol/actions"),
    *("protocol/stats", "protocol/features", "protocol/schema", "protocol/columns", "protocol/evolution", "protocol"),
    *("storage", "plan/predicates", "plan/statistics", "plan/generated", "plan"),
    *(
        "log/events",
        "log/actions",
        "log/segment",
        "log/rows/vector_reader",
        "arrow",
        "log/snapshot",
        "log/checkpoint",
        "log/checksum",
        "log/staging",
        "log/rows",
    ),
    *("log/conflict", "log/maintenance", "log/commit", "log/operations", "log/changes", "log/delta_log"),
    *(
        "log/streaming/request",
        "log/streaming/batches",
        "log/streaming/schema",
        "log/streaming",
        "log",
        "checks",
        "repairs",
        "diffs",
        "health_report",
    ),
    *(
        "spark/user_defined_types",
        "spark/text",
        "spark/catalog",
        "spark/task_counts",
        "spark/lookups",
        "spark/backend",
        "spark/expr",
    ),
    *(
        "spark/program_calls",
        "spark/pinned_settings",
        "spark/errors",
        "spark/session",
        "spark/types",
        "spark/expressions",
        "spark/portable/text",
    ),
    *("spark/scan", "spark/read", "spark/data_files"),
    *("spark/dml/keys", "spark/dml/core", "spark/dml/statements", "spark/dml/replace"),
    *("spark/dml/merge/resolution", "spark/dml/merge", "spark/dml"),
    *("spark/maintenance", "spark/write", "spark/create", "spark/alter", "spark/streaming", "spark/table", "spark/sql"),
    # The native backend, for classic sessions.
    *("spark/jvm/gateway", "spark/jvm/core", "spark/jvm/relations", "spark/jvm/catalyst", "spark/jvm"),
    *("spark/native/errors", "spark/native/session", "spark/native/scan", "spark/native/dml"),
    *("spark/native/merge/resolution", "spark/native/merge/source", "spark/native/merge"),
    *("spark/native/streaming", "spark/native/sql", "spark/native"),
    # The portable backend, for sessions of Spark Connect.
    *("spark/portable/client", "spark/portable/settings", "spark/portable/names", "spark/portable/requests", "spark/portable"),
    *("spark/enable", "spark", "full_check", "table", "as_delta", "__init__", "as_delta/__main__", "cli", "__main__", "testing"),
)
# Rooms that may not use a lower one: left of the colon the user, right of it what it does without.
SEPARATE = {
    "plan": ("storage",),
    "cli": ("spark", "table", "as_delta", "__init__"),
    "spark/write": ("spark/maintenance",),
    "spark/create": ("spark/maintenance",),
    "spark/alter": ("spark/create", "spark/write"),
    "spark/streaming": ("spark/alter", "spark/create", "spark/maintenance"),
    "spark/native": ("spark/portable",),
    "spark/portable": ("spark/jvm", "spark/native"),
}

# What each room may import of others; rooms that are not named may import anything.
STANDARD_LIBRARY_ONLY = {"errors", "version", "report", "protocol"}
SPARK_ROOMS = {"spark", "table", "as_delta", "testing"}
ROOMS_WITH_NUMPY = {"spark", "testing"}
DEPENDENCIES = {"pyarrow"}
OF_ROOM = {
    "cli": {"click", "rich"},
    "spark": {"rich", "IPython", "google", "zstandard"},
    "storage": {"botocore", "obstore"},
    "testing": {"pytest"},
}

JVM_ROOM = ("spark", "jvm")
NATIVE_ROOMS = ("spark/jvm", "spark/native")
PORTABLE_ROOM = "spark/portable"
CONNECT = "pyspark.sql.connect"
ADAPTERS = tuple(sorted(SOURCE.rglob("*.java")))
JVM_NAMES = {"_jvm", "_jsparkSession"}
# What PySpark calls the Java objects behind its own.
HANDLES = JVM_NAMES | {"_jsc", "_jdf", "_jc", "_jrdd", "_jreader", "_jwrite", "_jconf", "_jcatalog", "_jseq"}
JVM_PACKAGES = ("org.apache.spark.", "org.apache.hadoop.")

MOST_LINES = 500
# An adapter is what Python cannot be: a subclass, or a call for each of many objects. The rest is easier to read in Python.
MOST_LINES_OF_JAVA = 325
MOST_FILES = 15


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


@cache
def imports(file: Path) -> list[Import]:
    """Every import of a file, also those inside functions; those under TYPE_CHECKING are marked."""
    for_types = {
        id(inner)
        for node in nodes_of(file)
        if isinstance(node, ast.If) and any(getattr(each, "id", "") == "TYPE_CHECKING" for each in nodes_in(node.test))
        for inner in nodes_in(node)
    }
    found = []
    for node in nodes_of(file):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package_of(file)[: len(package_of(file)) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            # `from bayou import log` names a module as `import bayou.log` does.
            modules = [inner if (inner := f"{module}.{alias.name}") in MODULES else module for alias in node.names]
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


def rank_of(path: str) -> int:
    """The place in ROOMS of a file or folder, by its path below the package."""
    while path not in ROOMS:
        path, slash, _ = path.rpartition("/")
        assert slash, "a room without a rank: add it to ROOMS"
    return ROOMS.index(path)


def place(file: Path) -> str:
    path = str(PurePosixPath(file.relative_to(SOURCE)).with_suffix(""))
    return path.removesuffix("/__init__") if path != "__init__" else path


MODULES = {"bayou." + place(file).replace("/", "."): file for file in FILES if place(file) != "__init__"} | {
    "bayou": SOURCE / "__init__.py"
}


def imported(file: Path) -> set[Path]:
    """The files of bayou that a file imports from, those in functions and those for types included."""
    return {MODULES[found.module] for found in imports(file) if found.module in MODULES} - {file}


def is_within(path: str, room: str) -> bool:
    return path == room or path.startswith(f"{room}/")


def test_imports_point_down_only():
    assert not [f"{place(file)} imports {other}" for file in FILES for other in _out_of_reach(file)]


def _out_of_reach(file):
    own = place(file)
    without = [room for user, rooms in SEPARATE.items() if is_within(own, user) for room in rooms]
    others = map(place, imported(file))
    return [each for each in others if rank_of(each) > rank_of(own) or any(is_within(each, room) for room in without)]


def test_no_files_import_each_other_in_a_circle():
    left = {file: imported(file) for file in FILES}
    while True:
        # Whoever imports nothing that is left is in no circle.
        free = {file for file, others in left.items() if not others & left.keys()}
        if not free:
            break
        left = {file: others for file, others in left.items() if file not in free}
    used = set().union(*left.values()) if left else set()
    assert not [place(file) for file in left if file in used]


def test_each_folder_says_what_belongs_there():
    without = [place(file) for file in FILES if file.name == "__init__.py" and not ast.get_docstring(tree_of(file))]
    assert not without


def test_no_folder_is_crowded():
    kinds = {file.parent: file.suffix for file in SOURCE.rglob("*") if file.suffix in {".py", ".java"}}
    sizes = {
        folder: len([each for each in folder.iterdir() if each.suffix == kind and each.name != "__init__.py"])
        for folder, kind in kinds.items()
    }
    assert not {name(folder): size for folder, size in sizes.items() if size > MOST_FILES}


def test_each_room_imports_only_what_it_may():
    wrong = [
        f"{where(file, found.line)} imports {found.module}"
        for file in FILES
        for found in imports(file)
        if not found.is_for_types and not _is_allowed(room_of(file), found.module.split(".")[0])
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


def test_pyspark_is_not_imported_for_types_outside_spark():
    files = [file for file in FILES if room_of(file) not in SPARK_ROOMS | {"__init__"}]
    of_spark = {"pyspark", "py4j"}
    assert not [where(file, each.line) for file in files for each in imports(file) if each.module.split(".")[0] in of_spark]


def test_one_module_imports_py4j():
    users = {place(file) for file in FILES for each in imports(file) if each.module.split(".")[0] == "py4j"}
    assert users == {"spark/jvm/gateway"}


def test_only_the_native_backend_imports_spark_jvm():
    """Also in functions and for types: other code uses a session through `spark/backend.py`."""
    others = [file for file in FILES if not any(is_within(place(file), room) for room in NATIVE_ROOMS)]
    users = {place(file): place(each) for file in others for each in imported(file) if is_within(place(each), NATIVE_ROOMS[0])}
    assert not users


def test_only_the_portable_backend_imports_spark_connect():
    others = [file for file in FILES if not is_within(place(file), PORTABLE_ROOM)]
    users = [where(file, each.line) for file in others for each in imports(file) if f"{each.module}.".startswith(f"{CONNECT}.")]
    assert not users


def test_code_for_every_session_imports_no_backend():
    """It loads them by name. Only entry points import them, in functions: `spark/enable.py`, and `as_delta` for PySpark's classes.

    `spark/portable/text` reads SQL for every session.
    """
    backends = (*NATIVE_ROOMS, PORTABLE_ROOM)
    entries = ("spark/enable", "as_delta", *backends)
    others = [file for file in FILES if not any(is_within(place(file), room) for room in entries)]
    users = [(place(file), place(each)) for file in others for each in imported(file)]
    texts = f"{PORTABLE_ROOM}/text"
    assert not [pair for pair in users if any(is_within(pair[1], room) for room in backends) and not is_within(pair[1], texts)]


def test_parts_that_a_backend_is_asked_for_exist():
    asked = [
        (node.func.id, node.args[-1].value)
        for file in FILES
        for node in nodes_in(tree_of(file))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("part_of", "native_part")
    ]
    assert asked
    for function, name in asked:
        backends = ("native",) if function == "native_part" else ("native", "portable")
        assert any(f"bayou.spark.{each}.{name}" in MODULES for each in backends), name


def test_only_spark_jvm_knows_the_internals_of_spark():
    assert not [where(file, line) for file in FILES if not is_in_jvm_room(file) for line in _internals(file)]


def _internals(file):
    docstrings = {
        id(node.body[0].value)
        for node in nodes_of(file)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [node.lineno for node in nodes_of(file) if id(node) not in docstrings and _is_internal(node)]


def _is_internal(node):
    if isinstance(node, ast.Attribute):
        return node.attr in HANDLES
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _names_a_class(node.value)


def _names_a_class(text):
    return text in JVM_NAMES or any(package in text for package in JVM_PACKAGES)


def test_files_stay_small():
    sizes = {name(file): len(text_of(file).splitlines()) for file in FILES}
    assert not {path: lines for path, lines in sizes.items() if lines > MOST_LINES}


def test_java_adapters_stay_small():
    sizes = {name(file): len(text_of(file).splitlines()) for file in ADAPTERS}
    assert sizes
    assert not {path: lines for path, lines in sizes.items() if lines > MOST_LINES_OF_JAVA}


def test_every_file_names_its_license():
    line = " SPDX-License-Identifier: Apache-2.0\n"
    marks = {file: "//" if file in ADAPTERS else "#" for file in (*FILES, *ADAPTERS)}
    assert not [name(file) for file, mark in marks.items() if not text_of(file).startswith(mark + line)]


def test_the_walk_sees_the_rooms():
    assert {room_of(file) for file in FILES} >= {"errors", "protocol", "storage", "plan", "log", "cli"}
