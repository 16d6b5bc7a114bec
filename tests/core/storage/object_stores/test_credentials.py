# SPDX-License-Identifier: Apache-2.0
"""Credentials of profiles and roles, and credentials that expire."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta, timezone

import pytest
from tests.support.object_servers import ACCESS, AZURE_ACCESS, Fault
from tests.support.recording_server import Answer

from bayou.errors import InvalidOptionError, MissingPackageError, StorageError
from bayou.storage import open_store, qualify
from bayou.storage.object_stores.credentials import aws_credentials
from bayou.storage.object_stores.object_store import ObjectStore
from bayou.storage.object_stores.options import ObjectOptions
from bayou.storage.object_stores.places import place_of

KEYS = {"aws_access_key_id": "from-options", "aws_secret_access_key": "s"}
VARIABLES = (
    *("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
    *("AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Writes the files of the AWS configuration."""
    pytest.importorskip("botocore", reason="botocore reads the AWS configuration")
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    credentials, config = tmp_path / "credentials", tmp_path / "config"
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    def write(in_credentials="", in_config=""):
        credentials.write_text(in_credentials)
        config.write_text(in_config)

    return write


def profile(name, key):
    return f"[{name}]\naws_access_key_id = {key}\naws_secret_access_key = s\n"


@pytest.mark.parametrize(
    ("options", "environment", "key"),
    [
        ({}, {}, "of-default"),
        ({"aws_profile": "other"}, {}, "of-other"),
        ({}, {"AWS_PROFILE": "other"}, "of-other"),
        ({"profile": "other"}, {"AWS_PROFILE": "default"}, "of-other"),
        ({"aws_profile": "other"}, {"AWS_ACCESS_KEY_ID": "x"}, "of-other"),
        # obstore finds these itself
        (KEYS, {"AWS_PROFILE": "other"}, None),
        ({"access_key_id": "x"}, {}, None),
        ({"aws_skip_signature": "true"}, {"AWS_PROFILE": "other"}, None),
        ({}, {"AWS_ACCESS_KEY_ID": "x"}, None),
        ({}, {"AWS_WEB_IDENTITY_TOKEN_FILE": "/token", "AWS_PROFILE": "other"}, None),
    ],
)
def test_whose_credentials_they_are(files, monkeypatch, options, environment, key):
    files(profile("default", "of-default") + profile("other", "of-other"), "[default]\nregion = eu-central-1\n")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    left, found = aws_credentials(options, "t")
    assert (None if found is None else found()["access_key_id"]) == key
    assert not any("profile" in name for name in left)


def test_region_and_endpoint_of_a_profile_hold_where_no_option_names_others(files):
    files(profile("default", "k"), "[default]\nregion = eu-central-1\nendpoint_url = http://server\n")
    assert aws_credentials({}, "t")[0] == {"aws_region": "eu-central-1", "aws_endpoint_url": "http://server"}
    given = {"region": "us-west-1", "endpoint": "http://other"}
    assert aws_credentials(given, "t")[0] == {"aws_region": "us-west-1", "aws_endpoint_url": "http://other"}


@pytest.mark.parametrize(
    ("options", "environment", "left"),
    [
        ({}, {"AWS_ENDPOINT_URL_S3": "http://other"}, {"aws_region": "eu-central-1"}),
        ({}, {"AWS_ENDPOINT": "http://other"}, {"aws_region": "eu-central-1"}),
        ({}, {"AWS_DEFAULT_REGION": "us-west-1"}, {"aws_endpoint_url": "http://server"}),
        ({"default_region": "us-west-1"}, {}, {"default_region": "us-west-1", "aws_endpoint_url": "http://server"}),
    ],
)
def test_other_spellings_come_before_a_profile_too(files, monkeypatch, options, environment, left):
    files(profile("default", "k"), "[default]\nregion = eu-central-1\nendpoint_url = http://server\n")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert aws_credentials(options, "t")[0] == left


def test_the_server_copies_between_tables_of_one_profile(files, place, options):
    files(profile("default", "one") + profile("other", "two"))
    given = {name: value for name, value in options.items() if "ACCESS_KEY" not in name}
    one, another = (open_store(qualify(place), given) for _ in range(2))
    assert one._shares_bucket(another)
    assert not one._shares_bucket(open_store(qualify(place), {**given, "AWS_PROFILE": "other"}))


