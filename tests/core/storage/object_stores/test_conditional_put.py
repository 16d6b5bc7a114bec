# SPDX-License-Identifier: Apache-2.0
"""Whatever the network loses: the outcome of a conditional PUT that is reported is the true one."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from tests.support.object_servers import Fault

import bayou
from bayou.errors import StorageError
from bayou.protocol.actions.actions import AddFile
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage import open_store, qualify
from bayou.storage.object_stores import conditional_puts
from bayou.storage.object_stores.conditional_puts import endpoint_to_probe
from bayou.storage.object_stores.failures import Failure, Meaning
from bayou.storage.object_stores.object_store import ObjectStore
from bayou.storage.object_stores.options import ObjectOptions
from bayou.storage.object_stores.places import place_of

PATH = "_delta_log/00000000000000000000.json"


def first_put(fault, count=1):
    """The first PUTs fail so."""
    seen = []

    def decide(request):
        if request.method != "PUT" or len(seen) >= count:
            return None
        seen.append(request)
        return fault

    return decide


@pytest.fixture(autouse=True)
def quick(store, monkeypatch):
    monkeypatch.setattr(store, "_sleep", lambda _: None)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(0, acts=True),
        Fault(500, "InternalError", acts=True),
        Fault(503, acts=True),
        Fault(0),
        Fault(503),
        Fault(409, "ConditionalRequestConflict"),
        Fault(409, "OperationAborted"),
        Fault(429, "TooManyRequests"),
    ],
    ids=str,
)
def test_a_failed_attempt_is_made_again_and_won_once(store, server, fault):
    server.fault = first_put(fault, 2)
    assert store.put_if_absent(PATH, b"mine")
    assert store.read(PATH) == b"mine"
    assert not store.put_if_absent(PATH, b"other")


@pytest.mark.parametrize("fault", [Fault(0), Fault(503), Fault(409, "ConditionalRequestConflict")], ids=str)
def test_who_lost_meanwhile_has_lost(store, server, fault):
    assert store.put_if_absent(PATH, b"other")
    server.fault = first_put(fault)
    assert not store.put_if_absent(PATH, b"mine")
    assert store.read(PATH) == b"other"


def test_a_conflict_was_no_success_even_with_the_same_bytes(store, server):
    """After an answer that says that nothing was done, equal bytes are another writer's."""
    assert store.put_if_absent(PATH, b"same")
    server.fault = first_put(Fault(409, "ConditionalRequestConflict"))
    assert not store.put_if_absent(PATH, b"same")


@pytest.mark.parametrize("fault", [Fault(403, "AccessDenied"), Fault(501, "NotImplemented"), Fault(404, "NoSuchBucket")], ids=str)
def test_what_will_not_be_done_is_not_tried_again(store, server, fault):
    server.fault = first_put(fault, 99)
    with pytest.raises(StorageError) as caught:
        store.put_if_absent(PATH, b"mine")
    assert len(server.requests) == 1
    assert caught.value.facts["code"] == fault.code


def test_the_error_says_how_long_it_was_tried(place, options, server, monkeypatch):
    store = open_store(qualify(place), {**options, "max_retries": "3"})
    monkeypatch.setattr(store, "_sleep", lambda _: None)
    server.fault = first_put(Fault(503), 99)
    with pytest.raises(StorageError, match=r"after 4 attempts in \d+\.\d s"):
        store.put_if_absent(PATH, b"mine")
    assert server.counts() == {"PUT": 4}


def test_of_writers_behind_a_faulty_network_each_knows_its_outcome(store, server):
    """A third of the requests fail, before or after the server acted."""
    chance, faults = random.Random(7), [Fault(0), Fault(0, acts=True), Fault(503), Fault(503, acts=True)]
    server.fault = lambda _: chance.choice(faults) if chance.random() < 0.33 else None
    outcomes = {}

    def write(writer):
        for version in range(10):
            path = f"_delta_log/{version:020d}.json"
            outcomes[version, writer] = store.put_if_absent(path, b"%d of %d" % (version, writer))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    server.fault = lambda _: None
    for version in range(10):
        winners = [writer for writer in range(8) if outcomes[version, writer]]
        assert [store.read(f"_delta_log/{version:020d}.json")] == [b"%d of %d" % (version, writer) for writer in winners]


@pytest.fixture
def unknown(monkeypatch):
    """No server is known yet."""
    monkeypatch.setattr(conditional_puts, "_answers", {})


def names(store):
    return [each.name for each in store.list_from("_delta_log/")]


