# SPDX-License-Identifier: Apache-2.0
"""The versions for a bug report."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
import sys

import pytest

from bayou import __version__


@pytest.fixture
def java(monkeypatch, tmp_path):
    """Makes a `java` that prints some lines to standard error."""

    def make(*lines):
        program = tmp_path / "bin" / "java"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\n" + "".join(f"echo '{line}' >&2\n" for line in lines))
        program.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    return make


def test_a_report_has_the_versions_of_bayou_and_its_surroundings(bayou_command, java):
    java("Picked up JAVA_TOOL_OPTIONS: -Dx", 'openjdk version "17.0.9" 2023-10-17')
    (found,) = bayou_command("versions", "--json").json
    assert found["bayou"] == __version__
    assert found["python"].startswith(platform.python_version())
    assert found["pyarrow"] == importlib.metadata.version("pyarrow")
    assert found["java"] == 'openjdk version "17.0.9" 2023-10-17'
    assert found["os"] == platform.platform()
    lines = bayou_command("versions").lines
    assert any(line.split() == ["bayou", __version__] for line in lines)


def test_a_java_that_is_not_there_is_an_empty_cell(bayou_command, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (found,) = bayou_command("versions", "--json").json
    assert found["java"] is None
    assert bayou_command("versions").code == 0


def test_a_package_that_is_not_installed_has_no_version(bayou_command, monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    (found,) = bayou_command("versions", "--json").json
    assert found["pyspark"] is None


def test_the_command_does_not_load_pyspark():
    code = "import sys; from bayou.cli import main; main(['versions']); assert not {'pyspark', 'py4j'} & set(sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
