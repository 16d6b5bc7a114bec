# SPDX-License-Identifier: Apache-2.0
"""The help of each command has an example that the command accepts, and shells complete the path of a table."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from bayou.cli.app import commands

NAMES = sorted(commands.commands)


@pytest.mark.parametrize("name", NAMES)
def test_the_help_fits_80_columns_and_has_an_example_that_is_accepted(bayou_command, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    printed = bayou_command(name, "--help").out
    assert max(map(len, printed.splitlines())) <= 80
    program, command, *arguments = shlex.split(re.search(r"Example: (.*)", printed).group(1))
    assert (program, command) == ("bayou", name)
    commands.commands[name].make_context(name, arguments)


@pytest.mark.parametrize("name", [name for name in NAMES if any(each.name == "table" for each in commands.commands[name].params)])
def test_shells_complete_the_path_of_a_table(name):
    found = ShellComplete(commands, {}, "bayou", "_BAYOU_COMPLETE").get_completions([name], "/da")
    assert [(each.value, each.type) for each in found] == [("/da", "dir")]


def test_the_program_answers_a_shell():
    """bash's words, as click's script for it passes them."""
    code = "import sys; from bayou.cli import main; sys.exit(main())"
    words = {"_BAYOU_COMPLETE": "bash_complete", "COMP_WORDS": "bayou hist", "COMP_CWORD": "1"}
    environment = {**os.environ, **words}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert run.stdout.split() == ["plain,history"], run.stderr