@pytest.mark.parametrize("fault", [Fault(without="if-none-match"), Fault(501, "NotImplemented")], ids=["replaces", "refuses"])
def test_a_server_that_does_not_obey_is_refused_before_anything_is_written(place, options, server, unknown, fault):
    server.fault = lambda request: fault if request.method == "PUT" else None
    for _ in range(2):
        store = open_store(qualify(place), options)
        with pytest.raises(StorageError, match="ignores conditional PUTs"):
            store.put_if_absent(PATH, b"mine")
        assert names(store) == []
    assert server.counts()["PUT"] <= 2  # the answer is remembered


def test_a_server_that_obeys_is_asked_once_and_keeps_nothing_of_it(place, options, server, unknown):
    for version in range(3):
        assert open_store(qualify(place), options).put_if_absent(f"_delta_log/{version}", b"mine")
    assert server.counts() == {"PUT": 5, "GET": 1, "POST": 1}
    assert names(open_store(qualify(place), options)) == ["0", "1", "2"]


def test_a_single_writer_is_warned_and_sends_no_condition(place, options, server, unknown):
    server.fault = lambda request: Fault(without="if-none-match") if request.method == "PUT" else None
    with pytest.warns(UserWarning, match="would overwrite commits"):
        store = open_store(qualify(place), {**options, "single_writer": "true"})
    assert store.put_if_absent(PATH, b"mine")
    assert not store.put_if_absent(PATH, b"other")
    assert store.read(PATH) == b"mine"


@pytest.mark.parametrize(
    ("uri", "given", "probed"),
    [
        ("s3://b/t", {}, False),
        ("s3://b/t", {"AWS_ENDPOINT_URL": "https://s3.eu-west-1.amazonaws.com"}, False),
        ("s3://b/t", {"AWS_ENDPOINT_URL": "https://x.r2.cloudflarestorage.com"}, False),
        ("s3://b/t", {"AWS_ENDPOINT_URL": "https://minio.amazonaws.com.example:9000"}, True),
        ("s3://b/t", {"endpoint": "http://minio:9000"}, True),
        ("gs://b/t", {"google_base_url": "http://gcs"}, False),
    ],
)
def test_which_servers_are_asked(uri, given, probed):
    found = endpoint_to_probe(place_of(qualify(uri)), {name.lower(): value for name, value in given.items()})
    assert (found is not None) is probed


def test_a_commit_that_the_server_refuses_is_over_and_its_files_may_go(place, options, server):
    log = bayou.open(place, storage_options=options)
    log.create(StructType((StructField("id", "long"),)))
    server.fault = lambda request: Fault(403, "AccessDenied") if request.method == "PUT" else None
    with pytest.raises(StorageError, match="AccessDenied") as caught, log.transaction("WRITE") as transaction:
        transaction.commit([AddFile("a", {}, 1, 1)])
    assert not transaction.may_be_in_log
    assert caught.value.facts.get("outcome") is None


def test_a_refusal_after_a_lost_answer_says_nothing_of_the_first_attempt(place, options, server, monkeypatch):
    """The files of such a commit must stay: it is in the log."""
    log = bayou.open(place, storage_options=options)
    log.create(StructType((StructField("id", "long"),)))
    monkeypatch.setattr(log.store, "_sleep", lambda _: None)
    sent = []

    def lose_then_refuse(request):
        if request.method == "PUT" and ".json" in request.path:
            sent.append(request)
            return Fault(0, acts=True) if len(sent) == 1 else Fault(403, "AccessDenied")
        return None

    server.fault = lose_then_refuse
    with log.transaction("WRITE") as transaction:
        transaction.try_commit([AddFile("a", {}, 1, 1)])
    assert transaction.may_be_in_log
    assert len(sent) > 1
    server.fault = lambda _: None
    assert bayou.open(place, storage_options=options).snapshot().num_files == 1


def test_credentials_that_cannot_be_renewed_say_nothing_of_the_first_attempt(place, options, server, monkeypatch):
    """An error that is not the store's would have its caller delete the files of such a commit."""
    found = dict(options)
    table = ObjectStore(place, place_of(qualify(place)), lambda: ObjectOptions.of(found, "s3", place))
    monkeypatch.setattr(table, "_sleep", lambda _: None)
    sent = []

    def lose_then_expire(request):
        if request.method != "PUT" or ".json" not in request.path:
            return None
        sent.append(request)
        found["AWS_PROFILE"] = "no such profile"
        return Fault(0, acts=True) if len(sent) == 1 else Fault(400, "ExpiredToken")

    server.fault = lose_then_expire
    with pytest.raises(StorageError, match="there are no new ones: The AWS configuration has no profile") as caught:
        table.put_if_absent(PATH, b"mine")
    assert not caught.value.facts.get("is_refused")
    assert table.read(PATH) == b"mine"


