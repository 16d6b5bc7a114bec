# SPDX-License-Identifier: Apache-2.0
"""Each option of Azure and of Google Cloud Storage, and Hadoop's setting that means the same, changes what a server is sent."""

from __future__ import annotations

import base64
import json

import pytest
from tests.support.certificates import make_private_key
from tests.support.recording_server import OBJECT, Answer

from bayou.errors import InvalidOptionError, StorageError
from bayou.storage import open_store, qualify
from bayou.storage.object_stores.hadoop_settings import merged
from bayou.storage.object_stores.places import place_of

AZURE = "abfss://container@account.dfs.core.windows.net/t"
GCS = "gs://bucket/t"
ACCOUNT_KEY = base64.b64encode(b"a key of an account").decode()
KEY = base64.b64encode(b"k" * 32).decode()
TRIED = {"allow_http": "true", "max_retries": "0", "retry_timeout": "1s"}


def store_of(table, options, settings=None):
    return open_store(qualify(table), merged(settings or {}, {**TRIED, **options}, place_of(qualify(table)), table))


def azure(server, options, settings=None):
    named = {f"fs.azure.{name}": value for name, value in (settings or {}).items()}
    return store_of(AZURE, {"AZURE_STORAGE_ENDPOINT": server.url, **options}, named)


def token_of(token):
    answer = {"access_token": token, "token_type": "Bearer", "expires_in": 3600, "expires_on": "4102444800"}
    return Answer(json.dumps(answer).encode(), headers={"Content-Type": "application/json"})


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ({"AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY}, {}),
        ({}, {"account.key": ACCOUNT_KEY}),
        ({}, {"account.key.account.dfs.core.windows.net": ACCOUNT_KEY, "account.key": "b3RoZXI="}),
    ],
)
def test_the_key_of_an_account_signs(recording, options, settings):
    azure(recording, options, settings).read("a")
    assert recording.last.authorization.startswith("SharedKey account:")
    first = recording.last.authorization
    azure(recording, {**options, "AZURE_STORAGE_ACCOUNT_NAME": "another"}, settings).read("a")
    assert recording.last.authorization.startswith("SharedKey another:")
    azure(recording, {"AZURE_STORAGE_ACCOUNT_KEY": base64.b64encode(b"another key").decode()}).read("a")
    assert recording.last.authorization != first


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ({"AZURE_STORAGE_SAS_KEY": "sv=2021-10-04&ss=b&sig=a%2Bb"}, {}),
        ({"AZURE_STORAGE_SAS_TOKEN": "?sv=2021-10-04&ss=b&sig=a%2Bb"}, {}),
        ({}, {"account.auth.type": "SAS", "sas.fixed.token": "sv=2021-10-04&ss=b&sig=a%2Bb"}),
    ],
)
def test_a_shared_access_signature_is_in_the_query(recording, options, settings):
    azure(recording, options, settings).read("a")
    assert recording.last.query == {"sv": ["2021-10-04"], "ss": ["b"], "sig": ["a+b"]}
    assert not recording.last.authorization


def test_a_bearer_token(recording):
    azure(recording, {"AZURE_STORAGE_TOKEN": "a-token"}).read("a")
    assert recording.last.authorization == "Bearer a-token"


def test_an_application_asks_its_tenant_for_a_token(recording, safe_recording, certificates):
    safe_recording.answer = lambda _: token_of("of-the-tenant")
    own = {
        "AZURE_STORAGE_CLIENT_ID": "the-application",
        "AZURE_STORAGE_CLIENT_SECRET": "its+secret",
        "AZURE_STORAGE_TENANT_ID": "the-tenant",
        "AZURE_STORAGE_AUTHORITY_HOST": safe_recording.url,
    }
    settings = {
        "account.auth.type": "OAuth",
        "account.oauth.provider.type": "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider",
        "account.oauth2.client.id": "the-application",
        "account.oauth2.client.secret": "its+secret",
        "account.oauth2.client.endpoint": f"{safe_recording.url}/the-tenant/oauth2/token",
    }
    trusted = {"root_certificate": certificates.authority}
    for store in (azure(recording, {**own, **trusted}), azure(recording, trusted, settings)):
        store.read("a")
        assert recording.last.authorization == "Bearer of-the-tenant"
        asked = safe_recording.seen.pop()
        assert (asked.method, asked.path) == ("POST", "/the-tenant/oauth2/v2.0/token")
        assert b"client_id=the-application&client_secret=its%2Bsecret&" in asked.body


