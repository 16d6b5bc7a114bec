# SPDX-License-Identifier: Apache-2.0
"""Each option of S3, and Hadoop's setting that means the same, changes what a server is sent."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from tests.support.recording_server import OBJECT, Answer

from bayou.errors import InvalidOptionError
from bayou.storage import open_store, qualify
from bayou.storage.copies import FileCopy, copy_files
from bayou.storage.object_stores.hadoop_settings import merged
from bayou.storage.object_stores.places import place_of

TABLE = "s3://bucket/t"
KEYS = {"AWS_ACCESS_KEY_ID": "AKEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI", "AWS_REGION": "eu-west-3"}
KEY = base64.b64encode(b"k" * 32).decode()
KEY_MD5 = "mT2HRsMGJ5IX5C+0rreZ8Q=="
ENCRYPTED = "x-amz-server-side-encryption"


def store_for(url, options, settings=None, table=TABLE):
    """A store for a server, by options and by Hadoop's settings."""
    given = {**KEYS, "AWS_ENDPOINT_URL": url, "allow_http": "true", "max_retries": "0", "retry_timeout": "1s", **options}
    place = place_of(qualify(table))
    named = {f"fs.s3a.{name}": value for name, value in (settings or {}).items()}
    return open_store(
        qualify(table), merged(named, {name: value for name, value in given.items() if value is not None}, place, table)
    )


HEADERS = {
    "AES256": (
        {"AWS_SERVER_SIDE_ENCRYPTION": "AES256"},
        {"encryption.algorithm": "AES256"},
        {ENCRYPTED: "AES256"},
    ),
    "the settings of Hadoop 3.2": (
        {"AWS_SERVER_SIDE_ENCRYPTION": "aws:kms", "AWS_SSE_KMS_KEY_ID": "arn:k"},
        {"server-side-encryption-algorithm": "SSE-KMS", "server-side-encryption.key": "arn:k"},
        {ENCRYPTED: "aws:kms", f"{ENCRYPTED}-aws-kms-key-id": "arn:k"},
    ),
    "aws:kms": (
        {"AWS_SERVER_SIDE_ENCRYPTION": "aws:kms", "AWS_SSE_KMS_KEY_ID": "arn:k"},
        {"encryption.algorithm": "SSE-KMS", "encryption.key": "arn:k"},
        {ENCRYPTED: "aws:kms", f"{ENCRYPTED}-aws-kms-key-id": "arn:k"},
    ),
    "a bucket key": (
        {"AWS_SERVER_SIDE_ENCRYPTION": "aws:kms", "AWS_SSE_BUCKET_KEY_ENABLED": "true"},
        None,
        {ENCRYPTED: "aws:kms", f"{ENCRYPTED}-bucket-key-enabled": "true"},
    ),
    "aws:kms:dsse": (
        {"AWS_SERVER_SIDE_ENCRYPTION": "aws:kms:dsse", "AWS_SSE_KMS_KEY_ID": "arn:k"},
        {"encryption.algorithm": "DSSE-KMS", "encryption.key": "arn:k"},
        {ENCRYPTED: "aws:kms:dsse", f"{ENCRYPTED}-aws-kms-key-id": "arn:k"},
    ),
    "sse-c": (
        {"AWS_SERVER_SIDE_ENCRYPTION": "sse-c", "AWS_SSE_CUSTOMER_KEY_BASE64": KEY},
        {"encryption.algorithm": "SSE-C", "encryption.key": KEY},
        {
            f"{ENCRYPTED}-customer-algorithm": "AES256",
            f"{ENCRYPTED}-customer-key": KEY,
            f"{ENCRYPTED}-customer-key-md5": KEY_MD5,
        },
    ),
    "requester pays": (
        {"AWS_REQUEST_PAYER": "requester"},
        {"requester.pays.enabled": "true"},
        {"x-amz-request-payer": "requester"},
    ),
    "SHA256": (
        {"AWS_CHECKSUM_ALGORITHM": "SHA256"},
        {"create.checksum.algorithm": "SHA256"},
        {"x-amz-checksum-sha256": "LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE="},
    ),
    "CRC64NVME": (
        {"AWS_CHECKSUM_ALGORITHM": "CRC64NVME"},
        {"create.checksum.algorithm": "CRC64_NVME"},
        {"x-amz-checksum-crc64nvme": "Lb1nAmRU5LE="},
    ),
    "a checksum that only S3A has": (
        {"AWS_CHECKSUM_ALGORITHM": "SHA256"},
        {"create.checksum.algorithm": "CRC32C"},
        {"x-amz-checksum-sha256": "LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE="},
    ),
    "an unsigned body": ({"AWS_UNSIGNED_PAYLOAD": "true"}, None, {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}),
    "a user agent": ({"user_agent": "lake/1"}, {"user.agent.prefix": "lake/1"}, {"user-agent": "lake/1"}),
}


