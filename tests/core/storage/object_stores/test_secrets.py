# SPDX-License-Identifier: Apache-2.0
"""No secret is in an error, its cause, a traceback, a log record, an event, a warning, a repr, a pickle or a file of the log."""

from __future__ import annotations

import base64
import json
import logging
import pickle
import secrets
import traceback
import uuid
import warnings
from urllib.parse import quote, quote_plus

import pytest
from tests.support.certificates import make_private_key
from tests.support.object_servers import Fault
from tests.support.recording_server import OBJECT, Answer

import bayou
from bayou.errors import InvalidOptionError
from bayou.log import events
from bayou.protocol.actions.actions import AddFile
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage import open_store, qualify
from bayou.storage.object_stores.hadoop_settings import merged
from bayou.storage.object_stores.object_store import ObjectStore
from bayou.storage.object_stores.options import ObjectOptions
from bayou.storage.object_stores.places import place_of


def new_secret():
    # Of the characters that a URL and JSON write otherwise, too.
    return f"{secrets.token_urlsafe(12)}/+={secrets.token_urlsafe(12)}"


class Texts:
    """All that a program may show."""

    def __init__(self, caplog):
        self.found = []
        self.num_errors = 0
        self._caplog = caplog

    def add(self, *values):
        for value in values:
            self.found += [str(value), repr(value)]

    def call(self, request):
        """What a call gives or raises, both of which may be shown."""
        try:
            found = request()
            if not isinstance(found, bytes):  # what is in a file is the caller's
                self.add(found)
        except Exception as error:  # noqa: BLE001
            self.num_errors += 1
            self._error(error, set())

    def _error(self, error, known):
        if error is None or id(error) in known:
            return
        known.add(id(error))
        self.add(error, error.args, vars(error), getattr(error, "facts", None))
        self.found += traceback.format_exception(error)
        self.found.append(pickle.dumps((str(error), error.args)).decode("latin-1"))
        self._error(error.__cause__, known)
        self._error(error.__context__, known)

    def all(self, capfd):
        records = [f"{each.getMessage()} {vars(each)}" for each in self._caplog.records]
        return "\n".join([*self.found, *records, *capfd.readouterr()])


@pytest.fixture
def texts(caplog, capfd):
    caplog.set_level(logging.DEBUG)
    found = Texts(caplog)
    remove = events.add_listener(lambda event: found.add(event, event.to_dict()))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield found
        found.add(*(each.message for each in warned))
    remove()
    capfd.readouterr()


def spellings(secret):
    escaped = json.dumps(secret)[1:-1]
    return {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), escaped, base64.b64encode(secret.encode()).decode()}


def check(texts, capfd, *hidden):
    shown = texts.all(capfd)
    assert shown
    for secret in hidden:
        for spelling in spellings(secret):
            assert spelling not in shown


class OfS3:
    """Secrets of S3."""

    def __init__(self, url, proxy_url=None):
        self.key, self.secret, self.token, self.password = (new_secret() for _ in range(4))
        self.encryption = base64.b64encode(secrets.token_bytes(32)).decode()
        self.hidden = (self.key, self.secret, self.token, self.encryption, self.password)
        self.options = {
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_SESSION_TOKEN": self.token,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": url,
            "allow_http": "true",
            "retry_timeout": "100ms",
            "max_retries": "0",
        }
        if proxy_url is not None:
            host = proxy_url.partition("://")[2]
            self.options["proxy_url"] = f"http://user:{quote(self.password, safe='')}@{host}"
            self.options["AWS_SERVER_SIDE_ENCRYPTION"] = "sse-c"
            self.options["AWS_SSE_CUSTOMER_KEY_BASE64"] = self.encryption


def use_store(texts, table, options):
    """Every operation of a store."""
    store = open_store(qualify(table), options)
    texts.add(store, store._options, store._place, store._client, store._clients, store._clients.secrets)
    other = open_store(qualify(f"{table}.other"), options)
    for request in (
        lambda: store.read("a"),
        lambda: store.open("a").read(),
        lambda: store.size("a"),
        lambda: list(store.list_from("_delta_log/0")),
        lambda: store.list_folders([""], ()),
        lambda: store.put("b", b"x"),
        lambda: store.put_if_absent("c", b"x"),
        lambda: store._created("c", b"x"),
        lambda: store.delete("b"),
        lambda: store.delete_many(["b", "c", "../d"]).failed,
        lambda: other.copy_if_absent(store, "a", "d"),
        lambda: pickle.dumps(store),
    ):
        texts.call(request)


