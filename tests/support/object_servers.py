# SPDX-License-Identifier: Apache-2.0
"""Servers of object stores on 127.0.0.1, and a proxy before them that counts requests and makes them fail."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import http.client
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

ACCESS = {"AWS_ACCESS_KEY_ID": "access", "AWS_SECRET_ACCESS_KEY": "not-a-secret", "AWS_REGION": "us-east-1", "allow_http": "true"}


@contextlib.contextmanager
def moto() -> Iterator[str]:
    """Run moto's S3 in this process; gives its URL."""
    from moto.s3.responses import S3Response
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    with mock.patch.object(S3Response, "key_response", one_at_a_time(S3Response.key_response)):
        server.start()
        try:
            host, port = server.get_host_and_port()
            yield f"http://{host}:{port}"
        finally:
            server.stop()


def one_at_a_time(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of moto that answers a request for an object, for one thread at a time.

    moto 5.2 looks for the object and creates it in two steps, without a lock (s3/responses.py: put_object, and the POST that ends
    an upload in parts). Of eight conditional requests at one moment, two or three succeed now and then.
    """
    lock = threading.RLock()

    def answer(*arguments: Any, **options: Any) -> Any:
        with lock:
            return method(*arguments, **options)

    return answer


# The account that azurite has, and its published key.
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
AZURE_ACCESS = {"AZURE_STORAGE_ACCOUNT_NAME": "devstoreaccount1", "AZURE_STORAGE_ACCOUNT_KEY": AZURE_KEY, "allow_http": "true"}


@contextlib.contextmanager
def azurite(program: str, folder: str) -> Iterator[str]:
    """Run azurite; gives the URL of its account."""
    port = free_port()
    options = ["--silent", "--disableTelemetry", "--skipApiVersionCheck", "--blobPort", str(port), "--location", folder]
    with running([program, *options], port) as url:
        yield f"{url}/devstoreaccount1"


@contextlib.contextmanager
def versitygw(program: str, folder: str) -> Iterator[str]:
    """Run versitygw's S3 on a folder whose file system has extended attributes; gives its URL. A folder inside is a bucket."""
    port = free_port()
    environment = {"ROOT_ACCESS_KEY": ACCESS["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": ACCESS["AWS_SECRET_ACCESS_KEY"]}
    with running([program, "--port", f"127.0.0.1:{port}", "--quiet", "posix", folder], port, environment) as url:
        yield url


@contextlib.contextmanager
def fake_gcs(program: str) -> Iterator[str]:
    """Run fake-gcs-server, which keeps its objects in memory; gives the URL of its JSON API."""
    port = free_port()
    # The other backend keeps objects as files, so that an object `a` excludes an object `a/b`.
    options = ["-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-log-level", "error"]
    # fake-gcs-server 1.56 writes local times into headers and calls them GMT (fakestorage/object.go, downloadObject).
    with running([program, *options], port, {"TZ": "UTC"}) as url:
        yield url


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@contextlib.contextmanager
def running(command: list[str], port: int, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run a server that listens on a port; gives its URL once it does."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.1)
        assert process.poll() is None, f"{command[0]} ended with {process.returncode}"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def make_container(url: str, name: str) -> None:
    """Create a container by the bare request, without a library for it. Source: Azure's "Authorize with Shared Key"."""
    place = urlsplit(url)
    date = datetime.now(timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = f"x-ms-date:{date}\nx-ms-version:2021-08-06\n"
    text = "PUT" + "\n" * 12 + headers + f"/devstoreaccount1/devstoreaccount1/{name}\nrestype:container"
    signature = base64.b64encode(hmac.new(base64.b64decode(AZURE_KEY), text.encode(), hashlib.sha256).digest()).decode()
    authorization = f"SharedKey devstoreaccount1:{signature}"
    sent = {"x-ms-date": date, "x-ms-version": "2021-08-06", "Content-Length": "0", "Authorization": authorization}
    connection = http.client.HTTPConnection(place.hostname or "", place.port)
    connection.request("PUT", f"{place.path}/{name}?restype=container", headers=sent)
    answer = connection.getresponse()
    assert answer.status in {201, 409}, answer.read()
    connection.close()


def make_bucket(url: str, name: str) -> None:
    """Create a bucket by the bare request, without a library for it."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port)
    authorization = "AWS4-HMAC-SHA256 Credential=access/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=x"
    connection.request("PUT", f"/{name}", headers={"Authorization": authorization})
    answer = connection.getresponse()
    assert answer.status in {200, 409}, answer.read()
    connection.close()


@dataclass(frozen=True)
class Request:
    """A request that came by.

    Attributes:
        method: its method.
        path: its path and query.
        number: how many came before it.
        authorization: the header that says who asks.
    """

    method: str
    path: str
    number: int
    authorization: str = ""

    @property
    def kind(self) -> str:
        """LIST, or the method."""
        return "LIST" if self.method == "GET" and "list-type=2" in self.path else self.method


@dataclass(frozen=True)
class Fault:
    """What becomes of a request.

    Attributes:
        status: answer with this status instead of the server's answer; 0 for none, the connection ends.
        code: the code in the answer.
        acts: whether the server gets the request all the same.
        keep: send so much of the answer's body only; None for all of it.
        without: the server gets the request without this header.
        stall: wait for so many seconds before anything is done with it.
    """

    status: int | None = None
    code: str = "SlowDown"
    acts: bool = False
    keep: int | None = None
    without: str = ""
    stall: float = 0


@dataclass
class Proxy:
    """A proxy that runs.

    Attributes:
        url: where it is.
        requests: what came by.
        fault: says what becomes of a request; None lets it pass.
    """

    url: str
    requests: list[Request] = field(default_factory=list)
    fault: Callable[[Request], Fault | None] = field(default=lambda _: None)

    def counts(self) -> dict[str, int]:
        """How many requests of each kind came since the last time."""
        found: dict[str, int] = {}
        for each in self.requests:
            found[each.kind] = found.get(each.kind, 0) + 1
        self.requests.clear()
        return found


@contextlib.contextmanager
def proxy(target: str) -> Iterator[Proxy]:
    """Run a proxy before a server."""
    place = urlsplit(target)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else a body waits 40 ms until its headers are acknowledged

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with lock:
                request = Request(self.command, self.path, len(found.requests), self.headers.get("Authorization") or "")
                found.requests.append(request)
            fault = found.fault(request)
            time.sleep(0 if fault is None else fault.stall)
            if fault is not None and fault.status is not None and not fault.acts:
                self._answer_fault(fault)
                return
            connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
            without = "" if fault is None else fault.without
            headers = {name: value for name, value in self.headers.items() if name.lower() != without}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
            connection.close()
            if fault is not None and fault.status is not None:
                self._answer_fault(fault)
                return
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {"transfer-encoding", "connection", "content-length", "server", "date"}:
                    self.send_header(name, value)
            length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(data))
            self.send_header("Content-Length", length or "0")
            self.end_headers()
            if fault is not None and fault.keep is not None:
                self.wfile.write(data[: fault.keep])
                self.close_connection = True
                return
            self.wfile.write(data)

        def _answer_fault(self, fault: Fault) -> None:
            if not fault.status:
                self.close_connection = True
                return
            text = f"<?xml version='1.0'?><Error><Code>{escape(fault.code)}</Code><Message>as asked</Message></Error>".encode()
            self.send_response(fault.status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = Proxy(f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
