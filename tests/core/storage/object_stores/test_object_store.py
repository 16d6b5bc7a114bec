# SPDX-License-Identifier: Apache-2.0
"""What reading, listing and deleting cost in requests, and what errors say."""

from __future__ import annotations

import io
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.object_servers import ACCESS, Fault
from tests.support.recording_server import Answer

import bayou
from bayou.errors import InvalidOptionError, MissingPackageError, StorageError
from bayou.protocol.actions.actions import AddFile
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage import open_store, qualify
from bayou.storage.copies import FileCopy, copy_files
from bayou.storage.object_stores import conditional_puts


def names(store, path):
    return [each.name for each in store.list_from(path)]


@pytest.mark.parametrize("name", ["", "0", "00", "1", "!", " ", "a/", "\ue000", "\U0001f600", "é"])
def test_a_listing_begins_with_the_name_itself(store, name):
    keys = ["!", "0", "00", "01", "1", "a", "é", "\ud7ff", "\ue000", "\U0001f600"]
    for key in keys:
        store.put(f"log/{key}", b"x")
    if "/" not in name:
        assert names(store, f"log/{name}") == [key for key in sorted(keys) if key >= name]


def test_a_folder_in_a_listing_costs_one_page_however_much_it_holds(store, server):
    for number in range(1100):
        store.put(f"_delta_log/_sidecars/{number:04d}", b"")
    for name in ("0.json", "1.json", "_last_checkpoint", "z"):
        store.put(f"_delta_log/{name}", b"x")
    server.counts()
    assert names(store, "_delta_log/1") == ["1.json", "_last_checkpoint", "z"]
    assert server.counts()["LIST"] <= 3


def test_a_page_is_asked_for_when_it_is_needed(store, server):
    for number in range(2050):
        store.put(f"_delta_log/{number:020d}.json", b"")
    server.counts()
    found = store.list_from("_delta_log/0")
    next(found)
    assert server.counts() == {"LIST": 1}
    assert len(list(found)) == 2049
    assert server.counts() == {"LIST": 2}
    assert len(names(store, f"_delta_log/{2000:020d}")) == 50
    assert server.counts() == {"LIST": 1}


def test_a_part_that_was_read_is_not_asked_for_again(store, server):
    data = bytes(range(256)) * 2000
    store.put("a", data)
    server.counts()
    with store.open("a") as file:
        file.seek(-100, io.SEEK_END)
        assert file.read() == data[-100:]
        assert server.counts() == {"GET": 1}
        file.seek(1000)
        assert file.read(10) == data[1000:1010]
        assert file.read(10) == data[1010:1020]
        assert server.counts() == {"GET": 1}
        file.seek(0)
        assert file.read() == data
        assert server.counts() == {"GET": 1}


@pytest.mark.parametrize("size", [300_000, 400_000])
def test_parts_of_a_file_that_was_replaced_are_not_mixed(bucket, size):
    store = open_store(qualify(bucket.new_uri()), bucket.options)
    store.put("_delta_log/a", b"a" * 300_000)
    with store.open("_delta_log/a") as file:
        store.put("_delta_log/a", b"b" * size)
        file.seek(0)
        with pytest.raises(StorageError, match="replaced the file while it was read"):
            file.read(1000)


def test_lines_of_a_part_file(store):
    store.put("a", b"first\n" + b"x" * 200_000 + b"\nlast")
    with store.open("a") as file:
        assert file.readline() == b"first\n"
        assert len(file.readline()) == 200_001
        assert file.readline() == b"last"
        assert file.readline() == b""
    store.put("empty", b"")
    with store.open("empty") as file:
        assert (file.readline(), file.read(), file.seek(0, io.SEEK_END)) == (b"", b"", 0)


def test_many_files_are_one_request(store, server):
    paths = [f"p/{number}" for number in range(1001)]
    for path in paths:
        store.put(path, b"")
    server.counts()
    assert store.delete_many(paths).deleted == 1001
    assert server.counts() == {"POST": 2}
    assert not store.list_folders([""], ())[0].num_entries


def test_files_that_cannot_be_deleted_are_named(store, server):
    for name in "abc":
        store.put(name, b"")
    server.fault = lambda request: Fault(403, "AccessDenied") if request.method == "POST" else None
    done = store.delete_many(["a", "b", "c"])
    assert done.deleted == 0
    assert set(done.failed) == {"a", "b", "c"}
    assert "permissions" in str(done.failed["a"])