def signed_headers(request):
    return re.search(r"SignedHeaders=([^,]*)", request.authorization)[1].split(";")


@pytest.mark.parametrize("name", HEADERS)
def test_an_option_is_a_header_of_each_write(recording, name):
    options, settings, headers = HEADERS[name]
    for store in (store_for(recording.url, options), *([store_for(recording.url, {}, settings)] if settings else [])):
        store.put("a", b"x")
        assert headers.items() <= recording.last.headers.items()
        assert {each for each in headers if each.startswith("x-amz-")} <= set(signed_headers(recording.last))
    store_for(recording.url, {}).put("a", b"x")
    assert not headers.items() & recording.last.headers.items()


def test_the_key_of_a_customer_is_sent_to_read_too(recording):
    store = store_for(recording.url, HEADERS["sse-c"][0])
    for call in (store.read, store.size):
        call("a")
        assert recording.last.headers[f"{ENCRYPTED}-customer-key"] == KEY


def answer_of_s3(request):
    if request.method == "POST" and "uploads" in request.query:
        return Answer(b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
    if request.method == "POST":
        return Answer(b'<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>')
    if "x-amz-copy-source" in request.headers:
        return Answer(b'<CopyPartResult><ETag>"e"</ETag></CopyPartResult>')
    return Answer(status=404) if request.method == "HEAD" else OBJECT


def test_copies_are_encrypted_alike(recording):
    recording.answer = answer_of_s3
    store = store_for(recording.url, HEADERS["aws:kms"][0])
    store._probed = None
    assert store.copy_if_absent(store, "a", "b")
    started = next(each for each in recording.seen if "uploads" in each.query)
    assert HEADERS["aws:kms"][2].items() <= started.headers.items()


def test_a_file_with_a_customers_key_is_copied_through_this_process(recording):
    recording.answer = lambda request: Answer(status=404) if request.method == "HEAD" else OBJECT
    store = store_for(recording.url, HEADERS["sse-c"][0])
    store._probed = None
    copy_files(store, [FileCopy(store, "a", "b")])
    assert not [each for each in recording.seen if "x-amz-copy-source" in each.headers]
    assert {each.method for each in recording.seen} >= {"GET", "PUT"}
    assert all(each.headers[f"{ENCRYPTED}-customer-key"] == KEY for each in recording.seen)


@pytest.mark.parametrize("name", ["AWS_SSE_KMS_KEY_ID", "AWS_SSE_BUCKET_KEY_ENABLED", "AWS_SSE_CUSTOMER_KEY_BASE64"])
@pytest.mark.parametrize("is_environment", [False, True])
def test_an_encryption_that_nobody_asks_for_is_an_error(recording, name, is_environment, monkeypatch):
    value = "true" if name.endswith("ENABLED") else KEY
    if is_environment:
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidOptionError, match=f"{name} encrypts nothing without AWS_SERVER_SIDE_ENCRYPTION="):
        store_for(recording.url, {} if is_environment else {name: value})
    monkeypatch.setenv("AWS_SERVER_SIDE_ENCRYPTION", "sse-c" if "CUSTOMER" in name else "aws:kms")
    store_for(recording.url, {} if is_environment else {name: value}).put("a", b"x")
    assert [each for each in recording.last.headers if each.startswith(ENCRYPTED)]


