# SPDX-License-Identifier: Apache-2.0
"""The page on object stores names options that there are, and Hadoop's settings that mean the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bayou.errors import InvalidOptionError
from bayou.storage import open_store, qualify
from bayou.storage.object_stores.hadoop_settings import asks_s3a, merged, storage_options
from bayou.storage.object_stores.places import place_of

PAGE = Path(__file__).parents[4] / "docs" / "object_stores.md"
PLACES = {
    "AWS_": "s3a://bucket/t",
    "GOOGLE_": "gs://bucket/t",
    "AZURE_": "az://container/t",
}
VALUES = {
    "AWS_ENDPOINT_URL": "https://server",
    "AWS_SKIP_SIGNATURE": "true",
    "AWS_REQUEST_PAYER": "true",
    "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true",
    "AWS_SERVER_SIDE_ENCRYPTION": "aws:kms",
    "AWS_SSE_BUCKET_KEY_ENABLED": "true",
    "AWS_SSE_CUSTOMER_KEY_BASE64": "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=",
    "AWS_CHECKSUM_ALGORITHM": "SHA256",
    "AWS_UNSIGNED_PAYLOAD": "true",
    "AZURE_STORAGE_AUTHORITY_HOST": "https://login.example.com",
    "AZURE_STORAGE_ENCRYPTION_KEY": "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=",
    "AZURE_STORAGE_ENDPOINT": "https://server",
    "AZURE_SKIP_SIGNATURE": "true",
    "AZURE_USE_FABRIC_ENDPOINT": "true",
    "GOOGLE_BASE_URL": "https://server",
    "GOOGLE_SKIP_SIGNATURE": "true",
    "allow_invalid_certificates": "true",
    "http1_only": "true",
    "http2_only": "true",
    "pool_max_idle_per_host": "4",
    "pool_idle_timeout": "30s",
    "timeout": "30s",
    "AZURE_STORAGE_ACCOUNT_KEY": "c2VjcmV0",
    "AZURE_STORAGE_SAS_KEY": "sv=2021-10-04&ss=b&sig=x",
    "allow_http": "true",
    "read_timeout": "30s",
    "connect_timeout": "5 s",
    "proxy_url": "http://proxy:3128",
    "retry_timeout": "1m",
    "max_retries": "3",
}


def documented():
    table = PAGE.read_text(encoding="utf-8").split("| Storage option |")[1].split("\n\n")[0]
    return [re.findall(r"`([\w.:-]+)`", row.split("|")[1]) for row in table.splitlines()[2:]]


BESIDE = {
    "AWS_": {"AWS_REGION": "x", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"},
    "GOOGLE_": {},
    "AZURE_": {"AZURE_STORAGE_ACCOUNT_NAME": "a"},
}
NEEDED = {
    "AWS_SSE_KMS_KEY_ID": {"AWS_SERVER_SIDE_ENCRYPTION": "aws:kms"},
    "AWS_SSE_BUCKET_KEY_ENABLED": {"AWS_SERVER_SIDE_ENCRYPTION": "aws:kms"},
    "AWS_SSE_CUSTOMER_KEY_BASE64": {"AWS_SERVER_SIDE_ENCRYPTION": "sse-c"},
}
ELSEWHERE = {  # test_credentials.py; files and keys that must be there; a warning
    *("AWS_PROFILE", "AWS_ROLE_ARN", "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_KEY", "single_writer"),
}


def test_each_option_is_taken(certificates):
    names = [name for row in documented() for name in row]
    assert len(names) > 20
    values = {**VALUES, **dict.fromkeys(("root_certificate", "proxy_ca_certificate"), certificates.authority)}
    for name in names:
        if name in ELSEWHERE:
            continue
        kind = next((prefix for prefix in PLACES if name.startswith(prefix)), "AWS_")
        open_store(qualify(PLACES[kind]), {**BESIDE[kind], **NEEDED.get(name, {}), name: values.get(name, "value")})
        with pytest.raises(InvalidOptionError, match="not a storage option"):
            open_store(qualify(PLACES[kind]), {**BESIDE[kind], f"{name}_": "value"})


S3A = "fs.s3a."


@pytest.mark.parametrize(
    ("uri", "settings", "options"),
    [
        (
            "s3a://bucket/t",
            {
                f"{S3A}access.key": "a",
                f"{S3A}secret.key": "b",
                f"{S3A}bucket.bucket.secret.key": "c",
                f"{S3A}bucket.x.access.key": "d",
            },
            {"aws_access_key_id": "a", "aws_secret_access_key": "c"},
        ),
        (
            "s3://bucket/t",
            {f"{S3A}endpoint": "minio:9000", f"{S3A}connection.ssl.enabled": "false", f"{S3A}path.style.access": "true"},
            {"aws_endpoint_url": "http://minio:9000", "allow_http": "true", "aws_virtual_hosted_style_request": "false"},
        ),
        (
            "s3a://bucket/t",
            {f"{S3A}endpoint": "https://server/", f"{S3A}connection.timeout": "200000", f"{S3A}connection.establish.timeout": "5s"},
            {
                "read_timeout": "200000ms",
                "connect_timeout": "5s",
                "aws_endpoint_url": "https://bucket.server",
                "allow_http": "false",
                "aws_virtual_hosted_style_request": "true",
            },
        ),
        ("s3a://bucket/t", {f"{S3A}endpoint": "s3.amazonaws.com"}, {}),
        ("s3a://bucket/t", {f"{S3A}endpoint": "https://s3.eu-west-1.amazonaws.com"}, {"aws_region": "eu-west-1"}),
        ("s3a://bucket/t", {f"{S3A}endpoint": "s3.eu-west-1.amazonaws.com", f"{S3A}endpoint.region": "x"}, {"aws_region": "x"}),
        (
            "s3a://bucket/t",
            {f"{S3A}aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"},
            {"aws_skip_signature": "true"},
        ),
        (
            "s3a://bucket/t",
            {f"{S3A}encryption.algorithm": "SSE-KMS", f"{S3A}encryption.key": "arn", f"{S3A}requester.pays.enabled": "true"},
            {
                "aws_server_side_encryption": "aws:kms",
                "aws_sse_kms_key_id": "arn",
                "aws_request_payer": "true",
            },
        ),
        (
            "gs://bucket/t",
            {"fs.gs.auth.service.account.json.keyfile": "/key.json", "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE"},
            {"google_service_account": "/key.json"},
        ),
        (
            "abfss://c@acc.dfs.core.windows.net/t",
            {"fs.azure.account.key.acc.dfs.core.windows.net": "k", "fs.azure.account.key": "other"},
            {"azure_storage_account_key": "k"},
        ),
        (
            "abfss://c@acc.dfs.core.windows.net/t",
            {
                "fs.azure.account.auth.type": "OAuth",
                "fs.azure.account.oauth.provider.type": "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider",
                "fs.azure.account.oauth2.client.id": "i",
                "fs.azure.account.oauth2.client.secret": "s",
                "fs.azure.account.oauth2.client.endpoint": "https://login.microsoftonline.com/tenant/oauth2/token",
            },
            {
                "azure_storage_client_id": "i",
                "azure_storage_client_secret": "s",
                "azure_storage_tenant_id": "tenant",
                "azure_storage_authority_host": "https://login.microsoftonline.com",
            },
        ),
    ],
)
def test_hadoops_settings_mean_the_same(uri, settings, options):
    assert storage_options(settings, place_of(qualify(uri)), uri) == options


@pytest.mark.parametrize(
    ("uri", "settings", "option"),
    [
        ("s3a://b/t", {f"{S3A}encryption.algorithm": "CSE-KMS"}, "AWS_SERVER_SIDE_ENCRYPTION"),
        ("gs://b/t", {"fs.gs.auth.type": "ACCESS_TOKEN_PROVIDER"}, "GOOGLE_SERVICE_ACCOUNT"),
        ("abfss://c@a.dfs.core.windows.net/t", {"fs.azure.account.auth.type": "Custom"}, "AZURE_STORAGE_ACCOUNT_KEY"),
    ],
)
def test_a_setting_without_counterpart_names_the_option_to_give(uri, settings, option):
    with pytest.raises(InvalidOptionError, match=option):
        storage_options(settings, place_of(qualify(uri)), uri)


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (
            {},
            {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_session_token": "c", "aws_region": "r", "endpoint": True},
        ),
        ({"ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "y"}, {"aws_region": "r", "endpoint": True}),
        (
            {"AWS_ENDPOINT_URL": "http://z"},
            {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_session_token": "c", "aws_region": "r"},
        ),
        ({"AWS_WEB_IDENTITY_TOKEN_FILE": "/token"}, {"aws_region": "r", "endpoint": True}),
        ({"aws_container_credentials_full_uri": "http://z"}, {"aws_region": "r", "endpoint": True}),
        ({"region": "q"}, {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_session_token": "c", "endpoint": True}),
    ],
)
def test_what_the_user_gives_is_not_mixed_with_the_sessions(given, left):
    session = {"access.key": "a", "secret.key": "b", "session.token": "c", "endpoint.region": "r", "endpoint": "server"}
    uri = "s3a://bucket/t"
    found = merged({f"{S3A}{name}": value for name, value in session.items()}, given, place_of(qualify(uri)), uri)
    expected = {**left, **given}
    if expected.pop("endpoint", None):
        expected |= {"aws_endpoint_url": "https://bucket.server", "aws_virtual_hosted_style_request": "true", "allow_http": "false"}
    assert found == expected


def test_who_brings_credentials_needs_no_provider_that_is_known():
    settings = {f"{S3A}aws.credentials.provider": "com.acme.Vault", f"{S3A}bucket.b.aws.credentials.provider": "com.acme.Vault"}
    assert merged(settings, {"AWS_ACCESS_KEY_ID": "a"}, place_of(qualify("s3://b/t")), "s3://b/t") == {"AWS_ACCESS_KEY_ID": "a"}


def test_accounts_of_other_clouds_are_reached_there():
    place = place_of(qualify("abfss://c@acc.dfs.core.usgovcloudapi.net/t"))
    settings = {"fs.azure.account.key.acc.dfs.core.usgovcloudapi.net": "k"}
    assert storage_options(settings, place, "") == {"azure_storage_account_key": "k"}
    assert (place.account, place.cloud) == ("acc", "core.usgovcloudapi.net")


@pytest.mark.parametrize(
    ("providers", "keys", "asked"),
    [
        ("", False, False),
        ("org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider", True, False),
        ("org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider, com.acme.Vault", True, False),
        ("org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider", False, False),
        ("org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider,com.acme.Vault", False, True),
        ("com.acme.Vault", True, True),
        ("org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider", True, True),
        ("software.amazon.awssdk.auth.credentials.ProfileCredentialsProvider", False, True),
    ],
)
def test_s3a_is_asked_for_credentials_that_only_java_knows(providers, keys, asked):
    settings = {f"{S3A}aws.credentials.provider": providers} | ({f"{S3A}access.key": "k", f"{S3A}secret.key": "s"} if keys else {})
    assert asks_s3a(settings, place_of(qualify("s3a://b/t"))) is asked
    assert not asks_s3a(settings, place_of(qualify("gs://b/t")))


@pytest.mark.parametrize(
    ("host", "options"),
    [
        ("s3.eu-west-9.amazonaws.com", {"aws_region": "eu-west-9"}),
        ("s3-us-gov-west-1.amazonaws.com", {"aws_region": "us-gov-west-1"}),
        ("s3.amazonaws.com", {}),
        ("s3-accelerate.amazonaws.com", {"aws_endpoint_url": "https://b.s3-accelerate.amazonaws.com"}),
        (" s3-external-1.amazonaws.com", {"aws_endpoint_url": "https://b.s3-external-1.amazonaws.com"}),
        (
            "s3.cn-north-1.amazonaws.com.cn",
            {"aws_region": "cn-north-1", "aws_endpoint_url": "https://b.s3.cn-north-1.amazonaws.com.cn"},
        ),
    ],
)
def test_which_hosts_of_s3_are_a_regions(host, options):
    found = storage_options({f"{S3A}endpoint": host}, place_of(qualify("s3a://b/t")), "s3a://b/t")
    assert {name: value for name, value in found.items() if name in {"aws_region", "aws_endpoint_url"}} == options
