# SPDX-License-Identifier: Apache-2.0
"""`make demo` and `make test` install a system package only if the user agrees: at the terminal, or by a variable."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"
INSTALL = "import system_packages; print(system_packages.install('Java', {'apt-get': ['java-a', 'java-b'], 'brew': ['java-c']}))"
JAVA_HOME = "import sys, java_home; java_home._find = lambda: None; sys.exit(java_home.main())"
COMMAND = "apt-get install -y -q --no-install-recommends java-a"


class Machine:
    """A PATH with one package manager, which notes what it is asked for and has some packages; `sudo` runs what it is given."""

    def __init__(self, folder, manager="apt-get", has="java-a"):
        self.path = folder / "bin"
        self.path.mkdir()
        self.noted = folder / "noted"
        self.noted.touch()
        refuses = f'case "$*" in update*|*{has}) exit 0;; esac; exit 1'
        self._program(manager, f'echo "{manager} $*" >> {self.noted}; {refuses}')
        self._program("sudo", 'if [ "$1" = -n ]; then shift; fi; "$@"')

    def _program(self, name, text):
        file = self.path / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def run(self, code, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, **variables):
        environment = {"PATH": str(self.path), "PYTHONPATH": str(SCRIPTS), **variables}
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False, timeout=60
        )

    def run_at_a_terminal(self, code, answer, **variables):
        """The run, and what the terminal showed."""
        ours, theirs = os.openpty()
        try:
            os.write(ours, answer.encode())
            run = self.run(code, stdin=theirs, stderr=theirs, **variables)
            shown = b""
            # A read returns what one write left. The process has ended, so that all writes are there.
            while select.select([ours], [], [], 0.2)[0]:
                shown += os.read(ours, 65536)
            return run, shown.decode()
        finally:
            os.close(ours)
            os.close(theirs)

    @property
    def installed(self):
        return [line.split()[-1] for line in self.noted.read_text().splitlines() if " install " in line]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_without_a_terminal_nothing_is_installed_and_the_command_is_printed(machine):
    run = machine.run(INSTALL)
    assert run.stdout == "False\n"
    assert COMMAND in run.stderr
    assert "INSTALL_JAVA=1" in run.stderr
    assert not machine.noted.read_text()


@pytest.mark.parametrize("variables", [{"INSTALL_JAVA": "1"}, {"CI": "true"}, {"CI": "1"}, {"INSTALL_JAVA": "1", "CI": ""}])
def test_a_variable_agrees_without_a_question(machine, variables):
    run = machine.run(INSTALL, **variables)
    assert run.stdout.splitlines()[-1] == "True"
    assert COMMAND in run.stderr
    assert machine.installed == ["java-a"]


@pytest.mark.parametrize(
    "variables", [{"INSTALL_JAVA": "0"}, {"INSTALL_JAVA": "0", "CI": "true"}, {"INSTALL_MAVEN": "1"}, {"CI": "false"}]
)
def test_no_other_value_or_variable_agrees(machine, variables):
    assert machine.run(INSTALL, **variables).stdout == "False\n"
    assert not machine.installed


@pytest.mark.parametrize(
    ("answer", "installed"), [("y\n", ["java-a"]), ("YES\n", ["java-a"]), ("n\n", []), ("\n", []), ("\x04", []), ("maybe\n", [])]
)
def test_at_a_terminal_the_user_is_asked_and_no_is_the_default(machine, answer, installed):
    run, shown = machine.run_at_a_terminal(INSTALL, answer)
    assert COMMAND in shown
    assert "Run it now? [y/N]" in shown
    assert run.stdout.splitlines()[-1] == str(bool(installed))
    assert machine.installed == installed


def test_at_a_terminal_a_variable_still_agrees(machine):
    _, shown = machine.run_at_a_terminal(INSTALL, "", INSTALL_JAVA="1")
    assert "[y/N]" not in shown
    assert machine.installed == ["java-a"]


def test_the_next_package_is_tried_if_the_first_one_does_not_exist(tmp_path):
    machine = Machine(tmp_path, has="java-b")
    assert machine.run(INSTALL, CI="true").stdout.splitlines()[-1] == "True"
    assert machine.installed == ["java-a", "java-b"]


@pytest.mark.parametrize(("manager", "tried"), [("brew", ["java-c"]), ("dnf", [])])
def test_the_manager_is_one_that_is_there_and_has_packages(tmp_path, manager, tried):
    machine = Machine(tmp_path, manager, has="nothing")
    run = machine.run(INSTALL, CI="true")
    assert run.stdout.splitlines()[-1] == "False"
    assert machine.installed == tried


def test_without_java_the_last_line_says_what_to_do(machine):
    run = machine.run(JAVA_HOME)
    assert run.returncode == 1
    assert run.stdout == ""
    assert "apt-get install" in run.stderr
    assert "set JAVA_HOME" in run.stderr.splitlines()[-1]
    assert not machine.noted.read_text()
