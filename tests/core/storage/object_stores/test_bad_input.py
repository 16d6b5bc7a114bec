# SPDX-License-Identifier: Apache-2.0
"""A wrong bucket, permission, region, endpoint or path is one sentence that names what is wrong."""

from __future__ import annotations

import os
import select
import signal
import uuid

import pytest
from tests.support.object_servers import Fault, make_bucket
from tests.support.recording_server import Answer

import bayou
from bayou.errors import DeltaError, InvalidOptionError, StorageError
from bayou.protocol.actions.actions import AddFile
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage import open_store, qualify
from bayou.storage.object_stores.failures import Failure

SCHEMA = StructType((StructField("id", "long"),))


def fails(call, *named):
    """The error of a call, which is one of bayou's and holds some words."""
    with pytest.raises(DeltaError) as caught:
        call()
    text = str(caught.value)
    for each in named:
        assert each in text
    assert "Next: " in text
    assert "\n" not in text
    return caught.value


def both(uri, options, *named):
    """Opening a table and making one fail alike."""
    fails(lambda: bayou.open(uri, storage_options=options).snapshot(), *named)
    fails(lambda: bayou.open(uri, storage_options=options).create(SCHEMA), *named)


@pytest.fixture
def quick(options):
    return {**options, "retry_timeout": "1s", "max_retries": "0"}


def test_a_bucket_that_is_not_there(quick):
    both("s3://no-such-bucket/t", quick, "NoSuchBucket", "s3://no-such-bucket/t", "Correct the bucket's name")


@pytest.mark.parametrize(
    ("kind", "doing", "call"),
    [
        ("LIST", "list the folder", lambda log: log.snapshot()),
        ("GET", "read the file", lambda log: log.snapshot()),
        ("PUT", "create the file", lambda log: log.transaction("WRITE").commit([AddFile("a", {}, 1, 1)])),
        ("POST", "delete the file", lambda log: log.store.delete("a")),
    ],
)
def test_a_permission_that_is_missing(server, place, quick, kind, doing, call):
    bayou.open(place, storage_options=quick).create(SCHEMA)
    log = bayou.open(place, storage_options=quick)
    if kind == "PUT":
        log.snapshot()
    server.fault = lambda request: Fault(403, "AccessDenied") if request.kind == kind else None
    error = fails(lambda: call(log), doing, "AccessDenied", "permissions to list the bucket, and to read, write and delete")
    assert (error.status, error.code) == (403, "AccessDenied")


MALFORMED = (
    b"<Error><Code>AuthorizationHeaderMalformed</Code><Message>The authorization header is malformed; the region 'us-east-1' is "
    b"wrong; expecting 'eu-west-1'</Message><Region>eu-west-1</Region></Error>"
)
MOVED = b"<Error><Code>PermanentRedirect</Code><Endpoint>bucket.s3.eu-west-1.amazonaws.com</Endpoint></Error>"


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (Answer(MALFORMED, 400), "expecting 'eu-west-1'"),
        (Answer(MOVED, 301, {"x-amz-bucket-region": "eu-west-1"}), "incorrectly configured region"),
        (Answer(b"<Error><Code>IllegalLocationConstraintException</Code></Error>", 400), "IllegalLocationConstraintException"),
    ],
)
def test_a_wrong_region(recording, place, quick, answer, named):
    recording.answer = lambda _: answer
    both(place, {**quick, "AWS_ENDPOINT_URL": recording.url}, named, "AWS_REGION (fs.s3a.endpoint.region)")


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("http://127.0.0.1:9", "no server listens there (127.0.0.1:9)"),
        ("http://no-such-host.invalid", "cannot be found (no-such-host.invalid)"),
    ],
)
def test_an_endpoint_without_a_server(place, quick, url, named):
    both(place, {**quick, "AWS_ENDPOINT_URL": url}, named, "Check the endpoint")


@pytest.mark.parametrize("status", [200, 400, 403, 404, 405, 500, 502])
def test_an_endpoint_that_is_no_object_store(recording, place, quick, status):
    page = b"<!DOCTYPE html>\n<html><body>\n<h1>Welcome</h1></body></html>"
    recording.answer = lambda _: Answer(page, status, {"Content-Type": "text/html; charset=utf-8"})
    given = {**quick, "AWS_ENDPOINT_URL": recording.url}
    both(place, given, "web page" if status == 200 else str(status))
    if status in {200, 404, 405}:
        both(place, given, "Check the endpoint")
        store = open_store(qualify(place), given)
        for call in (lambda: store.put("a", b"x"), lambda: store.put_if_absent("a", b"x")):
            fails(call, "Check the endpoint")


def test_an_endpoint_that_wants_tls(safe_recording, place, quick):
    both(place, {**quick, "AWS_ENDPOINT_URL": safe_recording.url.replace("https:", "http:")}, "a server with TLS needs https")
    assert not safe_recording.seen


