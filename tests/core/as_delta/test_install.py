# SPDX-License-Identifier: Apache-2.0
"""`install_as_delta` changes a whole process: each test has one of its own. No session starts."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bayou.as_delta.versions import artifact, delta_spark_version

SOURCE = Path(__file__).parents[3] / "src"


@pytest.fixture
def run(interpreters, tmp_path):
    """Runs code in a process of its own, and returns the words that it prints."""

    def words(code, *arguments):
        done = interpreters.run(textwrap.dedent(code), *arguments, folder=tmp_path)
        assert done.code == 0, done.err
        return done.out.split()

    return words


def test_programs_import_every_name_and_get_the_classes_of_bayou(run):
    code = """
        import bayou
        bayou.install_as_delta()
        import delta, delta.tables, delta.exceptions, delta.pip_utils
        from delta import DeltaTable, IdentityGenerator, configure_spark_with_delta_pip
        from delta.tables import *
        from delta.exceptions import *
        from delta.exceptions.base import ConcurrentAppendException as same
        assert DeltaTable is delta.tables.DeltaTable is delta.DeltaTable is bayou.DeltaTable
        assert same is ConcurrentAppendException is delta.exceptions.ConcurrentAppendException
        assert delta.pip_utils.configure_spark_with_delta_pip is configure_spark_with_delta_pip
        try:
            import delta.connect
        except ModuleNotFoundError as error:
            print(error.name)
    """
    assert run(code) == ["delta.connect"]


def test_the_modules_of_the_exceptions_are_there_however_they_are_imported(run):
    code = """
        import bayou
        bayou.install_as_delta()
        import delta.exceptions.captured as captured
        from delta.exceptions import base, captured as same
        import delta, sys
        assert captured is same is delta.exceptions.captured is sys.modules["delta.exceptions.captured"]
        assert base is delta.exceptions.base is sys.modules["delta.exceptions.base"] is not captured
        assert captured._delta_exception_patched
        print(captured.ConcurrentAppendException is base.ConcurrentAppendException is delta.exceptions.ConcurrentAppendException)
    """
    assert run(code) == ["True"]


def test_the_metadata_answers_under_each_spelling_and_for_no_other_name(run):
    code = """
        import bayou
        bayou.install_as_delta()
        import delta, re, importlib.metadata as metadata
        print(*{metadata.version(name) for name in ("delta-spark", "delta_spark", "Delta.Spark")}, delta.__version__)
        print(metadata.metadata("delta-spark")["Name"], metadata.version("pytest") != delta.__version__)
        print([each.metadata["Name"].replace("_", "-") for each in metadata.distributions()].count("delta-spark"))
        print(*[re.split("[<>]", each)[0] for each in metadata.requires("delta-spark")])
        try:
            metadata.version("delta")
        except metadata.PackageNotFoundError:
            print("none")
    """
    version, again, name, other, times, *required, none = run(code)
    assert version == again == delta_spark_version(__import__("pyspark").__version__)
    name_of_release = "delta-spark" if version.startswith("3.") else "delta_spark"
    assert (name, other, times, none) == (name_of_release, "True", "1", "none")
    assert required == ["pyspark", "importlib_metadata"]


@pytest.mark.parametrize(
    ("spark", "version"), [("3.5.9", "3.3.2"), ("4.0.1", "4.4.0"), ("4.2.0", "4.4.0"), ("4.3.0", "4.4.0"), ("5.0.0.dev1", "4.4.0")]
)
def test_the_version_is_one_that_a_program_on_that_spark_could_have(spark, version):
    assert delta_spark_version(spark) == version


@pytest.mark.parametrize(
    ("spark", "name"), [("3.5.9", "delta-spark_2.12"), ("4.0.1", "delta-spark_4.0_2.13"), ("4.2.0", "delta-spark_4.2_2.13")]
)
def test_the_package_is_called_after_its_spark(spark, name):
    assert artifact(spark) == name


def test_installing_again_changes_nothing(run):
    code = """
        import sys, bayou
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        def state():
            builder = SparkSession.Builder.getOrCreate
            methods = (SparkContext.__init__, SparkContext._ensure_initialized.__func__, SparkSession.__init__, SparkSession.sql)
            return [id(each) for each in (builder, *methods, sys.modules["delta"])], list(sys.meta_path)

        before = SparkSession.Builder.getOrCreate
        bayou.install_as_delta()
        once = state()
        bayou.install_as_delta()
        assert state() == once
        assert SparkSession.Builder.getOrCreate.__wrapped__ is before
    """
    run(code)


def test_nothing_is_wrapped_and_no_module_is_there_before(run):
    code = """
        import sys, bayou
        from pyspark.sql import SparkSession
        import bayou.table
        assert not hasattr(SparkSession.Builder.getOrCreate, "by_bayou")
        assert "delta" not in sys.modules
    """
    run(code)


def test_a_delta_that_is_imported_already_is_not_displaced(run, tmp_path):
    (tmp_path / "delta.py").write_text("real = True", encoding="utf-8")
    code = """
        import sys
        sys.path.insert(0, ".")
        import delta, bayou
        try:
            bayou.install_as_delta()
        except bayou.errors.SessionError as error:
            assert "import delta" in str(error), error
            print(delta.real, sys.modules["delta"] is delta)
    """
    assert run(code) == ["True", "True"]


def test_a_delta_that_is_installed_and_not_imported_is_not_used(run, tmp_path):
    (tmp_path / "delta.py").write_text("real = True", encoding="utf-8")
    code = """
        import sys
        sys.path.insert(0, ".")
        import bayou
        bayou.install_as_delta()
        import delta
        print(hasattr(delta, "real"))
    """
    assert run(code) == ["False"]


def test_a_program_runs_unmodified_from_the_command_line(run, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import sys, beside, delta\nprint(__name__, sys.argv[1:], delta.__name__)\n", encoding="utf-8")
    (tmp_path / "beside.py").write_text("", encoding="utf-8")
    printed = ["__main__", "['x']", "bayou.as_delta.delta"]
    assert run("import bayou.as_delta.__main__ as program; program.main()", "-m", "program", "x") == printed
    # This one in an interpreter that has loaded nothing.
    command = [sys.executable, "-m", "bayou.as_delta", str(program), "x"]
    environment = {"PYTHONPATH": str(SOURCE), "PATH": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, printed), done.stderr


def test_the_plugin_installs_before_a_suite_s_conftest_is_read(run, tmp_path):
    (tmp_path / "conftest.py").write_text("from delta import DeltaTable\n", encoding="utf-8")
    (tmp_path / "test_it.py").write_text("def test_it():\n    from delta.tables import DeltaTable\n", encoding="utf-8")
    code = """
        import os, sys
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        import pytest
        sys.exit(pytest.main(sys.argv[1:]))
    """
    found = run(code, "-q", "-p", "bayou.testing.as_delta", "-p", "no:cacheprovider", ".")
    assert found[-4:-2] == ["1", "passed"]
