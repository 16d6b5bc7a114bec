# SPDX-License-Identifier: Apache-2.0
"""An S3 server that Spark reads and writes through S3A, with a proxy before it that counts requests."""

from __future__ import annotations

import logging
import os
import uuid

import pytest
from tests.support.object_servers import make_bucket, moto, proxy

BUCKET = "on-spark"


@pytest.fixture(scope="session")
def server(spark):
    """The proxy; the session's settings name it."""
    if not os.environ.get("BAYOU_S3_JARS"):
        pytest.skip("the JARs of S3A are not provided (BAYOU_S3_JARS): `make test` provides them")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it notes every request
    with moto() as url, proxy(url) as found:
        make_bucket(url, BUCKET)
        settings = {
            "endpoint": found.url,
            "access.key": "access",
            "secret.key": "not-a-secret",
            "endpoint.region": "us-east-1",
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
        }
        hadoop = spark.sparkContext._jsc.hadoopConfiguration()
        for name, value in settings.items():
            hadoop.set(f"fs.s3a.bucket.{BUCKET}.{name}", value)
        # Without the analytics accelerator, which is a JAR of its own.
        hadoop.set("fs.s3a.input.stream.type", "classic")
        hadoop.set("fs.s3a.audit.enabled", "false")
        yield found


@pytest.fixture
def path(server):
    """The URI of a table, which is not there yet. Its name has what URIs escape."""
    server.requests.clear()
    yield f"s3a://{BUCKET}/{uuid.uuid4().hex}/a b=ü%20"
    server.fault = lambda _: None