def test_an_answer_about_a_role_shows_no_secret_of_who_assumes_it(files, recording, place, options):
    files()
    echo = "<ErrorResponse><Error><Code>Odd</Code><Message>{}</Message></Error></ErrorResponse>"
    recording.answer = lambda seen: Answer(echo.format(seen.headers["x-amz-security-token"]).encode(), 400)
    role = {"AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_SESSION_TOKEN": "token-of-options", "aws_endpoint_url_sts": recording.url}
    with pytest.raises(StorageError, match="Odd") as caught:
        open_store(qualify(place), {**options, **role}).read("a")
    assert "token-of-options" not in str(caught.value)


@pytest.mark.parametrize("who", [KEYS, {"aws_profile": "other"}], ids=["keys", "profile"])
def test_a_role_of_the_options_is_assumed_by_whom_they_name(files, monkeypatch, who):
    """Also on a machine whose environment has a token that takes a role of its own."""
    files(profile("other", "of-other"))
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/token")
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/of-machine")
    _, found = aws_credentials({**who, "aws_role_arn": "arn:aws:iam::1:role/wanted"}, "t")
    assert found.role == "arn:aws:iam::1:role/wanted"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"aws_access_key_id": "x"}, "role cannot be assumed.*aws_secret_access_key"),
        ({**KEYS, "aws_region": "eu west"}, "role cannot be assumed.*region"),
        ({"aws_profile": "p"}, "configuration cannot be read"),
    ],
)
def test_what_botocore_refuses_is_an_error_of_an_option(files, options, named):
    files("", "[profile p\n" if "aws_profile" in options else "")
    with pytest.raises(InvalidOptionError, match=named):
        aws_credentials({**options, "aws_role_arn": "arn:aws:iam::1:role/r"}, "t")


def test_a_configuration_without_credentials_leaves_it_to_obstore(files):
    files("", "[default]\nregion = eu-central-1\n")
    assert aws_credentials({}, "t") == ({}, None)


def test_a_wrong_profile_is_refused_by_name(files):
    files(profile("default", "k"), "[profile empty]\nregion = x\n")
    with pytest.raises(InvalidOptionError, match=r"no profile 'none'.*AWS_PROFILE"):
        aws_credentials({"aws_profile": "none"}, "t")
    with pytest.raises(InvalidOptionError, match="for the profile 'empty'"):
        aws_credentials({"aws_profile": "empty"}, "t")


def test_without_botocore_the_error_names_it(files, monkeypatch):
    files(profile("default", "k"))
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(MissingPackageError, match="pip install botocore"):
        aws_credentials({}, "t")


def test_a_program_that_gives_credentials_is_asked_again_when_they_expire(files, tmp_path, place, options):
    calls = tmp_path / "calls"
    soon = (datetime.now(timezone.utc) + timedelta(seconds=30)).isoformat()
    answer = {"Version": 1, "AccessKeyId": "access", "SecretAccessKey": "not-a-secret", "SessionToken": "t", "Expiration": soon}
    script = tmp_path / "program.py"
    script.write_text(f"open({str(calls)!r}, 'a').write('x')\nprint({json.dumps(answer)!r})")
    files("", f"[default]\ncredential_process = {sys.executable} {script}\n")
    given = {name: value for name, value in options.items() if "ACCESS_KEY" not in name}
    store = open_store(qualify(place), given)
    assert store.put_if_absent("a", b"x")
    _, found = aws_credentials({}, "t")
    before = len(calls.read_text())
    assert found()["token"] == found()["token"] == "t"
    assert len(calls.read_text()) >= before + 2  # what is over in 30 s is renewed at once


def test_a_role_is_assumed_with_the_keys_that_are_given(s3, place, options, files):
    role = "arn:aws:iam::123456789012:role/writer"
    given = {**options, "AWS_ROLE_ARN": role, "AWS_ENDPOINT_URL_STS": s3}
    assert open_store(qualify(place), given).put_if_absent("a", b"x")
    left, found = aws_credentials({name.lower(): value for name, value in given.items()}, place)
    assumed = found()
    assert assumed["access_key_id"] != ACCESS["AWS_ACCESS_KEY_ID"]
    assert assumed["token"]
    assert assumed["expires_at"] > datetime.now(timezone.utc)
    assert not {"aws_access_key_id", "aws_role_arn", "aws_endpoint_url_sts"} & left.keys()