def test_a_machine_asks_for_its_own_token(recording, second_recording):
    second_recording.answer = lambda _: token_of("of-the-machine")
    settings = {
        "account.auth.type": "OAuth",
        "account.oauth.provider.type": "org.apache.hadoop.fs.azurebfs.oauth2.MsiTokenProvider",
        "account.oauth2.msi.endpoint": f"{second_recording.url}/msi",
        "account.oauth2.client.id": "the-application",
    }
    azure(recording, {}, settings).read("a")
    assert recording.last.authorization == "Bearer of-the-machine"
    assert second_recording.last.query["client_id"] == ["the-application"]


def test_a_request_without_a_signature(recording):
    azure(recording, {"AZURE_SKIP_SIGNATURE": "true"}).read("a")
    assert not recording.last.authorization


@pytest.mark.parametrize("kind", ["options", "settings"])
def test_a_key_of_ones_own_encrypts(recording, kind):
    options = {"AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY}
    settings = {"encryption.encoded.client-provided-key": KEY} if kind == "settings" else {}
    store = azure(recording, {**options, **({} if settings else {"AZURE_STORAGE_ENCRYPTION_KEY": KEY})}, settings)
    for call in (lambda: store.put("a", b"x"), lambda: store.read("a")):
        call()
        assert recording.last.headers["x-ms-encryption-key"] == KEY
        assert recording.last.headers["x-ms-encryption-algorithm"] == "AES256"


def test_the_times_and_the_name_of_a_session(recording):
    settings = {
        "account.key": ACCOUNT_KEY,
        "user.agent.prefix": "lake/1",
        "io.retry.max.retries": "1",
        "http.read.timeout": "100",
        "http.connection.timeout": "5000",
    }
    place = place_of(qualify(AZURE))
    store = open_store(
        qualify(AZURE),
        merged(
            {f"fs.azure.{name}": value for name, value in settings.items()},
            {"AZURE_STORAGE_ENDPOINT": recording.url, "allow_http": "true"},
            place,
            AZURE,
        ),
    )
    recording.answer = lambda _: Answer(status=503)
    with pytest.raises(StorageError, match="503"):
        store.read("a")
    assert [each.headers["user-agent"] for each in recording.seen] == ["lake/1"] * 2


@pytest.mark.parametrize(
    ("table", "options", "host"),
    [
        (AZURE, {}, "account.blob.core.windows.net"),
        ("az://container/t", {"AZURE_STORAGE_ACCOUNT_NAME": "other"}, "other.blob.core.windows.net"),
        ("abfss://c@account.dfs.core.chinacloudapi.cn/t", {}, "account.blob.core.chinacloudapi.cn"),
        ("abfss://w@onelake.dfs.fabric.microsoft.com/t", {}, "onelake.blob.fabric.microsoft.com"),
        (AZURE, {"AZURE_USE_FABRIC_ENDPOINT": "true"}, "account.blob.fabric.microsoft.com"),
    ],
)
def test_the_host_of_an_account(second_recording, table, options, host):
    second_recording.answer = lambda _: Answer(status=503)
    with pytest.raises(StorageError, match="proxy refused"):
        store_of(table, {"AZURE_STORAGE_TOKEN": "x", "proxy_url": second_recording.url, **options}).read("a")
    assert second_recording.last.target == f"{host}:443"


@pytest.mark.parametrize(
    ("table", "settings", "named"),
    [
        (AZURE, {"fs.azure.encryption.context.provider.type": "com.acme.Keys"}, "AZURE_STORAGE_ENCRYPTION_KEY"),
        (AZURE, {"fs.azure.client-provided-encryption-key": "x"}, "AZURE_STORAGE_ENCRYPTION_KEY"),
        (AZURE, {"fs.azure.account.keyprovider": "org.apache.hadoop.fs.azure.ShellDecryptionKeyProvider"}, "ACCOUNT_KEY"),
        (
            AZURE,
            {"fs.azure.account.auth.type": "SAS", "fs.azure.sas.token.provider.type": "com.acme.Sas"},
            "AZURE_STORAGE_SAS_KEY",
        ),
        (GCS, {"fs.gs.encryption.key": "x"}, "fs.gs.encryption.key"),
        (GCS, {"fs.gs.auth.impersonation.service.account": "x"}, "GOOGLE_SERVICE_ACCOUNT"),
        (GCS, {"fs.gs.requester.pays.mode": "AUTO"}, "fs.gs.requester.pays.mode"),
    ],
)
def test_a_setting_that_would_be_dropped_is_an_error(table, settings, named):
    with pytest.raises(InvalidOptionError, match=named):
        store_of(table, {}, settings)


@pytest.fixture(scope="module")
def private_key():
    pytest.importorskip("cryptography", reason="cryptography makes the key of a service account")
    return make_private_key()


def part_of(token, number):
    part = token.split(".")[number]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_a_service_account_signs_its_own_token(recording, private_key, tmp_path):
    account = {
        "type": "service_account",
        "client_email": "lake@example.com",
        "client_id": "1",
        "private_key": private_key,
        "private_key_id": "the-key",
        "token_uri": f"{recording.url}/token",
    }
    file = tmp_path / "account.json"
    file.write_text(json.dumps(account))
    base = {"GOOGLE_BASE_URL": recording.url}
    for options, settings in (
        ({**base, "GOOGLE_SERVICE_ACCOUNT": str(file)}, {}),
        ({**base, "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account)}, {}),
        (base, {"fs.gs.auth.service.account.json.keyfile": str(file)}),
    ):
        store_of(GCS, options, settings).read("a")
        (asked,) = recording.seen  # object_store asks nobody for a token
        kind, _, token = asked.authorization.partition(" ")
        assert (kind, part_of(token, 0)["kid"], part_of(token, 1)["iss"]) == ("Bearer", "the-key", "lake@example.com")
        recording.seen.clear()


def test_gcs_reads_without_a_signature(recording):
    base = {"GOOGLE_BASE_URL": recording.url}
    for options, settings in (({"GOOGLE_SKIP_SIGNATURE": "true"}, {}), ({}, {"fs.gs.auth.type": "UNAUTHENTICATED"})):
        assert store_of(GCS, {**base, **options}, settings).read("a") == b"data"
        assert not recording.last.authorization


def test_a_token_and_a_server_of_gcs(recording):
    store_of(GCS, {"GOOGLE_BASE_URL": recording.url, "GOOGLE_BEARER_TOKEN": "a-token"}).read("a")
    assert recording.last.authorization == "Bearer a-token"
    store_of(GCS, {"GOOGLE_BEARER_TOKEN": "a-token"}, {"fs.gs.storage.root.url": recording.url}).read("a")
    assert len(recording.seen) == 2


def test_a_commit_of_gcs_is_conditional(recording):
    store = store_of(GCS, {"GOOGLE_BASE_URL": recording.url, "GOOGLE_BEARER_TOKEN": "a-token"})
    assert store.put_if_absent("a", b"x")
    assert recording.last.headers["x-goog-if-generation-match"] == "0"


def test_a_proxy_of_gcs_is_asked_with_its_user(second_recording):
    second_recording.answer = lambda _: OBJECT
    options = {"GOOGLE_BASE_URL": "http://storage.example.com", "GOOGLE_BEARER_TOKEN": "a-token"}
    settings = {
        "fs.gs.proxy.address": second_recording.host,
        "fs.gs.proxy.username": "me",
        "fs.gs.proxy.password": "p@ss",
    }
    store_of(GCS, options, settings).read("a")
    assert second_recording.last.target == "http://storage.example.com/bucket/t%2Fa"
    assert second_recording.last.headers["proxy-authorization"] == f"Basic {base64.b64encode(b'me:p@ss').decode()}"
