# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bayou.errors import StorageError
from bayou.storage import LocalStore
from bayou.testing.log_store_conformance import LogStoreConformance

RACE = """
import sys
from bayou.storage import LocalStore
store = LocalStore(sys.argv[1])
sys.stdin.readline()
name = sys.argv[2].encode()
won = [str(version) for version in range(200) if store.put_if_absent(f"_delta_log/{version:020d}.json", name)]
print(",".join(won))
"""


class TestLocalStore(LogStoreConformance):
    @pytest.fixture
    def store(self, tmp_path):
        return LocalStore(tmp_path / "table")


def test_processes_that_race_create_each_file_once(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(tmp_path), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for number in range(4)
    ]
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    won = [[int(each) for each in writer.communicate(timeout=60)[0].split(",") if each.strip()] for writer in writers]
    assert sorted(version for each in won for version in each) == list(range(200))
    store = LocalStore(tmp_path)
    for number, versions in enumerate(won):
        for version in versions:
            assert store.read(f"_delta_log/{version:020d}.json") == str(number).encode()


def test_no_temporary_file_is_left_behind(tmp_path):
    store = LocalStore(tmp_path)
    store.put_if_absent("_delta_log/a", b"1")
    store.put_if_absent("_delta_log/a", b"2")
    store.put("_delta_log/a", b"3")
    assert [each.name for each in (tmp_path / "_delta_log").iterdir()] == ["a"]


def test_a_stale_hadoop_checksum_is_deleted_with_every_write(tmp_path):
    store = LocalStore(tmp_path)
    sibling = tmp_path / "_delta_log" / "._last_checkpoint.crc"
    for write in (store.put, store.put_if_absent, lambda path, _: store.delete(path)):
        store.delete("_delta_log/_last_checkpoint")
        sibling.parent.mkdir(exist_ok=True)
        sibling.write_bytes(b"crc")
        write("_delta_log/_last_checkpoint", b"{}")
        assert not sibling.exists()


def test_a_failure_of_the_file_system_names_table_and_file(tmp_path):
    (tmp_path / "_delta_log").write_bytes(b"a file where the folder should be")
    with pytest.raises(StorageError) as caught:
        LocalStore(tmp_path).put_if_absent("_delta_log/a", b"x")
    assert caught.value.table == str(tmp_path)
    assert caught.value.file == "_delta_log/a"


def test_a_file_is_found_on_disk(tmp_path):
    store = LocalStore(tmp_path)
    store.put("_delta_log/a", b"x")
    assert Path(store.local_path("_delta_log/a")).read_bytes() == b"x"
