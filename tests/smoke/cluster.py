# SPDX-License-Identifier: Apache-2.0
"""The session that the smoke runs on: local, on a local cluster, or on a standalone master with one worker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import uuid
from pathlib import Path

from pyspark.sql import SparkSession
from tests.support.connect_server import ConnectServer
from tests.support.object_servers import ACCESS
from tests.support.on_connect import forget_open_sessions

import bayou
from bayou.testing.session import local_session

BUCKET = f"s3a://smoke/{uuid.uuid4().hex}"
"""A folder on S3 that nobody used."""
_SECONDS = 60
_QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_started: list[subprocess.Popen[str]] = []
_servers: list[ConnectServer] = []


def session(master: str, folder: Path, *, on_s3: bool) -> SparkSession:
    """An enabled session.

    Args:
        master: a Spark master, or `standalone`; `connect` for a session of Spark Connect, on a stock server.
        folder: for tables, and for what executors and workers leave behind.
        on_s3: whether tables by name are on S3.
    """
    settings = {"spark.sql.warehouse.dir": f"{BUCKET}/warehouse" if on_s3 else str(folder / "warehouse")}
    if has_s3():
        settings |= _s3_settings()
    if master == "connect":
        if has_s3():
            # The client, and the server's Python, which commits the batches of streams, have credentials of their own.
            os.environ |= {**ACCESS, "AWS_ALLOW_HTTP": "true", "AWS_ENDPOINT_URL": os.environ["SMOKE_S3"]}
        server = ConnectServer(settings).start()
        _servers.append(server)
        return bayou.enable(SparkSession.builder.remote(server.url).config("spark.sql.session.timeZone", "UTC").getOrCreate())
    if not master.startswith("local["):
        _move_home(folder)
        settings |= {"spark.executor.memory": "512m", "spark.executor.extraJavaOptions": _QUICK_START}
        settings |= {"spark.cores.max": "1", "spark.executor.cores": "1"}
    if master == "standalone":
        master = _standalone(folder)
    return bayou.enable(local_session(settings, master=master))


def has_s3() -> bool:
    """Whether there is a server of S3, and what is needed to reach it."""
    return bool(os.environ.get("SMOKE_S3") and os.environ.get("BAYOU_S3_JARS"))


def _s3_settings() -> dict[str, str]:
    settings = {
        "endpoint": os.environ["SMOKE_S3"],
        "access.key": "access",
        "secret.key": "not-a-secret",
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        # Without the analytics accelerator, which is a JAR of its own.
        "input.stream.type": "classic",
        "audit.enabled": "false",
    }
    jars = ",".join(map(str, sorted(Path(os.environ["BAYOU_S3_JARS"]).glob("*.jar"))))
    return {"spark.jars": jars, **{f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}}


def stop() -> None:
    """Ends the processes of a standalone cluster, and servers."""
    while _servers:
        _servers.pop().stop()
        forget_open_sessions()
    for process in _started:
        process.terminate()
        process.wait(_SECONDS)


def _move_home(folder: Path) -> None:
    """Workers make a folder in SPARK_HOME, which is to stay as it was installed."""
    from pyspark import find_spark_home

    home = folder / "home"
    home.mkdir()
    for entry in Path(find_spark_home._find_spark_home()).iterdir():
        (home / entry.name).symlink_to(entry)
    os.environ["SPARK_HOME"] = str(home)


def _standalone(folder: Path) -> str:
    log = folder / "master.log"
    _start("org.apache.spark.deploy.master.Master", ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"], log)
    url = _found_in(log, r"spark://127\.0\.0\.1:\d+")
    worker = folder / "worker.log"
    places = ["--host", "127.0.0.1", "--webui-port", "0", "--work-dir", str(folder / "work")]
    _start("org.apache.spark.deploy.worker.Worker", [*places, "--cores", "1", "--memory", "1g", url], worker)
    _found_in(worker, "Successfully registered with master")
    return url


def _start(name: str, arguments: list[str], log: Path) -> None:
    command = [str(Path(os.environ["SPARK_HOME"]) / "bin" / "spark-class"), name, *arguments]
    with log.open("w", encoding="utf-8") as out:
        _started.append(subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, text=True))


def _found_in(log: Path, pattern: str) -> str:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        found = re.search(pattern, log.read_text(encoding="utf-8"))
        if found:
            return found[0]
        time.sleep(0.2)
    print(log.read_text(encoding="utf-8"), file=sys.stderr)
    raise TimeoutError(f"{pattern} is not in the log within {_SECONDS} s")
