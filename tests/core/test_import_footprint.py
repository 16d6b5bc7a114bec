# SPDX-License-Identifier: Apache-2.0
"""What importing bayou, and looking at a table without Spark, loads: seen in a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.sources import FILES, SOURCE

REPORT = "\nimport json, sys\nprint(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"

COMMITS = [
    [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "0b1a",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": '{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]}',
                "partitionColumns": [],
                "configuration": {},
                "createdTime": 0,
            }
        },
        {"commitInfo": {"timestamp": 0, "operation": "CREATE TABLE", "operationParameters": {}}},
    ]
]


def modules_after(code, *arguments):
    """The top-level modules that a fresh interpreter holds after the code ran."""
    run = subprocess.run([sys.executable, "-c", code + REPORT, *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stdout.splitlines()[-1]))


@pytest.fixture
def table(tmp_path):
    log = tmp_path / "table" / "_delta_log"
    log.mkdir(parents=True)
    for version, actions in enumerate(COMMITS):
        (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)), encoding="utf-8")
    return str(log.parent)


def test_importing_bayou_loads_neither_spark_nor_arrow():
    loaded = modules_after("import bayou; bayou.__version__")
    assert not loaded & {"pyspark", "py4j", "pyarrow", "numpy", "pandas", "click", "rich"}


def test_the_plugin_that_pytest_loads_at_each_start_loads_neither_spark_nor_arrow():
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    (module,) = re.findall(r'^\[project\.entry-points\.pytest11\]\nbayou = "([\w.]+)"$', project, re.MULTILINE)
    loaded = modules_after(f"import {module}")
    assert "pytest" in loaded
    assert not loaded & {"pyspark", "py4j", "pyarrow", "numpy", "pandas"}


def test_importing_the_protocol_loads_the_standard_library_only():
    assert "pyarrow" not in modules_after("import bayou.protocol.actions.actions, bayou.protocol.types.schema")


def test_neither_a_history_nor_a_snapshot_loads_spark(table):
    code = """
import bayou, sys
assert len(bayou.open(sys.argv[1]).history()) == 1
assert bayou.open(sys.argv[1]).snapshot().num_files == 0
"""
    assert not modules_after(code, table) & {"pyspark", "py4j", "deltalake"}


def test_the_command_line_does_not_load_spark(table):
    code = """
import sys
from bayou.cli import main
for command in ("history", "detail", "schema", "files", "log"):
    assert main([command, sys.argv[1]]) == 0
    assert not {"pyspark", "py4j", "deltalake"} & set(sys.modules), command
"""
    modules_after(code, table)


WITHOUT = """
import sys
from importlib.abc import MetaPathFinder


class Hidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if f"{{name}}.".startswith({prefixes!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Hidden())
"""
NEED_SPARK = ["enable", "DeltaTable", "IdentityGenerator", "install_as_delta", "read", "write"]


def run_without(package, code, *arguments):
    """A fresh interpreter that runs the code, and finds no such package, or none of several with spaces between them."""
    whole = WITHOUT.format(prefixes=tuple(f"{each}." for each in package.split())) + code
    return subprocess.run([sys.executable, "-c", whole, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("package", ["pyspark", "py4j"])
def test_without_pyspark_each_name_that_needs_it_says_how_to_install_it(package):
    code = f"""
import bayou
assert bayou.__version__ and bayou.DeltaError and bayou.open
for name in {NEED_SPARK}:
    try:
        getattr(bayou, name)
    except ImportError as error:
        assert isinstance(error, ModuleNotFoundError) and isinstance(error, bayou.DeltaError)
        assert f"bayou.{{name}} " in str(error), error
        assert "pip install 'bayou[spark]'" in str(error), error
    else:
        raise AssertionError(name)
"""
    run = run_without(package, code)
    assert run.returncode == 0, run.stderr


# What a machine with the package `pyspark-client` does not have, unlike one with `pyspark`.
LACKED_BY_THE_CLIENT = "py4j pyspark.core"


def run_as_client(code):
    pytest.importorskip("pyspark.core", reason="PySpark 3.5 has no client of its own")
    return run_without(LACKED_BY_THE_CLIENT, code)


def test_with_the_client_of_spark_connect_alone_every_module_can_be_imported():
    paths = [file.relative_to(SOURCE).with_suffix("").parts for file in FILES if file.name != "__main__.py"]
    modules = sorted(".".join(["bayou", *path]).removesuffix(".__init__") for path in paths)
    code = f"""
import sys
from importlib import import_module

for module in {modules}:
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        assert error.name == "IPython", (module, error)  # a notebook has it
assert not {{"py4j", "pyspark.core"}} & set(sys.modules)
"""
    run = run_as_client(code)
    assert run.returncode == 0, run.stderr


def test_modules_for_every_session_load_nothing_of_the_native_backend():
    paths = [file.relative_to(SOURCE).with_suffix("").parts for file in FILES if file.name != "__main__.py"]
    names = {".".join(["bayou", *path]).removesuffix(".__init__") for path in paths}
    modules = sorted(name for name in names if not name.startswith(("bayou.spark.jvm", "bayou.spark.native")))
    code = f"""
import sys
from importlib import import_module

for module in {modules}:
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        assert error.name == "IPython", (module, error)  # a notebook has it
loaded = [name for name in sys.modules if name.startswith(("bayou.spark.jvm", "bayou.spark.native"))]
assert not loaded, loaded
"""
    run = run_as_client(code)
    assert run.returncode == 0, run.stderr


def test_with_the_client_of_spark_connect_alone_each_name_is_there_and_a_classic_application_is_not():
    pytest.importorskip("grpc", reason="the client of Spark Connect needs it")
    code = f"""
import bayou
for name in {NEED_SPARK}:
    getattr(bayou, name)
bayou.install_as_delta()
from bayou.spark.jvm.core.bridge import Jvm
assert Jvm.running() is None
"""
    run = run_as_client(code)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("code", ["from bayou import enable", "import bayou.as_delta.__main__", "import bayou.testing.as_delta"])
def test_without_pyspark_every_way_in_ends_with_the_command_that_installs_it(code):
    run = run_without("pyspark", code)
    assert run.returncode == 1
    last = run.stderr.splitlines()[-1]
    assert last.startswith("bayou.errors.MissingPackageError: Using bayou.")
    assert last.endswith("Next: Run pip install 'bayou[spark]'.")


@pytest.mark.parametrize(("package", "lacking"), [("pyspark", NEED_SPARK), ("nothing", [])])
def test_the_help_and_the_completion_have_the_names_that_can_be_loaded(package, lacking):
    run = run_without(
        package, "import pydoc, bayou\nassert 'class DeltaLog' in pydoc.plain(pydoc.render_doc(bayou))\nprint(*dir(bayou))"
    )
    assert run.returncode == 0, run.stderr
    import bayou

    assert set(run.stdout.split()) == set(bayou.__all__) - set(lacking)


@pytest.mark.parametrize("package", ["pyspark", "py4j"])
def test_without_pyspark_only_the_check_of_rows_says_how_to_install_it(package, table):
    code = """
import bayou, sys
assert bayou.check(sys.argv[1], files=True, footers=True).exit_code == 0
bayou.check(sys.argv[1], rows=True)
"""
    run = run_without(package, code, table)
    last = run.stderr.splitlines()[-1]
    assert last.startswith("bayou.errors.MissingPackageError: Using bayou.check(rows=True) needs Py")
    assert last.endswith("Next: Run pip install 'bayou[spark]'.")


def test_another_missing_module_is_not_explained_as_one_of_spark():
    run = run_without("pyarrow", "import bayou\nbayou.open")
    assert "No module named 'pyarrow" in run.stderr
    assert "bayou[spark]" not in run.stderr


def test_a_name_that_bayou_does_not_have_is_an_attribute_error():
    import bayou

    with pytest.raises(AttributeError, match="'nothing'"):
        bayou.nothing  # noqa: B018
