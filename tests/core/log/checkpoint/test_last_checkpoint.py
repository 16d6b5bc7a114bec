# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import json

import pytest

from bayou.log.checkpoint.last_checkpoint import LastCheckpoint, V2Hint, json_checksum, write_last_checkpoint
from bayou.protocol.actions.file_names import LAST_CHECKPOINT, checkpoint_path
from bayou.storage import LocalStore, MemoryStore

SAMPLE = """{"k0":"'v 0'", "checksum": "adsaskfljadfkjadfkj",
 "k1":{"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]}}"""


def hint(version, **fields):
    return LastCheckpoint(version, 7, 1234, 5, **fields)


def written(store):
    return json.loads(store.read(LAST_CHECKPOINT))


def test_the_checksum_of_the_protocol_s_sample_is_the_one_that_it_gives():
    assert json_checksum(json.loads(SAMPLE)) == "6a92d155a59bf2eecbd4b4ec7fd1f875"


def test_texts_literals_and_empty_values_have_the_canonical_form_of_the_protocol():
    document = {"b": {"y": None, "x": "https://delta.io"}, "a": 10, "t": True, "f": [False], "é~": "a/b ü", "none": {}, "no": []}
    canonical = '"%C3%A9~"="a%2Fb%20%C3%BC","a"=10,"b"+"x"="https%3A%2F%2Fdelta.io","b"+"y"=null,"f"+0=false,"t"=true'
    assert json_checksum(document) == hashlib.md5(canonical.encode()).hexdigest()


def test_every_published_hint_with_a_checksum_has_the_checksum_that_bayou_gives_it(corpora):
    documents = []
    for path in corpora.rglob("_last_checkpoint"):
        try:
            documents.append(json.loads(path.read_bytes()))
        except ValueError:
            continue
    checked = [document for document in documents if "checksum" in document]
    assert len(checked) > 20
    assert [json_checksum(document) for document in checked] == [document["checksum"] for document in checked]


def test_a_hint_says_what_is_known_and_ends_with_its_checksum():
    store = MemoryStore()
    schema = {"type": "struct", "fields": [{"name": "add", "type": "string", "nullable": True, "metadata": {}}]}
    assert write_last_checkpoint(store, hint(3, parts=2, schema=schema))
    document = written(store)
    assert list(document) == ["version", "size", "parts", "sizeInBytes", "numOfAddFiles", "checkpointSchema", "checksum"]
    assert document["checksum"] == json_checksum(document)
    assert document == hint(3, parts=2, schema=schema).to_json()


def test_a_long_schema_is_left_out():
    document = hint(3, schema={"type": "struct", "fields": ["x" * 20_000]}).to_json()
    assert "checkpointSchema" not in document


@pytest.mark.parametrize(
    "present", [b"", b"{", b"[]", b'{"version":"9"}', b'{"version":-1}', b"\xff", b'{"version":1}', b'{"version":3}']
)
def test_a_hint_that_is_older_or_broken_is_replaced(present):
    store = MemoryStore()
    store.put(LAST_CHECKPOINT, present)
    assert write_last_checkpoint(store, hint(3))
    assert written(store)["version"] == 3


def test_a_later_hint_stays():
    store = MemoryStore()
    store.put(LAST_CHECKPOINT, b'{"version":4,"size":1}')
    store.put(checkpoint_path(4), b"x")
    assert not write_last_checkpoint(store, hint(3))
    assert store.read(LAST_CHECKPOINT) == b'{"version":4,"size":1}'


@pytest.mark.parametrize("version", [4, 10**18, 10**30])
def test_a_hint_at_a_checkpoint_that_does_not_exist_is_replaced(version):
    store = MemoryStore()
    store.put(LAST_CHECKPOINT, f'{{"version":{version},"size":1}}'.encode())
    store.put(checkpoint_path(3), b"x")
    assert write_last_checkpoint(store, hint(3))
    assert json.loads(store.read(LAST_CHECKPOINT))["version"] == 3


def test_hadoop_s_checksum_of_an_older_hint_is_gone(tmp_path):
    store = LocalStore(tmp_path)
    write_last_checkpoint(store, hint(1))
    (tmp_path / "_delta_log/._last_checkpoint.crc").write_bytes(b"crc of another file")
    write_last_checkpoint(store, hint(2))
    assert [path.name for path in (tmp_path / "_delta_log").iterdir()] == ["_last_checkpoint"]


def v2_hint(actions=1, sidecars=1, features=1):
    head = {"protocol": {"readerFeatures": [f"f{number}" for number in range(features)]}}
    return V2Hint("n.checkpoint.u.json", 5, 6, (head,) * actions, ({"path": "x"},) * sidecars).to_json()


def test_a_v2_hint_repeats_short_lists_alone():
    assert v2_hint() == {
        "path": "n.checkpoint.u.json",
        "sizeInBytes": 5,
        "modificationTime": 6,
        "nonFileActions": [{"protocol": {"readerFeatures": ["f0"]}}],
        "sidecarFiles": [{"path": "x"}],
    }
    assert "nonFileActions" in v2_hint(actions=30)
    assert "nonFileActions" not in v2_hint(actions=31)
    assert "sidecarFiles" in v2_hint(sidecars=30)
    assert "sidecarFiles" not in v2_hint(sidecars=31)


def test_actions_whose_checksum_readers_could_reckon_in_two_ways_are_left_out():
    assert "nonFileActions" in v2_hint(features=10)
    assert "nonFileActions" not in v2_hint(features=11)
