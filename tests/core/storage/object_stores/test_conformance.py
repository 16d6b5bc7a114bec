# SPDX-License-Identifier: Apache-2.0
"""The store keeps the guarantees of a log store, on every server."""

from __future__ import annotations

import os
import time
import uuid

import pytest
from tests.support.object_servers import ACCESS, AZURE_ACCESS, azurite, make_container

import bayou
from bayou.protocol.actions.actions import AddFile
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage import open_store, qualify
from bayou.testing.log_store_conformance import LogStoreConformance


@pytest.fixture(scope="module")
def azure(tmp_path_factory):
    program = os.environ.get("BAYOU_AZURITE")
    if not program:
        pytest.skip("azurite is not provided (BAYOU_AZURITE): `make test` provides it")
    with azurite(program, str(tmp_path_factory.mktemp("azurite"))) as url:
        make_container(url, "container")
        yield url


class TestS3(LogStoreConformance):
    @pytest.fixture
    def store(self, s3):
        self.uri = f"s3a://bucket/{uuid.uuid4().hex}/a b/é%20=x"
        self.options = {**ACCESS, "AWS_ENDPOINT_URL": s3}
        return open_store(qualify(self.uri), self.options)

    def in_another_process(self, store):
        assert store is not None
        return f"from bayou.storage import open_store, qualify\nstore = open_store(qualify({self.uri!r}), {self.options!r})"


class TestAzure(LogStoreConformance):
    @pytest.fixture
    def store(self, azure):
        self.uri = f"az://container/{uuid.uuid4().hex}/a b/é%20=x"
        self.options = {**AZURE_ACCESS, "azure_storage_endpoint": azure}
        return open_store(qualify(self.uri), self.options)

    def in_another_process(self, store):
        assert store is not None
        return f"from bayou.storage import open_store, qualify\nstore = open_store(qualify({self.uri!r}), {self.options!r})"


def test_a_table_on_azure_is_committed_to_copied_and_vacuumed(azure):
    options = {**AZURE_ACCESS, "azure_storage_endpoint": azure}
    uri = f"az://container/{uuid.uuid4().hex}"
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
