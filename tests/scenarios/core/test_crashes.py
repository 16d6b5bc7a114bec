# SPDX-License-Identifier: Apache-2.0
"""A writer that is killed, or whose disk fails: the table opens, what was committed is there once, and the next one goes on."""

from __future__ import annotations

import errno
import json
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from tests.scenarios.core.crash_steps import STEPS

# Deleting is the store's own affair, and goes on when the disk is full.
WRITES = [step for step in STEPS if not step.startswith("cleanup:")]
# Half of the steps on tables with classic checkpoints, and half with V2 checkpoints, which alone have sidecars.
KILLS = [{"step": step, "v2": "sidecar" in step or number % 2 == 1} for number, step in enumerate(STEPS)]
OTHER_KIND = [{**kill, "v2": not kill["v2"]} for kill in KILLS if kill["step"].startswith("checkpoint:")]
FAILURES = [
    "data file: half written",
    "commit: opened",
    "commit: half written",
    "commit: synced",
    "commit: named",
    "commit: folder synced",
    "checksum: half written",
    "checkpoint: half written",
    "last checkpoint: synced",
]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks, and is killed by a signal")


@pytest.fixture
def try_out(interpreters):
    """Runs trials in a process of their own, whose forks are what is killed, and returns how often it was at each step."""

    def hits(folder, trials, *, repetitions=1):
        order = {"folder": str(folder), "trials": trials, "repetitions": repetitions}
        done = interpreters.run("from tests.scenarios.core.killed_writer import main; main()", given=json.dumps(order))
        assert not done.code, done.err
        answer = json.loads(done.out)
        assert not answer["failures"], "\n".join(answer["failures"][:3])
        return answer["hits"]

    return hits


def test_a_writer_killed_at_any_step_leaves_a_sound_table(try_out, tmp_path):
    assert try_out(tmp_path, [("kill", kill) for kill in KILLS]) == dict.fromkeys(STEPS, 1)


@pytest.mark.soak
def test_five_hundred_killed_writers_leave_sound_tables(try_out, tmp_path):
    hits = try_out(tmp_path, [("kill", kill) for kill in (*KILLS, *OTHER_KIND)], repetitions=10)
    assert {step for step, times in hits.items() if times >= 10} == set(STEPS)
    assert sum(hits.values()) >= 500


def test_a_disk_that_is_full_or_fails_leaves_a_sound_table(try_out, tmp_path):
    trials = [("fail", {"step": step, "code": errno.ENOSPC, "lasts": lasts}) for step in FAILURES for lasts in (False, True)]
    try_out(tmp_path, trials)


@pytest.mark.soak
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("lasts", [False, True])
def test_a_disk_that_is_full_or_fails_at_any_step_leaves_a_sound_table(try_out, tmp_path, code, lasts):
    try_out(tmp_path, [("fail", {"step": step, "code": code, "lasts": lasts}) for step in WRITES], repetitions=3)


def test_files_that_can_get_no_longer_leave_a_sound_table(try_out, tmp_path):
    # Shorter than a commit, than a checksum, and than a checkpoint.
    try_out(tmp_path, [("limit", {"size": size}) for size in (1 << 20, 0, 100, 700, 3_000, 6_000)])


def test_a_folder_that_cannot_be_written_is_an_outcome_that_is_not_known(try_out, open_folder):
    try_out(open_folder, [("forbid", {})])


@pytest.fixture
def open_folder():
    """A folder that other users may enter: root has to become another user to be forbidden anything."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)