def use_table(texts, table, options):
    """Commits, a checkpoint, the history; gives the log."""
    log = bayou.open(table, storage_options=options)
    texts.call(lambda: log.create(StructType((StructField("id", "long"),))))
    for number in range(11):
        texts.call(lambda number=number: log.transaction("WRITE").commit([AddFile(f"f{number}", {}, 1, 1)]))
    for request in (log.snapshot, lambda: list(log.history()), log.checkpoint, lambda: log.vacuum(0, check_retention=False)):
        texts.call(request)
    texts.call(lambda: pickle.dumps(log))
    texts.call(lambda: pickle.dumps(log.snapshot()))
    texts.add(log)
    return log


def test_a_table_that_works_shows_none(texts, capfd, s3, place):
    of_s3 = OfS3(s3)
    log = use_table(texts, place, of_s3.options)
    assert texts.num_errors == 2  # a pickle of the log, and one of the snapshot
    names = [each.path for each in log.store.list_from("_delta_log/")]
    assert any(name.endswith(".parquet") for name in names)
    for name in names:
        texts.found.append(log.store.read(name).decode("latin-1"))
    use_store(texts, place, of_s3.options)
    check(texts, capfd, *of_s3.hidden)


def echo(request):
    """All that a server was sent."""
    return f"{request.method} {request.target}\n{dict(request.headers)}\n{request.body!r}\n{json.dumps(dict(request.headers))}"


# Answers as servers give them, and as they should not.
ANSWERS = {
    "refused": lambda said: Answer(f"<Error><Code>AccessDenied</Code><Message>{said}</Message></Error>".encode(), 403),
    "a signature": lambda said: Answer(
        f"<Error><Code>SignatureDoesNotMatch</Code><StringToSign>{said}</StringToSign><Message>x</Message></Error>".encode(), 403
    ),
    "cut": lambda said: Answer(f"<Error><CanonicalRequest>{said}".encode(), 403),
    "cut in a message": lambda said: Answer(f"<Error><Code>SignatureDoesNotMatch</Code><Message>{said}".encode(), 400),
    "expired": lambda said: Answer(f"<Error><Code>ExpiredToken</Code><Message>{said}</Message></Error>".encode(), 400),
    "a region": lambda said: Answer(f"<Error><Code>AuthorizationHeaderMalformed</Code>{said}</Error>".encode(), 400),
    "moved": lambda said: Answer(f"<Error><Code>PermanentRedirect</Code><Message>{said}</Message></Error>".encode(), 301),
    "JSON": lambda said: Answer(json.dumps({"error": said}).encode(), 401, {"Content-Type": "application/json"}),
    "a page": lambda said: Answer(f"<html>{said}</html>".encode(), 404, {"Content-Type": "text/html"}),
    "a page with 200": lambda said: Answer(f"<html>{said}</html>".encode(), 200, {"Content-Type": "text/html"}),
    "not XML": lambda said: Answer(said.encode(), 200, {"ETag": '"1"', "Last-Modified": said.partition(" ")[2][:40]}),
    "a key in a listing": lambda said: Answer(
        f"<ListBucketResult><Contents><Key>//{said}</Key><Size>x</Size></Contents></ListBucketResult>".encode()
    ),
    "busy": lambda said: Answer(said.encode(), 503),
    "a proxy": lambda said: Answer(said.encode(), 407),
    "nothing": lambda _: Answer(status=0),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_quote_a_request_show_none(texts, capfd, recording, place, name):
    recording.answer = lambda request: ANSWERS[name](echo(request))
    of_s3 = OfS3("http://s3.example.com", recording.url)
    use_store(texts, place, of_s3.options)
    texts.call(lambda: bayou.open(place, storage_options=of_s3.options).snapshot())
    assert texts.num_errors > 3
    check(texts, capfd, *of_s3.hidden, base64.b64encode(f"user:{of_s3.password}".encode()).decode())


def test_a_server_that_is_not_there_shows_none(texts, capfd, place):
    of_s3 = OfS3("http://127.0.0.1:9", "http://127.0.0.1:9")
    use_store(texts, place, of_s3.options)
    check(texts, capfd, *of_s3.hidden)


def test_a_commit_whose_outcome_is_not_known_shows_none(texts, capfd, server, place):
    of_s3 = OfS3(server.url)
    log = bayou.open(place, storage_options=of_s3.options)
    log.create(StructType((StructField("id", "long"),)))
    server.fault = lambda request: Fault(503) if request.method == "PUT" else None
    texts.call(lambda: log.transaction("WRITE").commit([AddFile("a", {}, 1, 1)]))
    assert texts.num_errors == 1
    check(texts, capfd, *of_s3.hidden)


def test_the_environments_secrets_are_shown_no_more(texts, capfd, recording, place, monkeypatch):
    recording.answer = lambda request: ANSWERS["JSON"](echo(request))
    of_s3 = OfS3(recording.url)
    for name, value in of_s3.options.items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)
    use_store(texts, place, {"allow_http": "true", "retry_timeout": "0s"})
    check(texts, capfd, *of_s3.hidden)


