# SPDX-License-Identifier: Apache-2.0
"""One HDFS for the whole run, and a folder of it for each test."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.hadoop import cluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster.Hdfs]:
    """A running HDFS; skips the test where its JAR is not provided."""
    jar = os.environ.get("BAYOU_MINICLUSTER_JAR")
    if not jar:
        pytest.skip("Hadoop's test cluster is not provided (BAYOU_MINICLUSTER_JAR): `make test` provides it")
    with cluster.start(Path(jar), tmp_path_factory.mktemp("hdfs")) as running:
        yield running


@pytest.fixture
def folder(hdfs: cluster.Hdfs) -> str:
    """The URI of a folder of this test's own, which is not there yet."""
    return f"{hdfs.uri}/tests/{uuid.uuid4().hex}"
