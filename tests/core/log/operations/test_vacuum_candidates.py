# SPDX-License-Identifier: Apache-2.0
"""What VACUUM may delete where it lists no folder itself: files that commits removed, and an inventory."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from tests.core.log.operations.vacuumed_tables import (
    DAY,
    VECTOR,
    VECTOR_FILE,
    aged,
    commit,
    left,
    now,
    partitioned,
    put,
    removed,
    run,
)

from bayou.errors import InvalidOptionError
from bayou.log.delta_log import DeltaLog
from bayou.log.operations.vacuum import INFO_PATH, VacuumRequest, vacuum
from bayou.protocol.actions.actions import Protocol
from bayou.storage import LocalStore
from bayou.testing.faulty_store import FaultyStore
from bayou.testing.table_builder import TableBuilder, add


@pytest.fixture
def table(tmp_path):
    return partitioned(tmp_path)


class TestLite:
    def test_lite_deletes_what_commits_removed_and_lists_no_folder(self, tmp_path):
        features = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
        table = aged(TableBuilder(tmp_path / "t").create({"id": "long"}, protocol=features), 40)
        for path in ("a", "b", VECTOR_FILE, "_change_data/c", "of-no-commit"):
            put(table, path, days=0)
        commit(table, add("a", deletionVector=VECTOR, stats={"numRecords": 9}), add("b"), days=30)
        cdc = {"cdc": {"path": "_change_data/c", "partitionValues": {}, "size": 5, "dataChange": False}}
        commit(table, removed("a", 20, deletionVector=VECTOR), cdc, days=20)
        commit(table, removed("b", 3), days=3)
        store = FaultyStore(LocalStore(tmp_path / "t"))
        result = vacuum(DeltaLog(table.uri, store), VacuumRequest(kind="lite"))
        assert left(table) == {"b", "of-no-commit", "_change_data/", "ab/"}
        assert result.deleted == 3
        assert {path.partition("/")[0] for name, path in store.trace if name in {"list_from", "list_folders"}} == {"_delta_log"}

    def test_a_file_that_is_live_again_stays(self, table):
        put(table, "a")
        commit(table, add("a", partitionValues={"p": "1"}), days=30)
        commit(table, removed("a", 20), days=20)
        commit(table, add("a", partitionValues={"p": "1"}), days=19)
        run(table, kind="lite")
        assert left(table) == {"a"}

    def test_each_run_begins_where_the_last_one_of_either_kind_ended(self, table, tmp_path):
        commit(table, add("a", partitionValues={"p": "1"}), days=30)
        commit(table, removed("a", 20), days=20)
        for kind in ("full", "lite"):
            run(table, kind=kind)
            assert json.loads((tmp_path / "t" / INFO_PATH).read_text()) == {"latestCommitVersionOutsideOfRetentionWindow": 2}
        DeltaLog(table.uri, LocalStore(tmp_path / "t")).checkpoint()
        (tmp_path / "t" / "_delta_log" / f"{1:020d}.json").unlink()
        put(table, "a")
        run(table, kind="lite")
        assert left(table) == {"a"}

    def test_lite_is_refused_where_commits_that_it_needs_are_gone(self, table, tmp_path):
        for version in range(3):
            commit(table, add(f"{version}", partitionValues={"p": "1"}), days=20)
        table.checkpoint()
        for version in (0, 1):
            (tmp_path / "t" / "_delta_log" / f"{version:020d}.json").unlink()
        with pytest.raises(InvalidOptionError) as refused:
            run(table, kind="lite")
        assert refused.value.error_class == "DELTA_CANNOT_VACUUM_LITE"
        run(table)
        run(table, kind="lite")

    def test_paths_that_lead_out_of_the_table_are_not_followed(self, table, tmp_path):
        outside = tmp_path / "precious"
        outside.write_bytes(b"x")
        (tmp_path / "t" / "link").symlink_to(tmp_path)
        paths = [
            "../precious",
            f"file://{tmp_path}/precious",
            "link/precious",
            "p=1/../../precious",
            "_delta_log/" + "0" * 20 + ".json",
        ]
        commit(table, *(removed(path, 20) for path in paths), days=20)
        result = run(table, kind="lite")
        assert outside.exists()
        assert (tmp_path / "t" / "_delta_log" / f"{0:020d}.json").exists()
        assert list(result.failed) == ["link/precious"]


class TestInventory:
    def rows(self, *rows):
        names = ["path", "length", "isDir", "modificationTime", "more"]
        return pa.table(list(zip(*rows, strict=True)), names=names)

    def test_an_inventory_takes_the_place_of_the_listing(self, table, tmp_path):
        root = str(tmp_path / "t")
        for path in ("a", "p=1/b c", "live", "not-listed", "_hidden/d"):
            put(table, path)
        (tmp_path / "precious").write_bytes(b"x")
        table.commit(add("live", partitionValues={"p": "1"}))
        old = now() - 30 * DAY
        inventory = self.rows(
            (f"{root}/a", 5, False, old, 0),
            (f"file:{root}/p=1/b c", 5, False, old, 0),
            (f"{root}/p=1", 0, True, old, 0),
            (f"{root}/live", 5, False, old, 0),
            (f"{root}/_hidden/d", 5, False, old, 0),
            (f"{root}/young", 5, False, now(), 0),
            (f"{tmp_path}/precious", 5, False, old, 0),
        )
        result = run(table, inventory=inventory)
        assert left(table) == {"live", "not-listed", "_hidden/d", "p=1/"}
        assert sorted(result.files["path"].to_pylist()) == ["a", "p=1/b c"]
        assert (tmp_path / "precious").exists()
        assert not (tmp_path / "t" / INFO_PATH).exists()

    def test_an_inventory_without_a_column_is_refused(self, table):
        with pytest.raises(InvalidOptionError, match="isDir") as refused:
            run(table, inventory=self.rows(("a", 1, False, 0, 0)).drop_columns(["isDir"]))
        assert refused.value.error_class == "DELTA_INVALID_INVENTORY_SCHEMA"

    def test_an_inventory_is_no_use_for_lite(self, table):
        with pytest.raises(InvalidOptionError, match="inventory"):
            run(table, inventory=self.rows(("a", 1, False, 0, 0)), kind="lite")
