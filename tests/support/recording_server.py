# SPDX-License-Identifier: Apache-2.0
"""A server that keeps every request with its headers and answers what a test says. It is a proxy, too, and speaks TLS if asked."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Seen:
    """A request that came by.

    Attributes:
        method: its method.
        target: what the first line names: a path and a query; for a proxy the whole URL, or the host and the port.
        headers: its headers, with names in lower case.
        body: its body.
        connection: the number of the connection that it came on.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int

    @property
    def path(self) -> str:
        """The path without the query."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, list[str]]:
        """The query's values by their names."""
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True)

    @property
    def authorization(self) -> str:
        """The header that says who asks; empty if nobody does."""
        return self.headers.get("authorization", "")


@dataclass(frozen=True)
class Answer:
    """What the server answers.

    Attributes:
        body: the body.
        status: the status; 0 ends the connection without an answer.
        headers: further headers.
        wait: called before the answer is sent.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: Callable[[], object] = field(default=lambda: None)


_WHEN = {"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "ETag": '"1"'}
OBJECT = Answer(b"data", headers=_WHEN)
"""What every store takes for an object that was read, or written."""


@dataclass
class Recorder:
    """A server that runs.

    Attributes:
        url: where it is.
        seen: the requests in the order in which they came.
        answer: says what a request is answered.
        open_connections: how many connections are open now.
    """

    url: str
    seen: list[Seen] = field(default_factory=list)
    answer: Callable[[Seen], Answer] = field(default=lambda _: OBJECT)
    open_connections: int = 0

    @property
    def host(self) -> str:
        """The host and the port."""
        return urlsplit(self.url).netloc

    @property
    def last(self) -> Seen:
        """The last request."""
        return self.seen[-1]


@contextlib.contextmanager
def recorder(certificate: str | None = None) -> Iterator[Recorder]:
    """Run a recorder.

    Args:
        certificate: the file with the certificate and the key of a server with TLS; None for a server without it.
    """
    server = _Server(certificate)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server.found
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    disable_nagle_algorithm = True  # a body that follows its headers would wait 40 ms
    server: _Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.connections += 1
            self.server.found.open_connections += 1
            self.number = self.server.connections

    def finish(self) -> None:
        with self.server.lock:
            self.server.found.open_connections -= 1
        with contextlib.suppress(OSError):
            super().finish()

    def handle_any(self) -> None:
        found = self.server.found
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Seen(self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body, self.number)
        with self.server.lock:
            found.seen.append(request)
        answer = found.answer(request)
        answer.wait()
        if not answer.status:
            self.close_connection = True
            return
        with contextlib.suppress(OSError):  # the client may have gone
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "CONNECT" and answer.status < HTTPStatus.MULTIPLE_CHOICES:
                self._tunnel()
            elif self.command != "HEAD":
                self.wfile.write(answer.body)

    def _tunnel(self) -> None:
        host, _, port = self.path.rpartition(":")
        self.close_connection = True
        with socket.create_connection((host, int(port)), timeout=10) as other:
            back = threading.Thread(target=_copy, args=(other, self.connection), daemon=True)
            back.start()
            _copy(self.connection, other)
            back.join(10)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = do_CONNECT = handle_any  # noqa: N815


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, certificate: str | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = threading.Lock()
        self.connections = 0
        self.context = None
        if certificate is not None:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(certificate)
        self.found = Recorder(f"http{'s' if certificate else ''}://127.0.0.1:{self.server_address[1]}")

    def finish_request(self, request: socket.socket, client_address: object) -> None:
        if self.context is None:
            super().finish_request(request, client_address)
            return
        # In the connection's own thread. A client that refuses the certificate is no error of the server's.
        try:
            request.settimeout(10)
            with self.context.wrap_socket(request, server_side=True) as safe:
                super().finish_request(safe, client_address)
        except OSError:
            return


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def forward(request: Seen, url: str) -> Answer:
    """What another server answers to a request."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    path = request.target if request.target.startswith("/") else "/" + request.target.partition("://")[2].partition("/")[2]
    sent = {name: value for name, value in request.headers.items() if not name.startswith("proxy-")}
    connection.request(request.method, path, request.body, sent)
    answer = connection.getresponse()
    body = answer.read()
    left_out = {"transfer-encoding", "connection", "content-length", "server", "date"}
    headers = {name: value for name, value in answer.getheaders() if name.lower() not in left_out}
    connection.close()
    return Answer(body, answer.status, headers)
