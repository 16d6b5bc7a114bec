# SPDX-License-Identifier: Apache-2.0
"""Standard streams that are closed, full or not to be written to, and Ctrl-C: an exit code and never a trace."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import pytest
from tests.core.cli.test_output import COMMANDS
from tests.support.interpreters import Ended

from bayou.cli import main
from bayou.log.delta_log import DeltaLog

RUN = "import sys; from bayou.cli import main; sys.exit(main())"


@pytest.fixture
def command(interpreters):
    """Runs the command line in a process of its own, whose streams are None where they are closed."""

    def run(*arguments, code=RUN, streams=None, **environment):
        with contextlib.ExitStack() as files:
            opened = {number: each and files.enter_context(open_file(*each)) for number, each in (streams or {}).items()}
            return interpreters.run(code, *arguments, streams=opened, environment=environment)

    return run


@contextlib.contextmanager
def open_file(path, flags=os.O_WRONLY):
    descriptor = os.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


FULL = ("/dev/full",)
FOR_READING = (os.devnull, os.O_RDONLY)


def shell(redirection, *arguments, code=RUN):
    """The same by a shell, and in an interpreter that has loaded nothing."""
    started = [sys.executable, "-c", code, *arguments]
    return subprocess.run(["/bin/sh", "-c", f'"$@" {redirection}', "sh", *started], capture_output=True, text=True, check=False)


def test_a_process_that_a_shell_starts_without_output_is_an_exit_code_and_silence(table):
    result = shell(">&- 2>&-", "files", table)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", "")


@pytest.mark.parametrize(
    ("closed", "name"), [*(([1], each) for each in COMMANDS), ([1, 2], "files"), ([0, 1, 2], "files")], ids=str
)
def test_a_closed_output_is_an_exit_code_and_silence(table, command, name, closed):
    assert command(name, table, streams=dict.fromkeys(closed)) == Ended(1, "", "")


@pytest.mark.parametrize("streams", [{0: None, 2: None}, {2: FULL}], ids=str)
def test_other_closed_streams_do_not_matter(table, command, streams):
    result = command("files", table, streams=streams)
    assert (result.code, result.err) == (0, "")
    assert result.out.endswith("c.parquet\n")


@pytest.mark.parametrize(
    ("streams", "arguments"),
    [
        ({1: None}, ["files", "nothing"]),
        ({1: None}, ["nonsense"]),
        ({1: None, 2: None}, ["nonsense"]),
        ({2: FULL}, ["files", "nothing"]),
    ],
    ids=str,
)
def test_an_error_is_an_exit_code_where_nobody_can_read_it(command, streams, arguments):
    result = command(*arguments, streams=streams)
    assert result.code == 1
    assert len(result.err.splitlines()) == (0 if 2 in streams else 1)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_goes_to_a_closed_output(command, option):
    assert command(option, streams={1: None}) == Ended(1, "", "")


@pytest.mark.parametrize(("output", "why"), [(FULL, "No space left"), (FOR_READING, "Bad file descriptor")])
def test_an_output_that_takes_nothing_is_one_line(table, command, output, why):
    result = command("files", table, streams={1: output})
    assert result.code == 1
    assert result.err.startswith("bayou: ")
    assert why in result.err
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "color"), [(["files", "--json"], ""), (["history"], "1"), (["history"], ""), (["schema"], "")]
)
def test_a_reader_that_stops_is_an_exit_code_and_silence(table, interpreters, arguments, color):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        result = interpreters.run(RUN, *arguments, table, streams={1: writing}, environment={"FORCE_COLOR": color})
    finally:
        os.close(writing)
    assert result == Ended(1, "", "")


@pytest.mark.parametrize("module", ["bayou.cli.app", "pyarrow"])
def test_an_interrupt_during_an_import_is_an_exit_code_and_silence(table, module):
    code = f"""
import builtins, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever this process was started by ignores
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
def test_an_interrupt_during_the_work_is_an_exit_code_and_silence(table, command, place):
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
    result = command("files", table, code=code)
    assert (result.code, result.err) == (130, "")


def test_an_ignored_interrupt_stays_ignored(table, command):
    code = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
from bayou.cli import main
code = main()
os.kill(os.getpid(), signal.SIGINT)
sys.exit(code)
"""
    assert command("files", table, code=code).code == 0


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
