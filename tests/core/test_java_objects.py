# SPDX-License-Identifier: Apache-2.0
"""Outside of `spark/jvm`, nothing calls a method of a Java object: it is a value to pass on.

mypy checks it. It reads `JavaObject`, which is `Any` to the code in `spark/jvm`, as a class without methods, and what it then
finds there is left out.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.sources import FILES, SOURCE, nodes_of

ROOT = Path(__file__).parents[2]
BRIDGE = Path("src/bayou/spark/jvm/core/bridge.py")
AS_ANY = "\nJavaObject = Any\n"
AS_CLASS = "\nclass JavaObject: pass\n"
IN_JVM = "src/bayou/spark/jvm/"

# Methods of Java and Scala that no object of Python has, for values that are `Any` to mypy.
METHODS = {
    *("getClass", "getName", "getSimpleName", "getCause", "getMessage", "toString", "isDefined", "getOrElse", "mkString", "toSeq"),
    *("queryExecution", "executedPlan", "optimizedPlan", "sessionState", "sqlParser", "nodeName", "exprId", "dataType"),
    *("sparkSession", "sparkContext", "nameParts"),
}


def test_mypy_sees_no_method_of_a_java_object_outside_spark_jvm(tmp_path):
    pytest.importorskip("mypy")
    found = _checked(tmp_path, (ROOT / BRIDGE).read_text(encoding="utf-8"))
    assert [line for line in found if line.startswith(IN_JVM)], "mypy did not read the changed class"
    assert not [line for line in found if not line.startswith(IN_JVM)]


def _checked(folder, text):
    """The errors of mypy with an opaque class in the bridge."""
    assert text.count(AS_ANY) == 1
    opaque = folder / "bridge.py"
    opaque.write_text(text.replace(AS_ANY, AS_CLASS), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--shadow-file", str(BRIDGE), str(opaque), "--cache-dir", ".mypy_cache/opaque"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"})
    assert not ran.stderr, ran.stderr
    return [line for line in ran.stdout.replace("\\", "/").splitlines() if ": error: " in line]


def test_no_module_outside_spark_jvm_calls_what_only_java_has():
    outside = [file for file in FILES if not file.is_relative_to(SOURCE / "spark" / "jvm")]
    calls = [(file, node) for file in outside for node in nodes_of(file) if isinstance(node, ast.Call)]
    found = [f"{file.relative_to(SOURCE)}:{call.lineno}" for file, call in calls if getattr(call.func, "attr", None) in METHODS]
    assert calls
    assert not found
