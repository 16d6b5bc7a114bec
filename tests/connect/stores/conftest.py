# SPDX-License-Identifier: Apache-2.0
"""A stock server of Spark Connect with the JARs of S3A and credentials of its own, and an S3 server behind a proxy."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.connect_server import ConnectServer
from tests.support.object_servers import ACCESS, Proxy, proxy, versitygw

from bayou.spark.portable.scan import carrier as carriers
from bayou.spark.portable.scratch import scratch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

BUCKET = "on-connect"
S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"


def provided(name: str) -> str:
    """The value of an environment variable; the test is skipped without it."""
    found = os.environ.get(name)
    if not found:
        pytest.skip(f"{name} is not provided: `make test-connect` provides it")
    return found


@pytest.fixture(scope="package")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """The S3 server, with a bucket."""
    program = provided("BAYOU_VERSITYGW")
    folder = tmp_path_factory.mktemp("buckets")
    (folder / BUCKET).mkdir()
    with versitygw(program, str(folder)) as url, proxy(url) as found:
        yield found
        # At the end of the process the store is gone.
        carriers._delete_all()
        scratch._release_all()


@pytest.fixture(scope="package")
def s3_settings(store: Proxy) -> Mapping[str, str]:
    """The settings of a server that has the JARs and the credentials."""
    jars = sorted(Path(provided("BAYOU_S3_JARS")).glob("*.jar"))
    hadoop = {
        "endpoint": store.url,
        "access.key": ACCESS["AWS_ACCESS_KEY_ID"],
        "secret.key": ACCESS["AWS_SECRET_ACCESS_KEY"],
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "input.stream.type": "classic",  # without the analytics accelerator, which is a JAR of its own
        "audit.enabled": "false",
    }
    return {
        "spark.jars": ",".join(map(str, jars)),
        "spark.hadoop.fs.s3.impl": S3A,
        **{f"spark.hadoop.fs.s3a.{name}": value for name, value in hadoop.items()},
    }


@pytest.fixture(scope="package")
def server(s3_settings: Mapping[str, str], store: Proxy) -> Iterator[ConnectServer]:
    """The server of Spark Connect."""
    pytest.importorskip("grpc", reason="the client of Spark Connect needs grpcio")
    # For the Python of the server, which commits the batches of streams.
    environment = {**ACCESS, "AWS_ALLOW_HTTP": "true", "AWS_ENDPOINT_URL": store.url}
    with ConnectServer(s3_settings, environment=environment) as started:
        yield started


@pytest.fixture(scope="package")
def spark(server: ConnectServer) -> Iterator[SparkSession]:
    """A session on that server, with bayou."""
    from pyspark.sql import SparkSession

    import bayou

    session = SparkSession.builder.remote(server.url).config("spark.sql.session.timeZone", "UTC").create()
    yield bayou.enable(session)
    session.stop()


@pytest.fixture
def options(store: Proxy) -> dict[str, str]:
    """The client's storage options."""
    store.requests.clear()
    return {
        "fs.s3a.access.key": ACCESS["AWS_ACCESS_KEY_ID"],
        "fs.s3a.secret.key": ACCESS["AWS_SECRET_ACCESS_KEY"],
        "fs.s3a.endpoint": store.url,
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
    }


@pytest.fixture
def path() -> str:
    """The URI of a table, which is not there yet. Its name has what URIs escape."""
    return f"s3a://{BUCKET}/{uuid.uuid4().hex}/a b=ü%20"