def test_what_cannot_give_credentials_is_an_error_at_once(files, place, options):
    files("", f"[default]\ncredential_process = {sys.executable} -c 1/0\n")
    given = {name: value for name, value in options.items() if "ACCESS_KEY" not in name}
    with pytest.raises(InvalidOptionError, match=r"for the profile 'default': .*ZeroDivisionError"):
        open_store(qualify(place), given)


AZURE_NAME = {"AZURE_STORAGE_ACCOUNT_NAME": "acc"}
A_KEY, OTHER_KEY = "a2V5LW9mLW9wdGlvbnM=", "a2V5LW9mLXRoZS1tYWNoaW5l"


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        ({"AZURE_STORAGE_SAS_KEY": "sv=1&sig=abcdefghijkl"}, {"AZURE_STORAGE_ACCOUNT_KEY": OTHER_KEY}),
        ({"AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=abcdefghijkl"}, {"AZURE_STORAGE_TOKEN": "of-the-machine"}),
        ({"AZURE_STORAGE_ACCOUNT_KEY": A_KEY}, {"AZURE_STORAGE_TOKEN": "of-the-machine"}),
        ({"azure_storage_access_key": A_KEY}, {"AZURE_STORAGE_TOKEN": "of-the-machine", "AZURE_STORAGE_SAS_KEY": "sig=x"}),
        ({"AZURE_STORAGE_TOKEN": "of-options"}, {"AZURE_STORAGE_ACCOUNT_KEY": OTHER_KEY}),
    ],
)
def test_credentials_of_azure_options_come_before_those_of_the_environment(recording, monkeypatch, options, environment):
    given = {**AZURE_NAME, **options, "azure_storage_endpoint": recording.url, "allow_http": "true", "max_retries": "0"}
    open_store(qualify("az://c/t"), given).read("a")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    store = open_store(qualify("az://c/t"), given)
    store.read("a")
    alone, beside = recording.seen
    assert (alone.query, alone.authorization.split(":")[0]) == (beside.query, beside.authorization.split(":")[0])
    assert "of-the-machine" not in beside.authorization
    assert store._hide("abcdefghijkl" + A_KEY) == store._hide("abcdefghijkl") + store._hide(A_KEY)
    assert not any(value in store._hide(value) for value in options.values())


def test_a_session_token_of_the_environment_is_not_sent_with_a_key_of_the_options(recording, monkeypatch, place, options):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-machine")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-machine")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-the-machine")
    store = open_store(qualify(place), {**options, "AWS_ENDPOINT_URL": recording.url})
    store.read("a")
    assert "Credential=access/" in recording.last.authorization
    assert "of-the-machine" not in str(recording.last.headers)
    assert store._hide(options["AWS_SECRET_ACCESS_KEY"]) == "..."
    copy = open_store(qualify(place), {**options, "AWS_ENDPOINT_URL": recording.url})
    assert store._shares_bucket(copy)


@pytest.mark.parametrize(
    ("table", "options", "variable"),
    [
        ("gs://b/t", {"GOOGLE_SERVICE_ACCOUNT_KEY": "{}"}, "GOOGLE_SERVICE_ACCOUNT"),
        ("gs://b/t", {"GOOGLE_SERVICE_ACCOUNT": "/a.json"}, "GOOGLE_SERVICE_ACCOUNT_KEY"),
        ("az://c/t", {**AZURE_NAME, "AZURE_CLIENT_ID": "i", "AZURE_CLIENT_SECRET": "s"}, "AZURE_STORAGE_ACCOUNT_KEY"),
    ],
)
def test_a_variable_that_would_win_over_an_option_is_named(monkeypatch, table, options, variable):
    monkeypatch.setenv(variable, "x")
    with pytest.raises(InvalidOptionError, match=rf"both give credentials.*Unset {variable}"):
        open_store(qualify(table), options)


