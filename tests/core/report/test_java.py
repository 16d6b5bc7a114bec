# SPDX-License-Identifier: Apache-2.0
"""The Java that Spark would start: that of JAVA_HOME, or else the first on PATH."""

from __future__ import annotations

import subprocess

import pytest

from bayou.report.java import java_version

VERSION = 'openjdk version "17.0.9" 2023-10-17'


@pytest.fixture
def folder(tmp_path):
    """A folder with a `java` that prints a note and its version to standard error."""
    program = tmp_path / "home" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'Picked up JAVA_TOOL_OPTIONS: -Dx' >&2\necho '{VERSION}' >&2\n")
    program.chmod(0o755)
    return program.parent


def test_java_home_precedes_the_path(folder):
    assert java_version({"JAVA_HOME": str(folder.parent)}) == VERSION
    assert java_version({"PATH": str(folder)}) == VERSION
    assert java_version({"JAVA_HOME": "/no/such/folder", "PATH": str(folder)}) is None


def test_no_java_has_no_version():
    assert java_version({"PATH": ""}) is None


def test_a_java_that_does_not_answer_is_given_up(folder, monkeypatch):
    def late(*_arguments, **_options):
        raise subprocess.TimeoutExpired("java", 1)

    monkeypatch.setattr(subprocess, "run", late)
    assert java_version({"PATH": str(folder)}) is None