def test_a_bucket_with_dots_in_its_name(s3, quick):
    make_bucket(s3, "my.bucket.of.tables")
    uri = f"s3://my.bucket.of.tables/{uuid.uuid4().hex}"
    bayou.open(uri, storage_options=quick).create(SCHEMA)
    assert bayou.open(uri, storage_options=quick).snapshot().version == 0


@pytest.mark.parametrize(
    "part", ["a b", "a%20b", "a%b", "é", "日本", "a+b", "a&b=c", "a#b", "a?b", "a:b", "a'b\"c", "~a", "\U0001f600"]
)
def test_any_characters_in_a_path(place, quick, part):
    uri = f"{place}/{part}"
    log = bayou.open(uri, storage_options=quick)
    log.create(SCHEMA)
    log.store.put(f"x={part}/{part}", b"data")
    log.transaction("WRITE").commit([AddFile(f"{part}.parquet", {}, 1, 1)])
    other = bayou.open(uri, storage_options=quick)
    assert (other.snapshot().version, log.store.read(f"x={part}/{part}")) == (1, b"data")
    assert log.store.list_folders([f"x={part}"], ())[0].num_entries == 1
    assert log.store.delete_many([f"x={part}/{part}"]).deleted == 1


@pytest.mark.parametrize("path", ["a//b", "a/./b", "a/../b", "/a"])
def test_a_path_that_no_key_can_have(place, quick, path):
    both(f"{place}/{path}", quick, "which an object store cannot have", "empty, or is `.` or `..`")


@pytest.mark.parametrize("uri", ["s3://", "s3:///t", "gs:///t", "az:///t"])
def test_a_path_without_a_bucket(uri):
    with pytest.raises(InvalidOptionError, match="does not name a bucket"):
        bayou.open(uri).snapshot()


@pytest.mark.parametrize("uri", ["s3://<bucket>/t", "gs://my bucket/t", "s3://a?b/t", "az://a#b/t"])
def test_a_name_that_no_bucket_has(uri):
    """The library would end the program, or send the requests to another bucket."""
    with pytest.raises(InvalidOptionError, match="is not the name of a bucket"):
        bayou.open(uri).snapshot()


@pytest.mark.parametrize(
    ("uri", "name", "value"),
    [
        ("s3://b/t", "AWS_REGION", "eu-west-1 "),
        ("s3://b/t", "region", ""),
        ("s3://b/t", "AWS_DEFAULT_REGION", "http://server"),
        ("az://c/t", "AZURE_STORAGE_ACCOUNT_NAME", "a/b"),
        ("az://c/t", "AZURE_STORAGE_TENANT_ID", "a b"),
    ],
)
def test_a_part_of_a_host_that_none_can_be(uri, name, value):
    with pytest.raises(InvalidOptionError, match=f"{name} (holds a space|is empty).*Give a name"):
        bayou.open(uri, storage_options={name: value})


@pytest.mark.parametrize(
    "text",
    [
        "Generic S3 error: Error performing PUT http://169.254.169.254/latest/api/token - HTTP error: timed out",
        "Error performing GET http://169.254.169.254/metadata/identity/oauth2/token - status code: 403",
        "Generic GCS error: Error performing GET http://metadata.google.internal/computeMetadata/v1/a - HTTP error: dns error",
    ],
)
def test_who_gives_no_credentials_is_told_so(text):
    error = Failure.of(RuntimeError(text)).error("read the file", "s3://b/t", None)
    assert "no credentials are given" in str(error)
    assert "Give credentials as storage options" in error.next_step


def test_settings_of_hadoop_hold_without_a_session_too(recording):
    keys = {"fs.s3a.access.key": "of-hadoop", "fs.s3a.secret.key": "not-a-secret", "fs.s3a.path.style.access": "true"}
    settings = {**keys, "fs.s3a.endpoint": recording.url, "fs.s3a.endpoint.region": "us-east-1"}
    open_store(qualify("s3a://bucket/t"), settings).read("a")
    assert "Credential=of-hadoop/" in recording.last.authorization
    with pytest.raises(InvalidOptionError, match=r"fs.s3a.aws.credentials.provider is Vault.*AWS_PROFILE"):
        open_store(qualify("s3a://bucket/t"), {**settings, "fs.s3a.aws.credentials.provider": "com.acme.Vault"})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_is_told_instead_of_waiting_for_ever(store):
    store.put("a", b"x")
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            store.read("a")
        except StorageError as error:
            os.write(writer, str(error).encode())
        os._exit(0)
    os.close(writer)
    try:
        assert select.select([reader], [], [], 30)[0], "the child waits"
        assert b"forked from one that has used an object store" in os.read(reader, 1000)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_key_with_an_empty_part_in_a_folder(store, server):
    server.requests.clear()
    with pytest.raises(StorageError):
        store.put("a//b", b"x")
    assert not server.requests