def test_an_encryption_of_the_user_takes_nothing_of_the_sessions(recording):
    settings = {"encryption.algorithm": "CSE-KMS", "encryption.key": "arn:k", "encryption.context": "a=b"}
    store_for(recording.url, {"AWS_SERVER_SIDE_ENCRYPTION": "AES256"}, settings).put("a", b"x")
    found = {name: value for name, value in recording.last.headers.items() if name.startswith(ENCRYPTED)}
    assert found == {ENCRYPTED: "AES256"}


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"encryption.algorithm": "CSE-CUSTOM"}, "AWS_SERVER_SIDE_ENCRYPTION"),
        ({"encryption.algorithm": "SSE-KMS", "encryption.context": "a=b"}, "fs.s3a.encryption.context"),
        ({"accesspoint.arn": "arn:aws:s3:eu-west-1:1:accesspoint/x"}, "alias"),
        ({"delegation.token.binding": "org.apache.hadoop.fs.s3a.auth.delegation.SessionTokenBinding"}, "delegation"),
        ({"security.credential.provider.path": "jceks://x"}, "hadoop.security.credential.provider.path"),
        ({"s3.signing-algorithm": "Mine"}, "fs.s3a.s3.signing-algorithm"),
        ({"http.signer.enabled": "true"}, "fs.s3a.http.signer.enabled"),
        ({"proxy.host": "p", "proxy.domain": "CORP"}, "proxy_url"),
        ({"endpoint.fips": "true"}, "fs.s3a.endpoint.region"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_setting_that_would_be_dropped_is_an_error(settings, named):
    found = {f"fs.s3a.{name}": value for name, value in settings.items()}
    with pytest.raises(InvalidOptionError, match=named):
        merged(found, {}, place_of(qualify(TABLE)), TABLE)


def test_who_asks_is_in_the_signature(recording):
    session = {"access.key": "AKOFHADOOP", "secret.key": "wJalrXUtnFEMI", "session.token": "TOKEN", "endpoint.region": "eu-west-9"}
    without = dict.fromkeys(KEYS)
    for store, key, region in (
        (store_for(recording.url, {"AWS_SESSION_TOKEN": "TOKEN"}), "AKEXAMPLE", "eu-west-3"),
        (store_for(recording.url, without, session), "AKOFHADOOP", "eu-west-9"),
    ):
        store.read("a")
        assert re.match(rf"AWS4-HMAC-SHA256 Credential={key}/\d{{8}}/{region}/s3/aws4_request, ", recording.last.authorization)
        assert recording.last.headers["x-amz-security-token"] == "TOKEN"
        assert "x-amz-security-token" in signed_headers(recording.last)


def test_a_role_is_taken_with_a_web_identity(recording, safe_recording, certificates, tmp_path):
    (tmp_path / "token").write_text("who-I-am")
    given = {"AccessKeyId": "AKOFROLE", "SecretAccessKey": "x", "SessionToken": "T", "Expiration": "2099-01-01T00:00:00Z"}
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in given.items())
    text = f"<R><AssumeRoleWithWebIdentityResult><Credentials>{inner}</Credentials></AssumeRoleWithWebIdentityResult></R>"
    safe_recording.answer = lambda _: Answer(text.encode())
    role = {
        "AWS_ROLE_ARN": "arn:aws:iam::1:role/x",
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token"),
        "AWS_ROLE_SESSION_NAME": "my-job",
        "AWS_ENDPOINT_URL_STS": safe_recording.url,
        "AWS_REGION": "eu-west-3",
    }
    trusted = {"root_certificate": certificates.authority}  # who gives credentials is reached with TLS only
    store_for(recording.url, {**dict.fromkeys(KEYS), **role, **trusted}).read("a")
    assert safe_recording.last.query["RoleArn"] == ["arn:aws:iam::1:role/x"]
    assert safe_recording.last.query["RoleSessionName"] == ["my-job"]
    assert safe_recording.last.query["WebIdentityToken"] == ["who-I-am"]
    assert "Credential=AKOFROLE/" in recording.last.authorization


