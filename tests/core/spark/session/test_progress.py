# SPDX-License-Identifier: Apache-2.0
"""The line that a long operation has on a terminal, without Spark: what it says, when it is there, and that it goes."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from rich.console import Console

from bayou.spark.session import progress
from bayou.spark.session.progress import SETTING, VARIABLE, Display, displayed, is_wanted, phase
from bayou.spark.session.progress_line import Line
from bayou.spark.task_counts import Tasks

SECONDS = 30
"""How long a test waits for the thread before it fails."""


class FakeTasks:
    """Tasks as a test says them; it can wait for the display to have asked for them."""

    def __init__(self, tasks=None, *, drawn_by_spark=False):
        self.tasks = tasks if tasks is not None else Tasks()
        self.are_drawn_by_spark = drawn_by_spark
        self.calls = []
        self._asked = threading.Semaphore(0)

    def begin(self):
        self.calls.append("begin")

    def count(self):
        self._asked.release()
        if isinstance(self.tasks, Exception):
            raise self.tasks
        return self.tasks

    def end(self):
        self.calls.append("end")

    def wait_until_drawn(self):
        """Two more questions: what was to be drawn after the first one has been drawn by the second."""
        while self._asked.acquire(blocking=False):
            pass
        for _ in range(3):
            assert self._asked.acquire(timeout=SECONDS)


class FakeBar:
    """Spark's bar, on a screen: Spark draws it, and clears it, as `ConsoleProgressBar` does."""

    TEXT = "[Stage 3:====>       (2 + 2) / 10]"

    def __init__(self, screen=None):
        self.out = screen.out if screen else io.StringIO()
        self.clears = 0
        self.is_there = False

    def draw(self):
        self.out.write(f"\r{self.TEXT}\r")
        self.is_there = True

    def clear(self):
        self.clears += 1
        if self.is_there:
            self.out.write("\r" + " " * 80 + "\r")
        self.is_there = False


class Screen:
    """A terminal that a rich console writes to; it knows what one would show."""

    def __init__(self):
        self.out = io.StringIO()
        self.console = Console(file=self.out, force_terminal=True, width=120, legacy_windows=False, color_system=None)

    def line(self, name):
        return Line(name, self.console)

    @property
    def text(self):
        return re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", self.out.getvalue())

    def lines(self):
        """The lines that are on the screen now, and the row and the column of the cursor."""
        rows, row, column = [""], 0, 0
        for control, number, letter, char in re.findall(r"(\x1b\[\??([0-9;]*)([a-zA-Z]))|(.|\n)", self.out.getvalue()):
            if control:
                assert letter in "Khlm" or letter == "A", control
                row -= int(number or 1) if letter == "A" else 0
                rows[row] = "" if letter == "K" else rows[row]
            elif char == "\r":
                column = 0
            elif char == "\n":
                row, column = row + 1, 0
                rows += [""] * (row + 1 - len(rows))
            else:
                rows[row] = rows[row][:column].ljust(column) + char + rows[row][column + 1 :]
                column += 1
        return [each.rstrip() for each in rows], row, column

    @property
    def hides_cursor(self):
        return self.out.getvalue().rfind("\x1b[?25l") > self.out.getvalue().rfind("\x1b[?25h")


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    return Screen()


def begun(tasks, screen, name="MERGE", bar=None):
    display = Display(name, tasks, bar or FakeBar(), line=screen.line, delay_seconds=0, interval_seconds=0.001)
    display.start()
    return display


def check_gone(screen, display):
    lines, row, column = screen.lines()
    assert set(lines) == {""}
    assert (row, column) == (0, 0)
    assert not screen.hides_cursor
    assert not display._thread.is_alive()


def test_the_line_says_the_operation_its_phase_its_tasks_and_the_seconds(screen):
    tasks = FakeTasks(Tasks(3, 1200, is_running=True))
    display = begun(tasks, screen)
    display.phase("finding rows")
    tasks.wait_until_drawn()
    (line,) = (each for each in screen.lines()[0] if each)
    assert re.search(r"MERGE +finding rows .* 3/1,200 tasks +\d+ s( +about \d+ (s|min \d+ s) left)?$", line), line
    assert screen.hides_cursor
    display.close()
    check_gone(screen, display)


def test_each_phase_counts_its_own_tasks_and_draws_over_the_one_before(screen):
    tasks = FakeTasks(Tasks(8, 8))
    display = begun(tasks, screen)
    display.phase("finding rows")
    display.phase("finding rows")
    tasks.wait_until_drawn()
    tasks.tasks = Tasks(1, 4, is_running=True)
    display.phase("writing")
    tasks.wait_until_drawn()
    (line,) = (each for each in screen.lines()[0] if each)
    assert "writing" in line
    assert "1/4 tasks" in line
    assert "finding" not in line
    display.close()
    assert tasks.calls == ["begin", "begin", "begin", "end"]  # preparing, finding rows, writing
    check_gone(screen, display)