def test_credentials_that_a_provider_gives_are_not_shown(texts, capfd, recording, place):
    given = {"access_key_id": new_secret(), "secret_access_key": new_secret(), "token": new_secret(), "expires_at": None}
    options = {
        "AWS_ENDPOINT_URL": recording.url,
        "AWS_REGION": "r",
        "allow_http": "true",
        "retry_timeout": "100ms",
        "max_retries": "0",
    }
    store = ObjectStore(place, place_of(qualify(place)), lambda: ObjectOptions.of(options, "s3", "t", lambda: given))
    for name in ("JSON", "cut in a message", "expired", "a page"):
        recording.answer = lambda request, name=name: ANSWERS[name](echo(request))
        for request in (lambda: store.read("a"), lambda: store.put("b", b"x"), lambda: list(store.list_from("_delta_log/0"))):
            texts.call(request)
    assert texts.num_errors > 8
    assert recording.last.headers["x-amz-security-token"] == given["token"]
    check(texts, capfd, given["access_key_id"], given["secret_access_key"], given["token"])


def test_values_that_cannot_be_read_are_not_shown(texts, capfd, place):
    hidden = new_secret()
    names = [
        "AWS_ENDPOINT_URL",
        "AWS_CHECKSUM_ALGORITHM",
        "AWS_SERVER_SIDE_ENCRYPTION",
        "AWS_REQUEST_PAYER",
        "AWS_COPY_IF_NOT_EXISTS",
    ]
    names += [
        "AWS_SKIP_SIGNATURE",
        "AWS_SSE_CUSTOMER_KEY_BASE64",
        "AWS_ROLE_ARN",
        "AWS_S3_LOCKING_PROVIDER",
        "bogus",
        "aws_s3_express",
    ]
    names += [
        "allow_http",
        "timeout",
        "retry_timeout",
        "max_retries",
        "single_writer",
        "proxy_url",
        "proxy_excludes",
        "root_certificate",
    ]
    names += ["pool_max_idle_per_host", "user_agent", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"]
    for name in names:
        for value in (hidden, f"{hidden}\n", f'"{hidden}', f"http://{hidden}", f"http://u:{hidden}@host", f"x {hidden}"):
            texts.call(lambda name=name, value=value: open_store(qualify(place), {**OfS3("http://h").options, name: value}))
    for table, names in (
        ("az://c/t", ("ACCOUNT_KEY", "SAS_KEY", "ENCRYPTION_KEY", "ENDPOINT", "TOKEN", "AUTHORITY_HOST")),
        ("gs://b/t", ("SERVICE_ACCOUNT_KEY", "BASE_URL", "BEARER_TOKEN", "SERVICE_ACCOUNT", "APPLICATION_CREDENTIALS")),
    ):
        for name in names:
            given = {"AZURE_STORAGE_ACCOUNT_NAME": "a"} if table.startswith("az") else {}
            prefix = "AZURE_STORAGE_" if given else "GOOGLE_"
            for value in (
                f"{hidden}\n",
                hidden,
                json.dumps({"private_key": hidden}),
                json.dumps({"type": hidden, "private_key": 1}),
            ):
                texts.call(lambda t=table, o={**given, f"{prefix}{name}": value}: open_store(qualify(t), o))
    assert texts.num_errors > 60
    check(texts, capfd, hidden)


@pytest.mark.parametrize(
    "table",
    [
        "s3://key:{}@bucket/t",
        "s3a://{}@bucket/t",
        "abfss://container:{}@account.dfs.core.windows.net/t",
        "abfss://c@account.dfs.core.windows.net/t?sv=2021&sig={}",
        "az://container/t?sig={}",
        "https://account.blob.core.windows.net/c/t?sv=2021&sig={}",
        "gs://bucket/t?X-Goog-Signature={}",
    ],
)
def test_a_place_with_credentials_is_refused_without_them(texts, capfd, table):
    hidden = secrets.token_urlsafe(24)
    with pytest.raises(InvalidOptionError, match="holds credentials"):
        bayou.open(table.format(hidden)).snapshot()
    if "{}@" in table and ":{}" not in table:
        return  # a user alone may be a container
    texts.call(lambda: bayou.open(table.format(hidden)).snapshot())
    check(texts, capfd, hidden)


def azure_options(recording, second):
    key, sas, secret, token, own = (secrets.token_urlsafe(24) for _ in range(5))
    base = {
        "AZURE_STORAGE_ACCOUNT_NAME": "account",
        "AZURE_STORAGE_ENDPOINT": recording.url,
        "allow_http": "true",
        "retry_timeout": "100ms",
        "max_retries": "0",
    }
    client = {
        "AZURE_STORAGE_CLIENT_ID": "c",
        "AZURE_STORAGE_CLIENT_SECRET": secret,
        "AZURE_STORAGE_TENANT_ID": "t",
        "AZURE_STORAGE_AUTHORITY_HOST": second.url,
    }
    encoded = base64.b64encode(key.encode()).decode()
    customer = base64.b64encode(own[:32].encode()).decode()
    ways = [
        {"AZURE_STORAGE_ACCOUNT_KEY": encoded, "AZURE_STORAGE_ENCRYPTION_KEY": customer},
        {"AZURE_STORAGE_SAS_KEY": f"sv=2021-10-04&ss=b&sig={sas}%2B"},
        {"AZURE_STORAGE_TOKEN": token},
        client,
    ]
    return [{**base, **way} for way in ways], (encoded, sas, secret, token, customer)


@pytest.mark.parametrize("name", ["a signature", "cut", "JSON", "not XML"])
def test_answers_of_azure_show_none(texts, capfd, recording, second_recording, name):
    given_token = secrets.token_urlsafe(24)
    told = Answer(json.dumps({"access_token": given_token, "expires_in": 3600, "token_type": "Bearer"}).encode())
    second_recording.answer = lambda _: told
    recording.answer = lambda request: ANSWERS[name](echo(request))
    ways, hidden = azure_options(recording, second_recording)
    for options in ways:
        use_store(texts, f"az://container/{uuid.uuid4().hex}", options)
    second_recording.answer = lambda request: ANSWERS[name](echo(request))
    use_store(texts, "az://container/t", ways[-1])
    assert texts.num_errors > 10
    check(texts, capfd, *hidden, given_token)


@pytest.mark.parametrize("name", ["refused", "JSON", "cut"])
def test_answers_of_gcs_show_none(texts, capfd, recording, tmp_path, name):
    pytest.importorskip("cryptography", reason="cryptography makes the key of a service account")
    private = make_private_key()
    account = {
        "type": "service_account",
        "client_email": "a@b",
        "client_id": "1",
        "private_key": private,
        "private_key_id": new_secret(),
    }
    (tmp_path / "account.json").write_text(json.dumps(account))
    token = secrets.token_urlsafe(24)
    recording.answer = lambda request: ANSWERS[name](echo(request) + json.dumps(account))
    base = {"GOOGLE_BASE_URL": recording.url, "allow_http": "true", "retry_timeout": "100ms", "max_retries": "0"}
    for way in (
        {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account)},
        {"GOOGLE_SERVICE_ACCOUNT": str(tmp_path / "account.json")},
        {"GOOGLE_BEARER_TOKEN": token},
    ):
        use_store(texts, "gs://bucket/t", {**base, **way})
    assert texts.num_errors > 10
    lines = [line for line in private.splitlines() if "-----" not in line and len(line) > 20]
    bearers = {each.authorization.partition(" ")[2] for each in recording.seen}
    check(texts, capfd, token, *lines, *bearers)


