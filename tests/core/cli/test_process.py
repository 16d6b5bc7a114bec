# SPDX-License-Identifier: Apache-2.0
"""Standard streams that are closed, full or not to be written to, and Ctrl-C: an exit code and never a trace."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from tests.core.cli.test_output import COMMANDS

from bayou.cli import main
from bayou.log.delta_log import DeltaLog

RUN = "import sys; from bayou.cli import main; sys.exit(main())"


def shell(redirection, *arguments, code=RUN):
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(["/bin/sh", "-c", f'"$@" {redirection}', "sh", *command], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("redirection", "command"), [*((">&-", command) for command in COMMANDS), (">&- 2>&-", "files"), ("<&- >&- 2>&-", "files")]
)
def test_a_closed_output_is_an_exit_code_and_silence(table, command, redirection):
    result = shell(redirection, command, table)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", "")


@pytest.mark.parametrize("redirection", ["<&- 2>&-", "2>/dev/full"])
def test_other_closed_streams_do_not_matter(table, redirection):
    result = shell(redirection, "files", table)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith("c.parquet\n")


@pytest.mark.parametrize(
    ("redirection", "arguments"),
    [(">&-", ["files", "nothing"]), (">&-", ["nonsense"]), (">&- 2>&-", ["nonsense"]), ("2>/dev/full", ["files", "nothing"])],
)
def test_an_error_is_an_exit_code_where_nobody_can_read_it(redirection, arguments):
    result = shell(redirection, *arguments)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == (1 if redirection == ">&-" else 0)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_goes_to_a_closed_output(option):
    result = shell(">&-", option)
    assert (result.returncode, result.stderr) == (1, "")


@pytest.mark.parametrize(("redirection", "why"), [(">/dev/full", "No space left"), ("1</dev/null", "Bad file descriptor")])
def test_an_output_that_takes_nothing_is_one_line(table, redirection, why):
    result = shell(redirection, "files", table)
    assert result.returncode == 1
    assert result.stderr.startswith("bayou: ")
    assert why in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(("arguments", "color"), [(["files", "--json"], ""), (["history"], "1"), (["schema"], "")])
def test_a_reader_that_stops_is_an_exit_code_and_silence(table, arguments, color, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", color)
    command = [sys.executable, "-c", RUN, *arguments, table]
    closed = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    closed.stdout.close()
    assert closed.stderr.read() == b""
    closed.stderr.close()
    assert closed.wait() == 1


@pytest.mark.parametrize("module", ["bayou.cli.app", "pyarrow"])
def test_an_interrupt_during_an_import_is_an_exit_code_and_silence(table, module):
    code = f"""
import builtins, os, signal, sys
from bayou.cli import main
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.exit(main())
"""
    result = shell("", "files", table, code=code)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


@pytest.mark.parametrize("place", ["bayou.log.delta_log.DeltaLog.update", "bayou.cli.output.escape"])
def test_an_interrupt_during_the_work_is_an_exit_code_and_silence(table, place):
    module, _, name = place.rpartition(".")
    head, _, kind = module.rpartition(".")
    owner = f"from {head} import {kind} as owner" if kind[0].isupper() else f"import {module} as owner"
    code = f"""
import os, signal, sys
{owner}
from bayou.cli import main
def interrupted(*arguments, **options):
    os.kill(os.getpid(), signal.SIGINT)
    import time; time.sleep(10)
owner.{name} = interrupted
sys.exit(main())
"""
    result = shell("", "files", table, code=code)
    assert (result.returncode, result.stderr) == (130, "")


def test_an_ignored_interrupt_stays_ignored(table):
    code = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
from bayou.cli import main
code = main()
os.kill(os.getpid(), signal.SIGINT)
sys.exit(code)
"""
    assert shell("", "files", table, code=code).returncode == 0


def test_a_caller_in_the_same_process_keeps_its_handler_and_its_streams(table, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(DeltaLog, "update", interrupted)
    assert main(["files", table]) == 130
    assert signal.getsignal(signal.SIGINT) is before
    assert capsys.readouterr() == ("", "")


def test_a_process_without_streams_gets_them_back(table, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["files", table]) == 1
    assert sys.stdout is None
    assert sys.stderr is None