def test_a_quick_operation_draws_nothing(screen):
    made = []
    display = Display("MERGE", FakeTasks(), FakeBar(), line=made.append, delay_seconds=SECONDS)
    display.start()
    display.close()
    assert not made
    check_gone(screen, display)


def test_the_line_replaces_the_bar_that_spark_draws(screen):
    bar = FakeBar(screen)
    bar.draw()
    tasks = FakeTasks(Tasks(2, 9, is_running=True), drawn_by_spark=True)
    display = begun(tasks, screen, bar=bar)
    tasks.wait_until_drawn()
    (line,) = (each for each in screen.lines()[0] if each)
    assert re.search(r"MERGE +preparing .* 2/9 tasks +\d+ s( +about \d+ s left)?$", line), line
    cleared = bar.clears
    tasks.wait_until_drawn()
    assert bar.clears > cleared  # Spark would draw it again
    display.close()
    cleared = bar.clears
    assert bar.TEXT in screen.text
    check_gone(screen, display)
    bar.draw()
    assert screen.lines()[0][0] == bar.TEXT  # Spark has the terminal again
    assert bar.clears == cleared


def test_a_session_without_a_bar_of_spark_is_not_asked_to_clear_one(screen):
    tasks, bar = FakeTasks(Tasks(2, 9, is_running=True)), FakeBar()
    display = begun(tasks, screen, bar=bar)
    tasks.wait_until_drawn()
    display.close()
    assert not bar.clears


def test_spark_s_bar_is_cleared_more_often_than_spark_draws_it():
    """Spark waits for 500 ms after `finishAll` before it draws its bar again."""
    assert progress.INTERVAL_SECONDS * 1.5 < 0.5


def test_of_several_threads_the_first_has_the_line_until_it_is_done(screen):
    first_tasks, second_tasks, other = FakeTasks(), FakeTasks(), Screen()
    first = begun(first_tasks, screen, "DELETE")
    first_tasks.wait_until_drawn()
    second = begun(second_tasks, other, "UPDATE")
    first_tasks.wait_until_drawn()
    assert not other.text
    first.close()
    second_tasks.wait_until_drawn()
    second.close()
    assert "UPDATE" in other.text
    assert "UPDATE" not in screen.text
    check_gone(other, second)


@pytest.mark.parametrize("broken", ["tasks", "line", "terminal"])
def test_what_is_wrong_with_the_display_is_no_error_of_the_operation(screen, broken, monkeypatch):
    tasks = FakeTasks(ValueError("the session is gone")) if broken == "tasks" else FakeTasks()
    if broken == "tasks":
        monkeypatch.setattr(tasks, "begin", lambda: 1 / 0)
        monkeypatch.setattr(tasks, "end", lambda: 1 / 0)
    if broken == "terminal":
        screen.out.close()
    display = Display("MERGE", tasks, FakeBar(), line=(lambda _: 1 / 0) if broken == "line" else screen.line, delay_seconds=0)
    display.start()
    display.phase("writing")
    if broken == "tasks":
        tasks.wait_until_drawn()
        assert "writing" in screen.text
    else:
        display._thread.join(SECONDS)
    display.close()
    assert not display._thread.is_alive()
    assert not progress._TERMINAL.locked()


@pytest.fixture
def displays(monkeypatch, screen):
    """The displays that `displayed` makes, with fake tasks and on the screen of the test."""
    made = []

    def display(name, *_):
        made.append(Display(name, FakeTasks(), FakeBar(), line=screen.line, delay_seconds=0, interval_seconds=0.001))
        return made[-1]

    monkeypatch.setattr(progress, "Display", display)
    monkeypatch.setattr(progress, "backend_of", lambda _: SimpleNamespace(task_counters=lambda _: (None, None)))
    return made


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_errors_and_interrupts_take_the_line_down(displays, screen, error):
    def fail():
        with displayed("DELETE", None, {SETTING: "on"}):
            displays[0]._tasks.wait_until_drawn()
            raise error

    with pytest.raises(error):
        fail()
    assert "DELETE" in screen.text
    check_gone(screen, displays[0])
    phase("writing")
    assert displays[0]._phase == "preparing"


