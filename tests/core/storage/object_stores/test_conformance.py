# SPDX-License-Identifier: Apache-2.0
"""The store keeps the guarantees of a log store, on every server."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import bayou
from bayou.protocol.actions.actions import AddFile
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage import open_store, qualify
from bayou.storage.object_stores import object_store
from bayou.testing.log_store_conformance import LogStoreConformance


class Conformance(LogStoreConformance):
    """The tests on the server that the fixture named `bucket_fixture` runs."""

    bucket_fixture: str

    @pytest.fixture
    def store(self, request):
        bucket = request.getfixturevalue(self.bucket_fixture)
        self.uri, self.options = bucket.new_uri(), bucket.options
        return open_store(qualify(self.uri), self.options)

    def in_another_process(self, store):
        assert store is not None
        return f"from bayou.storage import open_store, qualify\nstore = open_store(qualify({self.uri!r}), {self.options!r})"


class TestS3(Conformance):
    bucket_fixture = "moto_bucket"


class TestVersity(Conformance):
    bucket_fixture = "versity_bucket"


class TestGoogle(Conformance):
    bucket_fixture = "google_bucket"


class TestAzure(Conformance):
    bucket_fixture = "azure_bucket"


def test_of_many_copies_to_one_path_exactly_one_is_made(bucket):
    store = open_store(qualify(bucket.new_uri()), bucket.options)
    for number in range(8):
        store.put(f"source{number}", b"%d" % number)
    for turn in range(5):
        with ThreadPoolExecutor(8) as pool:
            won = list(
                pool.map(lambda number, turn=turn: store.copy_if_absent(store, f"source{number}", f"target{turn}"), range(8))
            )
        assert won.count(True) == 1
        assert store.read(f"target{turn}") == b"%d" % won.index(True)


def test_a_large_file_is_put_in_parts(bucket, monkeypatch):
    monkeypatch.setattr(object_store, "_SPLIT_FROM", 1 << 20)
    store = open_store(qualify(bucket.new_uri()), bucket.options)
    data = os.urandom(11 << 20)
    store.put("a", data)
    store.put("a", data[::-1])
    assert store.read("a") == data[::-1]


def test_a_table_is_committed_to_copied_and_vacuumed(bucket):
    options, uri = bucket.options, bucket.new_uri()
    log = bayou.open(uri, storage_options=options)
    log.create(StructType((StructField("id", "long"),)))
    for number in range(12):
        log.store.put(f"f{number}", b"x")
        log.transaction("WRITE").commit([AddFile(f"f{number}", {}, 1, 1, stats='{"numRecords":1}')], new_files=True)
    other = bayou.open(uri, storage_options=options)
    assert (other.snapshot().num_files, len(list(other.history()))) == (12, 13)
    assert other.clone(f"{uri}.copy", storage_options=options).num_copied_files == 12
    with other.transaction("DELETE") as transaction:
        transaction.remove_files(transaction.files().slice(0, 5))
        transaction.commit()
    time.sleep(0.01)
    assert other.vacuum(0, check_retention=False).deleted == 5
    assert bayou.open(f"{uri}.copy", storage_options=options).snapshot().num_files == 12
