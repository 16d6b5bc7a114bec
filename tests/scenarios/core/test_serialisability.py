# SPDX-License-Identifier: Apache-2.0
"""Random histories of overlapping transactions: each that commits is one that a serial order gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from tests.scenarios.core.any_operation import Choose, any_operation
from tests.scenarios.core.histories import History, Running
from tests.scenarios.core.operations import Append
from tests.support.drawing import VERY_SLOW

from bayou.log.commit import prepared
from bayou.log.conflict import checker
from bayou.log.conflict.state import IsolationLevel
from bayou.log.conflict.winning_commits import WinningCommit
from bayou.log.staging.read_set import ReadSet

LEVELS = ["Serializable", "WriteSerializable"]
OPEN = 4


class Machine(RuleBasedStateMachine):
    """Transactions that begin, read and commit in any order, each through one of a few logs."""

    level = ""

    def __init__(self) -> None:
        super().__init__()
        self.history = History(self.level)
        self.running: list[Running] = []
        self.serial = 0

    @initialize(data=st.data())
    def fill(self, data: st.DataObject) -> None:
        self.history.commit(self.history.begin(any_operation(_choices_of(data), 0, ["append"])))

    @precondition(lambda self: len(self.running) < OPEN)
    @rule(data=st.data(), log=st.integers(0, 2), at_once=st.booleans())
    def begin(self, data: st.DataObject, log: int, at_once: bool) -> None:  # noqa: FBT001  (drawn)
        self.serial += 1
        running = self.history.begin(any_operation(_choices_of(data), self.serial), log)
        if at_once:
            self.history.read(running)
        self.running.append(running)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        self.history.commit(self._take(data))

    @precondition(lambda self: len(self.running) > 1)
    @rule(data=st.data())
    def commit_while_others_do(self, data: st.DataObject) -> None:
        running = self._take(data)
        self.history.read(running)
        overtaking = [self._take(data) for _ in range(data.draw(st.integers(1, min(2, len(self.running)))))]
        self.history.commit(running, overtaking)

    def _take(self, data: st.DataObject) -> Running:
        return self.running.pop(data.draw(st.integers(0, len(self.running) - 1)))

    def teardown(self) -> None:
        for running in self.running:
            self.history.commit(running)
        self.history.check_end()


def _choices_of(data: st.DataObject) -> Choose:
    return lambda values: data.draw(st.sampled_from(values))


def machine(level: str) -> type[Machine]:
    return type(f"Machine{level}", (Machine,), {"level": level})


def run(level: str, *, examples: int, steps: int = 20, phases: tuple[Phase, ...] = (Phase.generate, Phase.shrink)) -> None:
    chosen = settings(max_examples=examples, stateful_step_count=steps, phases=phases)
    run_state_machine_as_test(machine(level), settings=chosen)


@pytest.mark.parametrize("level", LEVELS)
def test_every_history_that_commits_is_serialisable(level):
    run(level, examples=VERY_SLOW.max_examples)


@pytest.mark.soak
@pytest.mark.parametrize("level", LEVELS)
def test_every_history_of_a_long_run_is_serialisable(level):
    run(level, examples=5_000, steps=40)


may_match, file_conflicts, commit_intent = checker.may_match, checker._file_conflicts, prepared.CommitIntent


def _everywhere(files: pa.Table, *, truth: bool) -> pa.Array:
    return pa.repeat(pa.scalar(truth), files.num_rows)


def _none_was_read(_: ReadSet, paths: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([pa.repeat(pa.scalar(value=False), len(paths))])


def _without(rule: int) -> Any:
    return lambda *arguments: (each for each in file_conflicts(*arguments) if each.rule != rule)


def _without_batches(**fields: Any) -> Any:
    return commit_intent(**{**fields, "app_ids": frozenset()})


def _blind_to_nulls(added: Any, where: Any) -> pa.Array:
    """As if a column had values alone: a file without bounds matches nothing, not even a search for NULL."""
    bounded = pc.match_substring(pc.fill_null(added.files()["stats"], '"minValues"'), '"minValues"')
    return pc.and_(may_match(added, where), pa.concat_arrays(bounded.chunks))


def _trusting_wide_statistics(added: Any, where: Any) -> pa.Array:
    """As if wide statistics proved that a file holds nothing that is looked for."""
    wide = pc.match_substring(pc.fill_null(added.files()["stats"], ""), "tightBounds")
    return pc.and_(may_match(added, where), pc.invert(pa.concat_arrays(wide.chunks)))


def hunt(level: str, kinds: Sequence[str], histories: int) -> None:
    """Histories of a few kinds of operations that overlap as much as they can; the seed is quick to find the faults below."""
    random = Random(19)
    for _ in range(histories):
        history = History(level, checkpoint_interval=1000, opens_anew=False)
        history.commit(history.begin(Append((("a", "mon", 1), ("b", "tue", 2), ("c", "mon", None)), "none")))
        running = [history.begin(any_operation(random.choice, serial, kinds), serial) for serial in range(3)]
        running[0:0] = [history.begin(Append((("d", "mon", random.choice((None, 1, 3))),), random.choice(("tight", "wide"))), 3)]
        while running:
            history.commit(running.pop(random.randrange(len(running))))
            if random.random() < 0.5:
                serial = len(history.outcomes) + 10
                running.append(history.begin(any_operation(random.choice, serial, kinds), serial))


DML = ("delete", "update", "overwrite", "select")


@dataclass(frozen=True)
class Broken:
    """A rule broken on purpose: what is put in its place, and the histories in which that shows."""

    owner: Any
    name: str
    instead: Any
    kinds: tuple[str, ...] = DML
    level: str = "Serializable"


BROKEN_RULES = {
    "missed appends are no matter": Broken(checker, "_read_by", lambda *given: _everywhere(given[-1].adds, truth=False)),
    "appends may wait under any level": Broken(checker, "_may_wait", lambda _, __, files: _everywhere(files.adds, truth=True)),
    "appends wait behind their readers": Broken(
        checker, "_readers_of", lambda *_: iter(()), ("append", "select", "update"), "WriteSerializable"
    ),
    "every commit is a blind append": Broken(WinningCommit, "is_blind_append", True, DML, "WriteSerializable"),
    "read files may be removed": Broken(ReadSet, "has_read", _none_was_read, ("delete", "select")),
    "read files may be removed from a whole read": Broken(checker, "_file_conflicts", _without(2), ("delete", "select")),
    "a file may be removed twice": Broken(checker, "_file_conflicts", _without(3), ("update", "compact", "evict")),
    "paths are compared as they are spelled": Broken(checker, "canonical_paths", lambda paths, _: paths, ("delete", "select")),
    "data columns are not looked at": Broken(checker, "may_match", lambda added, _: _everywhere(added.files(), truth=False)),
    "NULL matches nothing": Broken(checker, "may_match", _blind_to_nulls, ("append", "select", "update")),
    "wide statistics skip": Broken(checker, "may_match", _trusting_wide_statistics, ("append", "select", "update")),
    "every commit moves rows about": Broken(IsolationLevel, "of", classmethod(lambda *_: IsolationLevel.SNAPSHOT)),
    "batches are not looked up": Broken(prepared, "CommitIntent", _without_batches, ("batch",)),
    "metadata is overwritten": Broken(checker, "_checked_metadata", lambda _, state, __: state, ("annotate",)),
}


@pytest.mark.parametrize("rule", BROKEN_RULES)
def test_a_broken_rule_is_noticed(rule, monkeypatch):
    broken = BROKEN_RULES[rule]
    hunt(broken.level, broken.kinds, 2)
    monkeypatch.setattr(broken.owner, broken.name, broken.instead)
    with pytest.raises(AssertionError):
        hunt(broken.level, broken.kinds, 300)


@pytest.mark.soak
@pytest.mark.parametrize("rule", BROKEN_RULES)
def test_a_broken_rule_is_noticed_among_all_kinds_of_operations(rule, monkeypatch):
    broken = BROKEN_RULES[rule]
    monkeypatch.setattr(broken.owner, broken.name, broken.instead)
    with pytest.raises(AssertionError):
        run(broken.level, examples=12_000, phases=(Phase.generate,))