def test_operations_inside_of_one_another_have_one_line_and_share_its_phases(displays):
    with displayed("DROP FEATURE", None, {SETTING: "on"}):
        with displayed("REORG", None, {SETTING: "on"}):
            phase("writing")
        phase("committing")
        assert [each._phase for each in displays] == ["committing"]
    with displayed("MERGE", None, {SETTING: "on"}):
        assert [each._name for each in displays] == ["DROP FEATURE", "MERGE"]


def test_a_phase_without_an_operation_is_nothing():
    phase("writing")


class Stderr(io.StringIO):
    """Stderr as a terminal, or as none."""

    def __init__(self, *, is_terminal):
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal


@pytest.mark.parametrize(
    ("setting", "variable", "is_terminal", "expected"),
    [
        (None, None, True, True),
        (None, None, False, False),
        ("auto", "on", False, False),
        ("auto", None, True, True),
        ("on", None, False, True),
        ("ON ", "off", False, True),
        ("true", None, False, True),
        ("off", "on", True, False),
        ("no", None, True, False),
        (None, "on", False, True),
        (None, "off", True, False),
    ],
)
def test_the_session_comes_before_the_environment_and_both_before_the_terminal(
    monkeypatch, setting, variable, is_terminal, expected
):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delitem(sys.modules, "ipykernel.kernelapp", raising=False)
    if variable is not None:
        monkeypatch.setenv(VARIABLE, variable)
    monkeypatch.setattr(sys, "stderr", Stderr(is_terminal=is_terminal))
    assert is_wanted({} if setting is None else {SETTING: setting}) is expected


def test_notebooks_get_a_line_by_themselves_and_need_no_rich(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(sys, "stderr", Stderr(is_terminal=False))
    monkeypatch.setattr(progress, "_has_rich", lambda: False)
    assert not is_wanted({})
    monkeypatch.setitem(sys.modules, "ipykernel.kernelapp", sys)
    assert is_wanted({})
    assert not is_wanted({SETTING: "off"})


def test_an_operation_that_was_shown_and_succeeded_leaves_a_closing_line(displays, screen):
    with displayed("MERGE orders", None, {SETTING: "on"}):
        displays[0]._tasks.wait_until_drawn()
        progress.committed(12, {"numTargetRowsUpdated": "1600", "numTargetRowsInserted": 1, "numTargetRowsDeleted": "0"})
    (line,) = (each for each in screen.lines()[0] if each)
    assert re.fullmatch(r"MERGE orders: version 12, 1,600 updated, 1 inserted, \d+\.\d s", line)
    assert not screen.hides_cursor


def test_an_operation_without_a_commit_is_done(displays, screen):
    with displayed("SYNC IDENTITY t", None, {SETTING: "on"}):
        displays[0]._tasks.wait_until_drawn()
    assert re.search(r"SYNC IDENTITY t: done, \d+\.\d s", screen.text)


@pytest.mark.parametrize(
    ("metrics", "text"),
    [
        ({}, "version 3"),
        ({"numOutputRows": "1200", "numFiles": "4"}, "version 3, 1,200 rows"),
        ({"numUpdatedRows": 5, "numOutputRows": 9}, "version 3, 5 updated"),
        ({"numDeletedRows": "many"}, "version 3"),
    ],
)
def test_a_closing_line_has_the_rows_that_changed(metrics, text):
    assert progress.outcome_text(3, metrics) == text


def test_the_planning_of_an_operation_leaves_the_closing_line_to_the_operation(displays, screen):
    with displayed("MERGE t", None, {SETTING: "on"}, closes=False):
        displays[0]._tasks.wait_until_drawn()
    check_gone(screen, displays[0])


def test_a_commit_without_a_shown_operation_is_nothing():
    progress.committed(3, {})


def test_dumb_terminals_and_processes_without_stderr_get_no_line_by_themselves(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Stderr(is_terminal=True))
    assert is_wanted({})
    with monkeypatch.context() as dumb:
        dumb.setenv("TERM", "dumb")
        assert not is_wanted({})
    sys.stderr.close()
    monkeypatch.setattr(Stderr, "isatty", io.StringIO.isatty)
    assert not is_wanted({})
    monkeypatch.setattr(sys, "stderr", None)
    assert not is_wanted({})


def test_without_rich_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(progress, "_has_rich", lambda: False)
    assert not is_wanted({SETTING: "on"})


def test_what_is_not_shown_starts_no_thread_and_loads_neither_rich_nor_spark():
    code = (
        "import sys, threading\n"
        "from bayou.spark.session.progress import displayed, phase\n"
        "with displayed('MERGE', None, {'spark.bayou.progress': 'off'}):\n"
        "    phase('writing')\n"
        "    assert threading.active_count() == 1\n"
        "assert not {'rich', 'pyspark', 'py4j'} & set(sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