def test_a_request_without_a_signature(recording):
    anonymous = {"aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"}
    without = dict.fromkeys(KEYS)
    for store in (store_for(recording.url, {"AWS_SKIP_SIGNATURE": "true"}), store_for(recording.url, without, anonymous)):
        store.read("a")
        assert not recording.last.authorization


def test_the_bucket_is_in_the_path_or_in_the_host(recording, second_recording):
    store_for(recording.url, {}).read("a")
    assert recording.last.path == "/bucket/t/a"
    store_for(recording.url, {"AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true"}).read("a")
    assert recording.last.path == "/t/a"
    # The host with the bucket is no address of this machine. A proxy shows it.
    second_recording.answer = lambda _: OBJECT
    own = {"AWS_ENDPOINT_URL": None, "allow_http": None, "proxy_url": second_recording.url}
    for settings, url in (
        ({"endpoint": "http://minio:9000"}, "http://bucket.minio:9000/t/a"),
        ({"endpoint": "http://minio:9000", "path.style.access": "true"}, "http://minio:9000/bucket/t/a"),
        ({"endpoint": "minio", "connection.ssl.enabled": "false"}, "http://bucket.minio/t/a"),
        # No host has a name below a number.
        ({"endpoint": "http://10.0.0.7:9000"}, "http://10.0.0.7:9000/bucket/t/a"),
        ({"endpoint": "10.0.0.7", "connection.ssl.enabled": "false"}, "http://10.0.0.7/bucket/t/a"),
    ):
        store_for(None, own, settings).read("a")
        assert second_recording.last.target == url


@pytest.mark.parametrize(
    ("options", "settings", "host"),
    [
        ({}, {}, "s3.eu-west-3.amazonaws.com"),
        ({"AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true"}, {}, "bucket.s3.eu-west-3.amazonaws.com"),
        ({"AWS_REGION": None}, {"endpoint": "s3.eu-west-9.amazonaws.com"}, "s3.eu-west-9.amazonaws.com"),
        ({"AWS_REGION": None}, {"endpoint.region": "eu-west-9"}, "s3.eu-west-9.amazonaws.com"),
        ({}, {"endpoint.fips": "true", "endpoint.region": "us-east-2"}, "bucket.s3-fips.us-east-2.amazonaws.com"),
    ],
)
def test_the_region_is_in_the_host(second_recording, options, settings, host):
    second_recording.answer = lambda _: Answer(status=503)
    store = store_for(None, {"proxy_url": second_recording.url, "AWS_ENDPOINT_URL": None, **options}, settings)
    with pytest.raises(OSError, match="proxy refused"):
        store.read("a")
    assert (second_recording.last.method, second_recording.last.target) == ("CONNECT", f"{host}:443")


PAGE = Path(__file__).parents[4] / "docs" / "object_stores.md"
NOT_HERE = {
    *("single_writer", "AWS_PROFILE"),  # no request shows it; test_credentials.py
    *("fs.s3a.assumed.role.arn", "fs.s3a.aws.credentials.provider"),  # S3A itself obeys these
}


def test_each_documented_option_and_setting_has_a_test_here():
    tests = "".join(file.read_text(encoding="utf-8") for file in sorted(Path(__file__).parent.glob("test_*_on_the_wire.py")))
    table = PAGE.read_text(encoding="utf-8").split("| Storage option |")[1].split("\n\n")[0]
    missing = []
    for row in table.splitlines()[2:]:
        options, settings = (re.findall(r"`([\w.:-]+)`", cell) for cell in row.split("|")[1:3])
        for name in {*options, *settings} - NOT_HERE:
            short = re.sub(r"^fs\.(?:s3a|azure)\.", "", name)
            if f'"{name}"' not in tests and f'"{short}"' not in tests:
                missing.append(name)
    assert not missing