def test_an_account_of_the_options_that_is_not_the_paths_is_an_error():
    options = {"AZURE_STORAGE_ACCOUNT_NAME": "other", "AZURE_STORAGE_ACCOUNT_KEY": A_KEY}
    with pytest.raises(InvalidOptionError, match="names the storage account 'acc', but the storage option"):
        open_store(qualify("abfss://c@acc.dfs.core.windows.net/t"), options)


@pytest.mark.parametrize(
    ("table", "options", "missing"),
    [
        ("s3://b/t", {"AWS_ACCESS_KEY_ID": "x"}, "AWS_SECRET_ACCESS_KEY"),
        ("s3://b/t", {"AWS_SECRET_ACCESS_KEY": "x"}, "AWS_ACCESS_KEY_ID"),
        ("az://c/t", {"AZURE_STORAGE_ACCOUNT_KEY": A_KEY}, "AZURE_STORAGE_ACCOUNT_NAME"),
    ],
)
def test_an_option_that_is_missing_is_named(files, table, options, missing):
    files()
    with pytest.raises(InvalidOptionError, match=f"The storage option {missing} is missing"):
        open_store(qualify(table), options)


class Options:
    """Reads the options of a store, and counts how often."""

    def __init__(self, given):
        self.given, self.count = given, 0

    def __call__(self):
        self.count += 1
        return ObjectOptions.of(self.given, "s3", "t")


OPERATIONS = {
    "read": lambda store: store.read("_delta_log/a"),
    "list": lambda store: list(store.list_from("_delta_log/")),
    "create": lambda store: store.put_if_absent("_delta_log/b", b"x"),
    "delete": lambda store: store.delete("_delta_log/a"),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_expired_credentials_are_read_again_once(operation, store, place, options, server):
    store.put("_delta_log/a", b"x")
    reader = Options(options)
    fresh = ObjectStore(place, place_of(qualify(place)), reader)
    fresh.read("_delta_log/a")
    server.requests.clear()
    server.fault = lambda request: Fault(400, "ExpiredToken") if request.number == 0 else None
    operation(fresh)
    assert (len(server.requests), reader.count) == (2, 2)


def test_credentials_that_stay_expired_are_an_error_at_once(store, place, options, server):
    reader = Options(options)
    fresh = ObjectStore(place, place_of(qualify(place)), reader)
    server.fault = lambda _: Fault(400, "ExpiredToken")
    with pytest.raises(StorageError, match=r"ExpiredToken.*Renew the credentials") as caught:
        fresh.read("_delta_log/a")
    assert (len(server.requests), reader.count) == (2, 2)
    assert caught.value.facts["status"] == 400


SAS_IS_OVER = (
    "<AuthenticationErrorDetail>Signature not valid in the specified time frame: Start [a] - Expiry [b] - Current [c]"
    "</AuthenticationErrorDetail>"
)


@pytest.mark.parametrize(
    ("table", "status", "said", "is_expired"),
    [
        (
            "t",
            403,
            f"<Code>AuthenticationFailed</Code><Message>m\nRequestId:1</Message>{SAS_IS_OVER}",
            True,
        ),
        (
            "t",
            401,
            "<Code>InvalidAuthenticationInfo</Code><AuthenticationErrorDetail>The token is expired.</AuthenticationErrorDetail>",
            True,
        ),
        ("expired_orders", 403, "<Code>AuthorizationFailure</Code><Message>This request is not authorized.</Message>", False),
        ("expired_orders", 403, "<Code>AccessDenied</Code><Resource>/c/expired_orders/a</Resource>", False),
        ("expired_orders", 403, "", False),
    ],
)
def test_how_azure_says_that_credentials_have_expired(recording, table, status, said, is_expired):
    recording.answer = lambda _: Answer(f"<?xml version='1.0'?><Error>{said}</Error>".encode(), status)
    store = open_store(qualify(f"az://c/{table}"), {**AZURE_ACCESS, "azure_storage_endpoint": recording.url})
    with pytest.raises(StorageError) as caught:
        store.read("a")
    assert "\n" not in str(caught.value)
    assert ("Renew the credentials" in caught.value.next_step, len(recording.seen)) == (is_expired, 2 if is_expired else 1)