@pytest.mark.parametrize("fault", [Fault(0), Fault(503), Fault(403, "AccessDenied")], ids=str)
def test_a_request_for_many_files_that_fails_as_a_whole_is_not_made_for_each(place, options, server, fault):
    """Each would be tried for a minute."""
    store = open_store(qualify(place), {**options, "max_retries": "0"})
    server.requests.clear()
    server.fault = lambda _: fault
    paths = [str(number) for number in range(100)]
    assert set(store.delete_many(paths).failed) == set(paths)
    assert len(server.requests) == 1


def test_one_file_that_cannot_be_deleted_does_not_keep_the_others(recording, place, options):
    prefix = place.removeprefix("s3://bucket/")

    def answer(seen):
        asked = [key.split("<")[0] for key in seen.body.decode().split("<Key>")[1:]]
        failed = [key for key in asked if key == f"{prefix}/7"]
        errors = "".join(f"<Error><Key>{key}</Key><Code>AccessDenied</Code><Message>m</Message></Error>" for key in failed)
        done = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in asked if key not in failed)
        return Answer(f"<?xml version='1.0'?><DeleteResult>{done}{errors}</DeleteResult>".encode())

    recording.answer = answer
    store = open_store(qualify(place), {**options, "AWS_ENDPOINT_URL": recording.url})
    done = store.delete_many([str(number) for number in range(20)])
    assert (done.deleted, list(done.failed)) == (19, ["7"])


def test_a_file_that_the_server_does_not_delete_says_why(recording, place, options):
    key = place.removeprefix("s3://bucket/") + "/a"
    error = f"<Error><Key>{key}</Key><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
    recording.answer = lambda _: Answer(f"<?xml version='1.0'?><DeleteResult>{error}</DeleteResult>".encode())
    store = open_store(qualify(place), {**options, "AWS_ENDPOINT_URL": recording.url})
    assert "permissions" in str(store.delete_many(["a"]).failed["a"])


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Fault(403, "AccessDenied"), "permissions"),
        (Fault(403, "SignatureDoesNotMatch"), "credentials"),
        (Fault(403, "RequestTimeTooSkewed"), "clock"),
        (Fault(404, "NoSuchBucket"), "bucket's name"),
        (Fault(301, "PermanentRedirect"), "AWS_REGION"),
    ],
    ids=str,
)
def test_errors_say_what_to_do(store, server, fault, text):
    server.fault = lambda _: fault
    for call in (lambda: store.read("a"), lambda: list(store.list_from("a/")), lambda: store.put_if_absent("a", b"")):
        with pytest.raises(StorageError) as caught:
            call()
        assert text in str(caught.value)
        assert fault.code in str(caught.value) or fault.status == 301  # the library reads no answer of a redirect


def test_options_are_checked_before_any_request(place, options, server):
    for wrong, text in (
        ({"bogus": "1"}, "'bogus' is not a storage option"),
        ({"allow_http": "maybe"}, "allow_http is neither true nor false"),
        ({"timeout": "soon"}, "timeout is not a length of time"),
        ({"AWS_S3_LOCKING_PROVIDER": "dynamodb"}, "lock table"),
    ):
        with pytest.raises(InvalidOptionError) as caught:
            open_store(qualify(place), {**options, **wrong})
        assert text in str(caught.value)
    assert not server.requests


def test_an_endpoint_without_https_is_refused_by_name(place, options):
    with pytest.raises(StorageError, match="allow_http=true"):
        open_store(qualify(place), {**options, "allow_http": "false"}).read("a")


@pytest.mark.parametrize("uri", ["s3:///t", "s3://b/a//b", "s3://b/../a", "https://example.com/a/b", "abfss://c@somewhere/x"])
def test_what_is_no_place_is_refused(uri):
    with pytest.raises(InvalidOptionError, match="The path "):
        open_store(qualify(uri), ACCESS)


def test_no_secret_is_in_a_text(place, server):
    secrets = {"AWS_ACCESS_KEY_ID": "AKIDSECRET1", "AWS_SECRET_ACCESS_KEY": "SECRET2", "AWS_SESSION_TOKEN": "SECRET3"}
    options = {**ACCESS, **secrets, "AWS_ENDPOINT_URL": server.url, "retry_timeout": "0s"}
    store = open_store(qualify(place), options)
    texts = [repr(store), repr(store._options), repr(store._place)]
    for fault in (Fault(403, "AccessDenied"), Fault(503), Fault(0)):
        server.fault = lambda _, fault=fault: fault
        for call in (lambda: store.read("a"), lambda: store.put_if_absent("a", b"")):
            with pytest.raises(StorageError) as caught:
                call()
            texts.append(repr(caught.value) + str(caught.value) + repr(caught.value.facts))
    with pytest.raises(InvalidOptionError) as wrong:
        open_store(qualify(place), {**options, "AWS_COPY_IF_NOT_EXISTS": "SECRET-4-OF-MINE"})
    texts.append(str(wrong.value))
    assert not [text for text in texts if "SECRET" in text]


