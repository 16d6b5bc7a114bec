# SPDX-License-Identifier: Apache-2.0
"""Servers of object stores with a bucket each, and a proxy before one of S3."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.certificates import make_certificates
from tests.support.gcs_xml_proxy import gcs_xml_proxy, make_google_bucket
from tests.support.object_servers import (
    ACCESS,
    AZURE_ACCESS,
    azurite,
    fake_gcs,
    make_bucket,
    make_container,
    moto,
    proxy,
    versitygw,
)
from tests.support.recording_server import OBJECT, recorder

from bayou.storage import open_store, qualify, registry


@dataclass(frozen=True)
class Bucket:
    """A bucket on a server that runs.

    Attributes:
        uri: the URI of the bucket.
        options: the storage options to reach it.
    """

    uri: str
    options: dict[str, str]

    def new_uri(self):
        """The URI of a table that does not exist yet. Its name has characters that URIs escape."""
        return f"{self.uri}/{uuid.uuid4().hex}/a b/é%20=x"


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
def moto_bucket(s3):
    return Bucket("s3a://bucket", {**ACCESS, "AWS_ENDPOINT_URL": s3})


@pytest.fixture(scope="session")
def versity_bucket(tmp_path_factory):
    folder = tmp_path_factory.mktemp("versitygw")
    Path(folder, "bucket").mkdir()
    with versitygw(provided("BAYOU_VERSITYGW"), str(folder)) as url:
        yield Bucket("s3a://bucket", {**ACCESS, "AWS_ENDPOINT_URL": url})


@pytest.fixture(scope="session")
def google_bucket():
    with fake_gcs(provided("BAYOU_FAKE_GCS")) as url, gcs_xml_proxy(url) as xml_url:
        make_google_bucket(url, "bucket")
        # An account without OAuth. The option GOOGLE_SKIP_SIGNATURE is not enough: object_store 0.14 heeds it for GET, HEAD and
        # copies, and asks for a token for PUT and DELETE all the same.
        account = {"gcs_base_url": xml_url, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        yield Bucket("gs://bucket", {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account), "allow_http": "true"})


@pytest.fixture(scope="session")
def azure_bucket(tmp_path_factory):
    with azurite(provided("BAYOU_AZURITE"), str(tmp_path_factory.mktemp("azurite"))) as url:
        make_container(url, "container")
        yield Bucket("az://container", {**AZURE_ACCESS, "azure_storage_endpoint": url})


def provided(variable):
    """The program of a server."""
    program = os.environ.get(variable)
    if not program:
        pytest.skip(f"the server is not provided ({variable}): `make test` provides it")
    return program


@pytest.fixture(params=["moto", "versity", "google", "azure"])
def bucket(request):
    """A bucket on each server."""
    return request.getfixturevalue(f"{request.param}_bucket")


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
