# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest

from bayou.errors import PathNotFoundError, TableNotFoundError, VersionGapError, VersionNotFoundError
from bayou.log.delta_log import open_log
from bayou.protocol.actions import file_names
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, remove

KINDS = ["classic", "multipart", "v2-json", "v2-parquet"]


def table(commits=6, checkpoint_at=(), kind="classic", *, hint=True):
    """One file added in each commit after the first: f1, f2, ..."""
    builder = TableBuilder(store=MemoryStore()).create()
    for number in range(1, commits):
        builder.commit(add(f"f{number}"))
    for version in checkpoint_at:
        builder.checkpoint(kind, version=version, hint=hint)
    return builder


def names(snapshot):
    return [status.name for status in snapshot.segment.files]


def paths(snapshot):
    return sorted(snapshot.files(["path"])["path"].to_pylist())


def test_without_a_checkpoint_a_segment_is_every_commit():
    snapshot = table(3).log().snapshot()
    assert names(snapshot) == [f"{version:020d}.json" for version in range(3)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hint", [True, False])
def test_a_segment_starts_at_the_newest_checkpoint(kind, hint):
    snapshot = table(6, (2, 4), kind, hint=hint).log().snapshot()
    assert snapshot.segment.checkpoint.version == 4
    assert [version for version, _ in snapshot.segment.deltas] == [5]
    assert paths(snapshot) == ["f1", "f2", "f3", "f4", "f5"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_older_version_starts_at_a_checkpoint_before_it(kind):
    snapshot = table(6, (2, 4), kind).log().snapshot(3)
    assert snapshot.segment.checkpoint.version == 2
    assert paths(snapshot) == ["f1", "f2", "f3"]


@pytest.mark.parametrize(
    "hint", [b"", b"nonsense", b"[]", b"{}", b'{"version":"2"}', b'{"version":99}', b'{"version":-1}', b"\xff", b"null"]
)
def test_a_hint_that_is_wrong_is_only_a_hint(hint):
    builder = table(6, (4,)).write(file_names.LAST_CHECKPOINT, hint)
    snapshot = builder.log().snapshot()
    assert snapshot.segment.checkpoint.version == 4
    assert snapshot.version == 5


def test_a_hint_at_a_checkpoint_that_is_gone_is_only_a_hint():
    builder = table(6, (2, 4)).delete(file_names.checkpoint_path(4))
    assert builder.log().snapshot().segment.checkpoint.version == 2


def test_a_stale_hint_still_finds_the_newest_checkpoint():
    builder = table(6, (2, 4)).write(file_names.LAST_CHECKPOINT, json.dumps({"version": 2, "size": 1}))
    assert builder.log().snapshot().segment.checkpoint.version == 4


def test_an_incomplete_multi_part_checkpoint_is_passed_over():
    builder = table(6, (2,)).checkpoint("multipart", version=4, parts=3)
    builder.delete(file_names.checkpoint_part_path(4, 2, 3))
    assert builder.log().snapshot().segment.checkpoint.version == 2


def test_a_zero_length_checkpoint_is_passed_over():
    builder = table(6, (2, 4)).write(file_names.checkpoint_path(4), b"")
    assert builder.log().snapshot().segment.checkpoint.version == 2


def test_at_one_version_v2_goes_before_multi_part_before_classic():
    builder = table(4)
    for kind, expected in (("classic", 0), ("multipart", 1), ("v2-json", 2)):
        builder.checkpoint(kind, version=2)
        assert builder.log().snapshot().segment.checkpoint.rank == expected


def test_a_compacted_file_stands_for_its_commits():
    builder = table(8).compact(1, 3).compact(1, 5).compact(4, 6)
    snapshot = builder.log().snapshot()
    assert names(snapshot) == [
        "00000000000000000000.json",
        "00000000000000000001.00000000000000000005.compacted.json",
        "00000000000000000006.json",
        "00000000000000000007.json",
    ]
    assert paths(snapshot) == [f"f{number}" for number in range(1, 8)]


def test_a_compacted_file_that_reaches_past_the_version_is_not_used():
    snapshot = table(8).compact(1, 5).log().snapshot(4)
    assert names(snapshot) == [f"{version:020d}.json" for version in range(5)]


def test_a_compacted_file_carries_removes_across_the_checkpoint():
    builder = table(4, (3,)).commit(remove("f1")).commit(remove("f2"), add("f1")).compact(4, 5)
    assert paths(builder.log().snapshot()) == ["f1", "f3"]


def test_a_compacted_file_that_is_not_reconciled_is_passed_over():
    builder = table(3).commit(remove("f1"))
    lines = [builder.store.read(file_names.commit_path(version)).splitlines()[-1] for version in (3, 2, 1)]
    builder.write(file_names.compacted_path(1, 3), b"\n".join(lines))
    assert paths(builder.log().snapshot()) == ["f2"]


def test_a_broken_compacted_file_is_passed_over():
    builder = table(4).write(file_names.compacted_path(1, 2), b"{")
    assert paths(builder.log().snapshot()) == ["f1", "f2", "f3"]


def test_a_missing_commit_is_named():
    builder = table(6).delete(file_names.commit_path(3))
    with pytest.raises(VersionGapError) as caught:
        builder.log().snapshot()
    assert caught.value.missing == (3,)
    assert caught.value.file == file_names.commit_path(3)
    assert caught.value.getErrorClass() == "DELTA_VERSIONS_NOT_CONTIGUOUS"


def test_versions_before_a_gap_can_be_read():
    builder = table(6).delete(file_names.commit_path(3))
    assert builder.log().snapshot(2).version == 2


def test_a_checkpoint_makes_up_for_missing_commits():
    builder = table(6, (4,)).delete(file_names.commit_path(3))
    assert paths(builder.log().snapshot()) == ["f1", "f2", "f3", "f4", "f5"]


def test_a_version_can_be_known_by_its_checkpoint_alone():
    builder = table(5, (4,))
    for version in range(5):
        builder.delete(file_names.commit_path(version))
    snapshot = builder.log().snapshot()
    assert (snapshot.version, snapshot.num_files) == (4, 4)
    assert snapshot.timestamp > 0


def test_a_version_after_the_latest_is_refused_with_the_range():
    with pytest.raises(VersionNotFoundError) as caught:
        table(3).log().snapshot(3)
    assert (caught.value.earliest, caught.value.latest, caught.value.version) == (0, 2, 3)
    assert "versions 0 to 2" in str(caught.value)
    assert caught.value.getErrorClass() == "DELTA_VERSION_NOT_FOUND"


def test_a_version_whose_log_is_gone_is_refused_with_the_range():
    builder = table(6, (2, 4))
    for version in range(3):
        builder.delete(file_names.commit_path(version))
    assert builder.log().snapshot(2).version == 2
    builder.delete(file_names.checkpoint_path(2))
    with pytest.raises(VersionNotFoundError) as caught:
        builder.log().snapshot(3)
    assert (caught.value.earliest, caught.value.latest) == (4, 5)


@pytest.mark.parametrize("version", [-1, -100])
def test_a_negative_version_is_refused(version):
    with pytest.raises(VersionNotFoundError):
        table(3).log().snapshot(version)


def test_files_without_a_meaning_are_ignored():
    builder = table(3)
    staged = "_staged_commits/00000000000000000003.x.json"
    for name in (staged, ".00000000000000000003.json.tmp", "_delta_index/x", "x"):
        builder.write(f"_delta_log/{name}", b"nonsense")
    assert builder.log().snapshot().version == 2


def test_an_empty_log_is_no_table(tmp_path):
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(TableNotFoundError) as caught:
        open_log(tmp_path).snapshot()
    assert not isinstance(caught.value, PathNotFoundError)
    assert caught.value.table == f"file://{tmp_path}"


def test_a_folder_of_files_without_a_log_is_no_table(tmp_path):
    (tmp_path / "part.parquet").write_bytes(b"x")
    with pytest.raises(TableNotFoundError) as caught:
        open_log(tmp_path).version()
    assert caught.value.getErrorClass() == "DELTA_TABLE_NOT_FOUND"


def test_a_folder_of_a_table_names_the_table(tmp_path):
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    (tmp_path / "t" / "day=1" / "hour=2").mkdir(parents=True)
    with pytest.raises(TableNotFoundError) as caught:
        open_log(tmp_path / "t" / "day=1" / "hour=2").version()
    assert caught.value.getErrorClass() == "DELTA_TABLE_NOT_FOUND"
    assert caught.value.outer == str(tmp_path / "t")
    with pytest.raises(PathNotFoundError):
        open_log(tmp_path / "t" / "day=2").version()


def test_nothing_at_the_path_is_told_apart(tmp_path):
    with pytest.raises(PathNotFoundError) as caught:
        open_log(tmp_path / "nowhere").snapshot()
    assert caught.value.getErrorClass() == "PATH_NOT_FOUND"