def test_without_obstore_the_error_names_the_extra(place, options, monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    for uri, extra in ((place, "s3"), ("gs://b/t", "gcs"), ("az://c/t", "azure")):
        with pytest.raises(MissingPackageError, match=rf"pip install 'bayou\[{extra}\]'"):
            open_store(qualify(uri), options if extra == "s3" else {})


def test_a_table_has_one_log_under_all_spellings(place, options):
    log = bayou.open(place, storage_options=options)
    log.create(StructType((StructField("id", "long"),)))
    log.transaction("WRITE").commit([AddFile("a", {}, 1, 1)])
    other = bayou.open(place.replace("s3:", "s3a:"), storage_options=options)
    assert (other.snapshot().version, len(list(other.history()))) == (1, 2)


def test_the_server_copies_within_a_bucket(store, place, options, server):
    source = open_store(qualify(f"{place}.source"), options)
    source.put("a b/é", b"x" * 100)
    server.counts()
    copy_files(store, [FileCopy(source, "a b/é", "c%20d")])
    assert "GET" not in server.counts()
    assert store.read("c%20d") == b"x" * 100
    with pytest.raises(StorageError, match="Another program created a file of this name"):
        copy_files(store, [FileCopy(source, "a b/é", "c%20d")])
    with pytest.raises(FileNotFoundError):
        copy_files(store, [FileCopy(source, "missing", "e")])
    assert not [each.name for each in store.list_from("") if each.name == "e"]


def test_a_file_of_another_program_stays_if_the_server_cannot_be_asked_for_it(store, place, options, server, monkeypatch):
    store.put("a", b"x")
    store.put("b", b"of another program")
    table = open_store(qualify(place), {**options, "max_retries": "0"})
    server.fault = lambda request: Fault(503) if request.method == "HEAD" else None
    with pytest.raises(StorageError):
        copy_files(table, [FileCopy(table, "a", "b")])
    assert store.read("b") == b"of another program"


def test_files_of_other_stores_are_copied_through_this_process(store, tmp_path):
    (tmp_path / "a").write_bytes(b"local")
    copy_files(store, [FileCopy(open_store(qualify(tmp_path)), "a", "b")])
    assert store.read("b") == b"local"


@pytest.mark.parametrize("fault", [Fault(400, "ExpiredToken"), Fault(409, "OperationAborted")], ids=str)
def test_a_listing_that_fails_on_its_second_page_goes_on_behind_the_last_name(store, server, fault, monkeypatch):
    monkeypatch.setattr(store, "_sleep", lambda _: None)
    for number in range(1005):
        store.put(f"_delta_log/{number:020d}.json", b"")
    failed = []

    def once(request):
        if request.kind == "LIST" and "continuation-token" in request.path and not failed:
            failed.append(request)
            return fault
        return None

    server.fault = once
    assert names(store, "_delta_log/0") == [f"{number:020d}.json" for number in range(1005)]
    assert failed


def test_a_single_writer_keeps_its_own_threads_apart(place, options):
    with pytest.warns(UserWarning, match="single_writer"):
        stores = [open_store(qualify(place), {**options, "single_writer": "true"}) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(lambda store: store.put_if_absent("a", b"x"), stores))
    assert won.count(True) == 1


def test_a_server_of_the_environment_is_asked_too(place, server, monkeypatch):
    monkeypatch.setattr(conditional_puts, "_answers", {})
    for name, value in {**ACCESS, "AWS_ENDPOINT_URL": server.url, "AWS_ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(name, value)
    server.fault = lambda request: Fault(without="if-none-match") if request.method == "PUT" else None
    with pytest.raises(StorageError, match="ignores conditional PUTs"):
        open_store(qualify(place)).put_if_absent("a", b"x")


def test_an_express_bucket_is_refused():
    with pytest.raises(InvalidOptionError, match="in no order"):
        open_store(qualify("s3://base--usw2-az1--x-s3/t"), ACCESS)
