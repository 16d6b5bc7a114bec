# SPDX-License-Identifier: Apache-2.0
"""An S3 server with a bucket, and a proxy before it."""

from __future__ import annotations

import uuid

import pytest
from tests.support.certificates import make_certificates
from tests.support.object_servers import ACCESS, make_bucket, moto, proxy
from tests.support.recording_server import OBJECT, recorder

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


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    pytest.importorskip("cryptography", reason="cryptography makes the certificates of these tests")
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def running_recorder():
    with recorder() as found:
        yield found


@pytest.fixture
def recording(running_recorder):
    """A server that keeps what it is sent."""
    running_recorder.seen.clear()
    running_recorder.answer = lambda _: OBJECT
    return running_recorder


@pytest.fixture
def second_recording():
    """Another one: a proxy, or an authority that gives tokens."""
    with recorder() as found:
        yield found


@pytest.fixture
def safe_recording(certificates):
    """One with TLS."""
    with recorder(certificates.server) as found:
        yield found
