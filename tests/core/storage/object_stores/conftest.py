# SPDX-License-Identifier: Apache-2.0
"""An S3 server with a bucket, and a proxy before it."""

from __future__ import annotations

import uuid

import pytest
from tests.support.object_servers import ACCESS, make_bucket, moto, proxy

from bayou.storage import open_store, qualify, registry


@pytest.fixture(autouse=True)
def no_session(monkeypatch):
    """Stores without a session's settings, also where a test before has enabled one in this process."""
    monkeypatch.setattr(registry, "_registered", {})


@pytest.fixture(scope="session")
def s3():
    pytest.importorskip("moto", reason="moto is the server of these tests")
    with moto() as url:
        make_bucket(url, "bucket")
        yield url


@pytest.fixture(scope="session")
def running_proxy(s3):
    with proxy(s3) as found:
        yield found


@pytest.fixture
def server(running_proxy):
    running_proxy.requests.clear()
    yield running_proxy
    running_proxy.fault = lambda _: None


@pytest.fixture
def place():
    return f"s3://bucket/{uuid.uuid4().hex}/t"


@pytest.fixture
def options(server):
    return {**ACCESS, "AWS_ENDPOINT_URL": server.url, "retry_timeout": "5s"}


@pytest.fixture
def store(place, options, server):
    found = open_store(qualify(place), options)
    # Whether the server obeys is found out now, so that it is not among what a test counts.
    assert found.put_if_absent("_delta_log/.first", b"")
    found.delete("_delta_log/.first")
    server.requests.clear()
    return found