def test_hadoops_settings_are_not_shown(texts, capfd):
    hidden = new_secret()
    for table, settings in (
        ("s3a://b/t", {"fs.s3a.encryption.algorithm": "CSE-KMS", "fs.s3a.encryption.key": hidden}),
        ("s3a://b/t", {"fs.s3a.encryption.context": hidden}),
        ("s3a://b/t", {"fs.s3a.proxy.host": "h", "fs.s3a.proxy.password": hidden, "fs.s3a.proxy.domain": hidden}),
        ("gs://b/t", {"fs.gs.encryption.key": hidden}),
        ("abfss://c@a.dfs.core.windows.net/t", {"fs.azure.client-provided-encryption-key": hidden}),
        ("abfss://c@a.dfs.core.windows.net/t", {"fs.azure.account.auth.type": "Custom", "fs.azure.account.key": hidden}),
    ):
        texts.call(lambda t=table, s=settings: merged(s, {}, place_of(qualify(t)), t))
    assert texts.num_errors == 6
    check(texts, capfd, hidden)


def test_a_store_says_why_it_cannot_be_pickled(recording, place):
    store = open_store(qualify(place), OfS3(recording.url).options)
    recording.answer = lambda _: OBJECT
    for value in (store, bayou.open(place, storage_options=OfS3(recording.url).options)):
        with pytest.raises(TypeError, match=r"cannot be pickled.*Open the table again in the other process: bayou\.open"):
            pickle.dumps(value)
