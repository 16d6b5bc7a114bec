# SPDX-License-Identifier: Apache-2.0
"""Each option of connections, and Hadoop's setting that means the same: TLS, proxies, times, pools and further attempts."""

from __future__ import annotations

import base64
import contextlib
import socket
import threading
import time

import pytest
from tests.core.storage.object_stores.test_options_on_the_wire import store_for
from tests.support.recording_server import OBJECT, Answer, forward, recorder

from bayou.errors import InvalidOptionError, StorageError


def test_an_authority_of_ones_own_is_trusted_if_it_is_given(safe_recording, certificates):
    with pytest.raises(StorageError, match="authority that this machine does not trust") as caught:
        store_for(safe_recording.url, {}).read("a")
    assert "root_certificate" in caught.value.next_step
    assert not safe_recording.seen
    for option in ({"root_certificate": certificates.authority}, {"allow_invalid_certificates": "true"}):
        assert store_for(safe_recording.url, option).read("a") == b"data"


def test_a_certificate_that_is_over_is_refused(certificates):
    with recorder(certificates.expired) as server:
        with pytest.raises(StorageError, match="certificate has expired"):
            store_for(server.url, {"root_certificate": certificates.authority}).read("a")
        assert not server.seen


@pytest.mark.parametrize("option", ["root_certificate", "proxy_ca_certificate"])
def test_a_certificate_that_is_none_is_named(recording, option):
    with pytest.raises(InvalidOptionError, match=f"{option} is not a certificate as PEM text"):
        store_for(recording.url, {option: "/etc/ca.pem", "proxy_url": recording.url})


def test_http_is_allowed_or_not(recording):
    for options, settings in (({"allow_http": "false"}, {}), ({"allow_http": None}, {})):
        with pytest.raises(StorageError, match="allow_http=true"):
            store_for(recording.url, options, settings).read("a")
    own = {"AWS_ENDPOINT_URL": None, "allow_http": None}
    plain = {"endpoint": recording.host, "path.style.access": "true"}
    with pytest.raises(StorageError, match="answers without TLS"):
        store_for(None, own, plain).read("a")
    store_for(None, own, {**plain, "connection.ssl.enabled": "false"}).read("a")
    assert len(recording.seen) == 1


def test_a_server_that_wants_tls_says_so(recording):
    said = b"<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>"
    recording.answer = lambda _: Answer(said, 400, {"Content-Type": "text/html"})
    with pytest.raises(StorageError, match="Give an https endpoint"):
        store_for(recording.url, {}).read("a")


@pytest.mark.parametrize("kind", ["options", "settings"])
def test_a_proxy_is_asked_with_its_user(recording, safe_recording, second_recording, certificates, kind):
    host, _, port = second_recording.host.partition(":")
    settings = {"proxy.host": host, "proxy.port": port, "proxy.username": "me", "proxy.password": "p@ss"}
    options = {"proxy_url": f"http://me:p%40ss@{second_recording.host}"}
    given = (options, {}) if kind == "options" else ({}, settings)
    for server, target in ((recording, f"{recording.url}/bucket/t/a"), (safe_recording, safe_recording.host)):
        second_recording.answer = lambda each, at=server.url: Answer() if each.method == "CONNECT" else forward(each, at)
        assert store_for(server.url, {"root_certificate": certificates.authority, **given[0]}, given[1]).read("a") == b"data"
        asked = second_recording.seen.pop()
        assert asked.headers["proxy-authorization"] == f"Basic {base64.b64encode(b'me:p@ss').decode()}"
        assert asked.target == target
        assert len(server.seen) == 1
    assert not second_recording.seen


def test_a_proxy_of_hadoops_is_asked_with_tls(recording, certificates):
    with recorder(certificates.server) as proxy:
        proxy.answer = lambda request: forward(request, recording.url)
        host, _, port = proxy.host.partition(":")
        settings = {"proxy.host": host, "proxy.port": port, "proxy.ssl.enabled": "true"}
        for option in ("proxy_ca_certificate", "root_certificate"):
            assert store_for(recording.url, {option: certificates.authority}, settings).read("a") == b"data"
        assert [each.target for each in proxy.seen] == [f"{recording.url}/bucket/t/a"] * 2
        with pytest.raises(StorageError, match="proxy_ca_certificate"):
            store_for(recording.url, {"proxy_url": proxy.url}).read("a")


def test_some_hosts_are_reached_without_the_proxy(recording, second_recording):
    second_recording.answer = lambda request: forward(request, recording.url)
    for excluded, asked in (("127.0.0.1", 0), ("10.0.0.0/8,.example.com", 1)):
        store_for(recording.url, {"proxy_url": second_recording.url, "proxy_excludes": excluded}).read("a")
        assert len(second_recording.seen) == asked


def test_a_proxy_that_refuses_is_named(recording, safe_recording, second_recording, certificates):
    second_recording.answer = lambda _: Answer(status=407)
    for url, options in ((recording.url, {}), (safe_recording.url, {"root_certificate": certificates.authority})):
        with pytest.raises(StorageError) as caught:
            store_for(url, {**options, "proxy_url": second_recording.url}).read("a")
        assert "proxy_url" in caught.value.next_step
    assert not recording.seen
    assert not safe_recording.seen


