# SPDX-License-Identifier: Apache-2.0
"""Commands that maintain a table: what they print, and that nothing happens without `--yes`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import bayou
from bayou.testing.table_builder import TableBuilder, add, remove


@pytest.fixture
def litter(tmp_path):
    """A table with a live file, one that was removed long ago, and one that no commit names."""
    path = tmp_path / "t"
    builder = TableBuilder(path).create()
    for name in ("live", "removed", "litter"):
        (path / name).write_bytes(b"12345")
        os.utime(path / name, (0, 0))
    builder.commit(add("live", size=5), add("removed", size=5)).commit(remove("removed", size=5))
    return str(path)


def names(path):
    return sorted(each.name for each in Path(path).iterdir() if each.name != "_delta_log")


def test_vacuum_says_what_it_would_delete_and_deletes_it_with_yes(bayou_command, litter):
    lines = bayou_command("vacuum", litter).lines
    assert {line.split()[-1] for line in lines[1:3]} == {"removed", "litter"}
    assert "--yes" in lines[-1]
    assert names(litter) == ["litter", "live", "removed"]
    lines = bayou_command("vacuum", litter, "--yes").lines
    assert not any("--yes" in line for line in lines)
    assert names(litter) == ["live"]


def test_vacuum_as_json(bayou_command, litter):
    (found,) = bayou_command("vacuum", litter, "--json", "--lite").json
    assert (found["kind"], found["files"], found["bytes"], found["deleted"]) == ("lite", 0, 0, 0)
    (found,) = bayou_command("vacuum", litter, "--json", "--yes").json
    assert (found["deleted"], sorted(found["paths"]), found["failed"]) == (2, ["litter", "removed"], [])


def test_fewer_hours_than_the_property_need_force(bayou_command, litter):
    failed = bayou_command("vacuum", litter, "--hours", "1", "--yes")
    assert failed.code == 1
    assert "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT" in failed.err
    assert names(litter) == ["litter", "live", "removed"]
    bayou_command("vacuum", litter, "--hours", "1", "--force", "--yes")
    assert names(litter) == ["live"]


def test_restore_says_what_it_would_do_and_does_it_with_yes(bayou_command, litter):
    (found,) = bayou_command("restore", litter, "--version", "1", "--json").json
    assert (found["restoredVersion"], found["committedVersion"], found["numRestoredFiles"]) == (1, None, 1)
    assert bayou.open(litter).version() == 2
    assert "--yes" in bayou_command("restore", litter, "--version", "1").lines[-1]
    (found,) = bayou_command("restore", litter, "--version", "1", "--json", "--yes").json
    assert found["committedVersion"] == 3
    assert bayou.open(litter).snapshot().num_files == 2


def test_vacuum_of_a_partition_is_refused(bayou_command, litter):
    failed = bayou_command("vacuum", f"{litter}/p=1", "--yes")
    assert failed.code == 1
    assert "DELTA_UNSUPPORTED_VACUUM_SPECIFIC_PARTITION" in failed.err


def test_restore_needs_a_version_or_a_time(bayou_command, litter):
    failed = bayou_command("restore", litter)
    assert failed.code == 1
    assert "version or a timestamp" in failed.err


def test_checkpoint_and_compact_write_files_of_the_log(bayou_command, litter):
    assert bayou_command("checkpoint", litter, "--json").json[0]["version"] == 2
    path = bayou_command("compact", litter, "1", "2", "--json").json[0]["path"]
    assert Path(litter, path).exists()
    assert bayou.open(litter).version() == 2


def test_manifest_writes_them(bayou_command, litter):
    (found,) = bayou_command("manifest", litter, "--json").json
    assert (found["version"], found["written"], found["deleted"]) == (2, ["_symlink_format_manifest/manifest"], [])
    assert Path(litter, found["written"][0]).read_text() == f"file:{litter}/live\n"


def test_a_clone_is_made_with_yes(bayou_command, litter, tmp_path):
    wanted = ("clone", litter, str(tmp_path / "clone"), "--property", "delta.appendOnly=true")
    assert bayou_command(*wanted, "--json").json[0]["committedVersion"] is None
    assert "--yes" in bayou_command(*wanted).lines[-1]
    assert not (tmp_path / "clone").exists()
    assert bayou_command(*wanted, "--yes", "--json").json[0]["numCopiedFiles"] == 1
    assert names(tmp_path / "clone") == ["live"]
    assert bayou.open(tmp_path / "clone").snapshot().properties["delta.appendOnly"] == "true"
    assert bayou_command("clone", litter, str(tmp_path / "other"), "--shallow", "--version", "1", "--yes").code == 0
    assert names(tmp_path / "other") == []


def test_a_property_of_a_clone_has_a_key_and_a_value(bayou_command, litter, tmp_path):
    assert bayou_command("clone", litter, str(tmp_path / "clone"), "--property", "x").code == 1
