# SPDX-License-Identifier: Apache-2.0
"""Where the demo's tables are: in a folder, or in an S3 server on this machine (`make demo STORE=s3`)."""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BUCKET = "bayou-demo"


@contextlib.contextmanager
def tables_in(folder: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Where tables go, and the Spark settings to reach that place.

    Args:
        folder: a folder on this machine, which is used unless STORE names another kind of store.
    """
    store = os.environ.get("STORE", "")
    if not store:
        yield str(folder), {}
        return
    if store != "s3":
        message = f"the demo knows STORE=s3, and not STORE={store}"
        raise SystemExit(message)
    with s3() as (url, access, secret):
        # On AWS none of these settings is needed but the package.
        jars = os.environ.get("BAYOU_S3_JARS")
        files = {"spark.jars": ",".join(map(str, sorted(Path(jars or ".").glob("*.jar"))))}
        settings = {
            "fs.s3a.endpoint": url,
            "fs.s3a.access.key": access,
            "fs.s3a.secret.key": secret,
            "fs.s3a.path.style.access": "true",
            "fs.s3a.connection.ssl.enabled": "false",
            "fs.s3a.endpoint.region": "us-east-1",
            # The JARs that `make` fetches lack what S3A's newest reader and its audit log need.
            "fs.s3a.input.stream.type": "classic",
            "fs.s3a.audit.enabled": "false",
        }
        found = files if jars else {"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.5.0"}
        # The commands that run without Spark find the server by these variables.
        os.environ.update(
            AWS_ENDPOINT_URL=url,
            AWS_ACCESS_KEY_ID=access,
            AWS_SECRET_ACCESS_KEY=secret,
            AWS_REGION="us-east-1",
            AWS_VIRTUAL_HOSTED_STYLE_REQUEST="false",
            AWS_ALLOW_HTTP="true",
        )
        yield f"s3a://{BUCKET}", {**found, **{f"spark.hadoop.{name}": value for name, value in settings.items()}}


@contextlib.contextmanager
def s3() -> Iterator[tuple[str, str, str]]:
    """Run an S3 server with a bucket; gives its URL, and the name and the secret of a key."""
    import boto3  # noqa: PLC0415  (of the tests' packages)
    from moto.server import ThreadedMotoServer  # noqa: PLC0415

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it notes every request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url, access, secret = f"http://{host}:{port}", "demo", "demo-secret"
        given = {"aws_access_key_id": access, "aws_secret_access_key": secret, "region_name": "us-east-1"}
        boto3.client("s3", endpoint_url=url, **given).create_bucket(Bucket=BUCKET)
        yield url, access, secret
    finally:
        server.stop()