@pytest.mark.parametrize("value", ["ftp://proxy:1", "socks5://proxy:1", "http://", "http://a b", "http://proxy:99999"])
def test_a_proxy_that_would_be_passed_over_is_an_error(recording, value):
    with pytest.raises(InvalidOptionError, match="proxy_url is not the address of a server"):
        store_for(recording.url, {"proxy_url": value})


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ({"timeout": "100ms"}, {}),
        ({"read_timeout": "0.1s"}, {}),
        ({}, {"connection.timeout": "100"}),
        ({}, {"connection.request.timeout": "100ms"}),
    ],
)
def test_a_silent_server_is_left_in_time(recording, options, settings):
    end = threading.Event()
    recording.answer = lambda _: Answer(wait=lambda: end.wait(10))
    start = time.monotonic()
    try:
        with pytest.raises(StorageError, match="did not answer in time") as caught:
            store_for(recording.url, options, settings).read("a")
    finally:
        end.set()
    assert time.monotonic() - start < 5
    assert "read_timeout" in caught.value.next_step


@contextlib.contextmanager
def server_that_takes_no_connection():
    """A server whose queue of connections is full, so that a further one waits."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("options", "settings"),
    [({"connect_timeout": "200ms"}, {}), ({}, {"connection.establish.timeout": "200"})],
)
def test_a_server_that_takes_no_connection_is_left_in_time(options, settings):
    with server_that_takes_no_connection() as url:
        start = time.monotonic()
        with pytest.raises(StorageError, match="did not answer in time"):
            store_for(url, {"timeout": "20s", **options}, settings).read("a")
        assert time.monotonic() - start < 5


def connections_of(server, options, settings=None, pause=0.0):
    store = store_for(server.url, options, settings)
    server.seen.clear()
    for _ in range(3):
        store.read("a")
        time.sleep(pause)
    return len({each.connection for each in server.seen})


@pytest.mark.parametrize("kind", ["options", "settings"])
def test_idle_connections_are_kept(recording, kind):
    def count(options, settings, pause=0.0):
        return connections_of(recording, options if kind == "options" else {}, settings if kind == "settings" else {}, pause)

    assert count({"pool_max_idle_per_host": "0"}, {"connection.maximum": "0"}) == 3
    assert count({"pool_max_idle_per_host": "4"}, {"connection.maximum": "4"}) == 1
    assert count({"pool_idle_timeout": "30ms"}, {"connection.idle.time": "30"}, pause=0.15) == 3
    assert count({"pool_idle_timeout": "30s"}, {"connection.idle.time": "30s"}, pause=0.15) == 1


def test_the_version_of_http(recording, safe_recording, certificates):
    store_for(recording.url, {"http1_only": "true"}).read("a")
    assert len(recording.seen) == 1
    # The server speaks HTTP/1.1 only.
    for server in (recording, safe_recording):
        server.seen.clear()
        with pytest.raises(StorageError):
            store_for(server.url, {"http2_only": "true", "root_certificate": certificates.authority}).read("a")
        assert not server.seen


@pytest.mark.parametrize(("options", "settings"), [({"max_retries": "2"}, {}), ({"max_retries": None}, {"attempts.maximum": "2"})])
def test_a_failed_request_is_tried_again_so_often(recording, options, settings):
    recording.answer = lambda _: Answer(status=503)
    with pytest.raises(StorageError, match="503"):
        store_for(recording.url, {**options, "retry_timeout": "60s"}, settings).read("a")
    assert len(recording.seen) == 3


def test_a_failed_request_is_tried_again_so_long(recording):
    recording.answer = lambda _: Answer(status=503)
    start = time.monotonic()
    with pytest.raises(StorageError, match="503"):
        store_for(recording.url, {"retry_timeout": "300ms", "max_retries": None}).read("a")
    assert time.monotonic() - start < 5
    assert len(recording.seen) > 1
    recording.answer = lambda _: OBJECT if len(recording.seen) > 2 else Answer(status=503)
    recording.seen.clear()
    assert store_for(recording.url, {"retry_timeout": "60s", "max_retries": None}).read("a") == b"data"


@pytest.mark.parametrize("name", ["timeout", "read_timeout", "connect_timeout", "pool_idle_timeout", "retry_timeout"])
@pytest.mark.parametrize("value", ["soon", "-1s", "1 year", ""])
def test_a_time_that_is_none_is_named(recording, name, value):
    with pytest.raises(InvalidOptionError, match=f"{name} is not a length of time"):
        store_for(recording.url, {name: value})


OF_ENVIRONMENT_TOO = [
    ("AWS_ENDPOINT_URL", "localhost:9000"),
    ("AWS_ENDPOINT_URL", "ftp://localhost"),
    ("AWS_ENDPOINT_URL", "http://a b"),
    ("AWS_ENDPOINT_URL", "http://localhost:99999"),
    ("AWS_SESSION_TOKEN", "token\n"),
    ("AWS_ACCESS_KEY_ID", "key\r\n"),
    ("AWS_REGION", "eu-west-1\n"),
]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *OF_ENVIRONMENT_TOO,
        ("AWS_ENDPOINT_URL", ""),
        ("pool_max_idle_per_host", "many"),
        ("AWS_CHECKSUM_ALGORITHM", "md5"),
        ("AWS_SERVER_SIDE_ENCRYPTION", "rot13"),
        ("AWS_REQUEST_PAYER", "somebody"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_its_option(recording, name, value):
    with pytest.raises(InvalidOptionError) as caught:
        store_for(recording.url, {name: value})
    assert name.lower() in str(caught.value).lower()
    assert not recording.seen


@pytest.mark.parametrize(("name", "value"), OF_ENVIRONMENT_TOO)
def test_a_wrong_value_of_the_environment_is_named_too(name, value, monkeypatch):
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidOptionError, match=name):
        store_for(None, {name: None})