def test_expired_credentials_that_stay_so_end_a_commit_for_certain(place, options, server):
    log = bayou.open(place, storage_options=options)
    log.create(StructType((StructField("id", "long"),)))
    server.fault = lambda request: Fault(400, "ExpiredToken") if request.method == "PUT" else None
    with pytest.raises(StorageError, match="Renew the credentials"), log.transaction("WRITE") as transaction:
        transaction.commit([AddFile("a", {}, 1, 1)])
    assert not transaction.may_be_in_log


def test_a_refusal_says_nothing_of_a_single_writers_first_attempt(place, options, server, monkeypatch):
    with pytest.warns(UserWarning, match="single_writer"):
        table = open_store(qualify(place), {**options, "single_writer": "true"})
    monkeypatch.setattr(table, "_sleep", lambda _: None)
    sent = []

    def lose_then_refuse(request):
        if request.method != "PUT":
            return None
        sent.append(request)
        return Fault(500, "InternalError", acts=True) if len(sent) == 1 else Fault(403, "AccessDenied")

    server.fault = lose_then_refuse
    with pytest.raises(StorageError, match="AccessDenied") as caught:
        table.put_if_absent(PATH, b"mine")
    assert not caught.value.facts["is_refused"]
    assert table.read(PATH) == b"mine"


def test_a_file_that_is_gone_again_leaves_the_outcome_open(store, server):
    server.fault = first_put(Fault(0, acts=True))
    real = store.read
    store.read = lambda path: (store.delete(path), real(path))[1]
    with pytest.raises(StorageError, match="it is not known whether it created the file") as caught:
        store.put_if_absent(PATH, b"mine")
    assert not caught.value.facts.get("is_refused")


def test_a_refusal_to_read_back_says_nothing_of_the_first_attempt(place, options, server, monkeypatch):
    """The files of such a commit must stay: it is in the log."""
    log = bayou.open(place, storage_options=options)
    log.create(StructType((StructField("id", "long"),)))
    monkeypatch.setattr(log.store, "_sleep", lambda _: None)
    sent = []

    def lose_then_refuse_to_read(request):
        if request.method == "PUT" and ".json" in request.path:
            sent.append(request)
            return Fault(0, acts=True) if len(sent) == 1 else None
        return Fault(403, "AccessDenied") if sent and request.method == "GET" else None

    server.fault = lose_then_refuse_to_read
    with log.transaction("WRITE") as transaction:
        outcome = transaction.try_commit([AddFile("a", {}, 1, 1)])
    assert type(outcome).__name__ == "Unknown"
    assert transaction.may_be_in_log
    server.fault = lambda _: None
    assert bayou.open(place, storage_options=options).snapshot().num_files == 1


@pytest.mark.parametrize("fault", [Fault(400, "RequestTimeout"), Fault(408, "x"), Fault(499, "x")], ids=str)
def test_a_request_that_took_too_long_is_made_again(store, server, fault):
    server.fault = first_put(fault, 2)
    assert store.put_if_absent(PATH, b"mine")
    server.fault = first_put(replace(fault, acts=True))
    assert store.put_if_absent(f"{PATH}2", b"mine")


@pytest.mark.parametrize("text", ["Generic S3 error: ETag Header missing from response", "Generic S3 error: HTTP error: timed out"])
def test_an_error_without_a_refusal_of_the_server_leaves_the_outcome_open(text):
    failure = Failure.of(RuntimeError(text))
    assert failure.meaning is Meaning.BUSY
    assert not failure.error("create the file", "s3://b/t", PATH).facts["is_refused"]


def test_a_commit_to_a_server_that_does_not_obey_is_over(place, options, server, unknown):
    log = bayou.open(place, storage_options=options)
    server.fault = lambda request: Fault(without="if-none-match") if request.method == "PUT" else None
    with pytest.raises(StorageError, match="ignores conditional PUTs"):
        log.create(StructType((StructField("id", "long"),)))
    assert names(log.store) == []
    with pytest.raises(StorageError, match="ignores conditional PUTs") as caught:
        log.create(StructType((StructField("id", "long"),)))
    assert caught.value.facts.get("outcome") is None
