# SPDX-License-Identifier: Apache-2.0
"""The store keeps the guarantees of a log store, on every server."""

from __future__ import annotations

import uuid

import pytest
from tests.support.object_servers import ACCESS

from bayou.storage import open_store, qualify
from bayou.testing.log_store_conformance import LogStoreConformance


class TestS3(LogStoreConformance):
    @pytest.fixture
    def store(self, s3):
        self.uri = f"s3a://bucket/{uuid.uuid4().hex}/a b/é%20=x"
        self.options = {**ACCESS, "AWS_ENDPOINT_URL": s3}
        return open_store(qualify(self.uri), self.options)

    def in_another_process(self, store):
        assert store is not None
        return f"from bayou.storage import open_store, qualify\nstore = open_store(qualify({self.uri!r}), {self.options!r})"
