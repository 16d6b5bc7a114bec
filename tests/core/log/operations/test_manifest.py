# SPDX-License-Identifier: Apache-2.0
"""Manifests for engines that read no log."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

import bayou
from bayou.errors import UnsupportedFeatureError
from bayou.log.delta_log import DeltaLog
from bayou.protocol.actions.actions import Protocol
from bayou.storage import LocalStore
from bayou.testing.faulty_store import FaultyStore
from bayou.testing.table_builder import TableBuilder, add, remove

FOLDER = "_symlink_format_manifest"
VECTOR = {
    "storageType": "i",
    "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    "sizeInBytes": 40,
    "cardinality": 6,
}


def manifests(root):
    return {
        str(file.parent.relative_to(root / FOLDER)): file.read_text().splitlines() for file in (root / FOLDER).rglob("manifest")
    }


def test_a_table_without_partitions_has_one_manifest(tmp_path):
    builder = TableBuilder(tmp_path).create()
    assert bayou.open(tmp_path).generate_manifests().written == [f"{FOLDER}/manifest"]
    assert manifests(tmp_path) == {".": []}
    builder.commit(add("a"), add(quote("b c ü%")), add("file:///elsewhere/d")).commit(remove("a"))
    found = bayou.open(tmp_path).generate_manifests()
    assert (found.version, found.deleted) == (2, [])
    assert set(manifests(tmp_path)["."]) == {f"file:{tmp_path}/b c ü%", "file:/elsewhere/d"}


def test_each_partition_has_one_and_those_of_gone_partitions_are_deleted_last(tmp_path):
    builder = TableBuilder(tmp_path).create({"id": "long", "p": "string", "q": "long"}, partition_by=["p", "q"])
    values = [{"p": "A/B", "q": "1"}, {"p": None, "q": "1"}, {"p": "x", "q": "2"}]
    builder.commit(
        *(add(f"{number}", partitionValues=each) for number, each in enumerate(values)), add("3", partitionValues=values[0])
    )
    bayou.open(tmp_path).generate_manifests()
    here = f"file:{tmp_path}"
    first = {
        "p=A%2FB/q=1": [f"{here}/0", f"{here}/3"],
        "p=__HIVE_DEFAULT_PARTITION__/q=1": [f"{here}/1"],
        "p=x/q=2": [f"{here}/2"],
    }
    assert {name: sorted(paths) for name, paths in manifests(tmp_path).items()} == first
    builder.commit(remove("2"))
    store = FaultyStore(LocalStore(tmp_path))
    found = DeltaLog(builder.uri, store).generate_manifests()
    assert found.deleted == [f"{FOLDER}/p=x/q=2/manifest"]
    assert set(manifests(tmp_path)) == set(first) - {"p=x/q=2"}
    changes = [name for name, _ in store.trace if name in {"put", "delete_many"}]
    assert changes == ["put", "put", "delete_many"]


def test_null_and_texts_that_share_its_folder_share_a_manifest(tmp_path):
    builder = TableBuilder(tmp_path).create({"id": "long", "p": "string"}, partition_by=["p"])
    values = [None, "", "__HIVE_DEFAULT_PARTITION__"]
    builder.commit(*(add(f"{number}", partitionValues={"p": value}) for number, value in enumerate(values)))
    bayou.open(tmp_path).generate_manifests()
    (uris,) = manifests(tmp_path).values()
    assert sorted(uris) == [f"file:{tmp_path}/{number}" for number in range(3)]


def test_files_beside_the_manifests_stay(tmp_path):
    TableBuilder(tmp_path).create()
    other = tmp_path / FOLDER / "p=1" / "notes.txt"
    other.parent.mkdir(parents=True)
    other.write_text("mine")
    bayou.open(tmp_path).generate_manifests()
    assert other.exists()


def test_a_table_with_deletion_vectors_is_refused(tmp_path):
    builder = TableBuilder(tmp_path).create(protocol=Protocol(3, 7, ("deletionVectors",), ("deletionVectors",)))
    builder.commit(add("a", deletionVector=VECTOR, stats={"numRecords": 10, "tightBounds": False}))
    with pytest.raises(UnsupportedFeatureError) as refused:
        bayou.open(tmp_path).generate_manifests()
    assert refused.value.error_class == "DELTA_UNSUPPORTED_GENERATE_WITH_DELETION_VECTORS"
    assert not Path(tmp_path, FOLDER).exists()


def test_a_table_with_column_mapping_is_refused(tmp_path):
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "0"}
    TableBuilder(tmp_path).create({}, configuration=configuration, protocol=Protocol(2, 5))
    with pytest.raises(UnsupportedFeatureError) as refused:
        bayou.open(tmp_path).generate_manifests()
    assert refused.value.error_class == "DELTA_UNSUPPORTED_MANIFEST_GENERATION_WITH_COLUMN_MAPPING"
