# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.storage import MemoryStore
from bayou.testing.log_store_conformance import LogStoreConformance


class TestMemoryStore(LogStoreConformance):
    @pytest.fixture
    def store(self):
        return MemoryStore()


def test_a_file_in_memory_has_no_place_on_disk():
    assert MemoryStore().local_path("a") is None
