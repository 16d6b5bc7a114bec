# SPDX-License-Identifier: Apache-2.0
"""No error and no value's text shows a secret of a URI."""

from __future__ import annotations

import ast

import pytest
from tests.support.sources import FILES, nodes_of

from bayou.errors import DeltaError, InvalidCommitError, StorageError, redact_text
from bayou.log.delta_log import DeltaLog
from bayou.protocol.actions.actions import AddFile, Metadata
from bayou.storage import MemoryStore, qualify
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import metadata

SCHEMA = metadata()["metaData"]["schemaString"]
TABLE = "s3a://AKIA:SECRETKEY@bucket/t"


def texts(error):
    return " ".join([str(error), repr(error), error.message, error.next_step, str(error.table), str(error.file)])


def test_errors_show_no_secret_of_the_tables_uri():
    log = DeltaLog(TABLE, MemoryStore())
    with pytest.raises(DeltaError) as missing:
        log.snapshot()
    log.create(SCHEMA)
    with pytest.raises(InvalidCommitError) as refused:
        log.transaction("x").commit([Metadata("other", SCHEMA)])
    for caught in (missing, refused):
        assert "SECRETKEY" not in texts(caught.value)
        assert caught.value.table == "s3a://bucket/t"


def test_a_stores_own_words_are_shown_without_their_secrets():
    failure = StorageError("PUT https://host/bucket/t?X-Amz-Signature=SECRETKEY failed with 503")
    store = FaultyStore(MemoryStore())
    log = DeltaLog(TABLE, store)
    log.create(SCHEMA)
    store.add(Fault("put_if_absent", "", times=None, error=failure))
    with pytest.raises(StorageError) as caught:
        log.transaction("WRITE").commit([AddFile("x", {}, 1, 1)])
    assert "SECRETKEY" not in texts(caught.value)
    assert "https://host/bucket/t failed with 503" in str(caught.value)


def test_values_that_hold_a_uri_show_it_without_its_secrets():
    for value in (DeltaLog(TABLE, MemoryStore()), qualify(TABLE)):
        assert "SECRETKEY" not in repr(value)
        assert "s3a://bucket/t" in repr(value)
    assert qualify(TABLE).uri == TABLE


@pytest.mark.parametrize(
    "text",
    [
        "the file /data/a?b=1 is gone",
        "abfss://container@account.dfs.core.windows.net/t was moved",
        "file:///data/x?y",
        "1 < 2, a://b",
        "",
    ],
)
def test_texts_without_secrets_stay_as_they_are(text):
    assert redact_text(text) == text
    assert DeltaError(text).message == text


OPTIONS = {"hadoop", "options", "storage_options", "writer_options", "settings"}
"""The attributes that hold what users gave for file systems, keys and tokens among them."""


def attributes(file):
    """The annotated attributes of all classes."""
    for each in nodes_of(file):
        if isinstance(each, ast.ClassDef):
            yield from (found for found in each.body if isinstance(found, ast.AnnAssign) and isinstance(found.target, ast.Name))


def test_no_values_text_shows_the_options_that_it_holds():
    found, shown = 0, []
    for file in FILES:
        for each in attributes(file):
            if each.target.id in OPTIONS and ast.unparse(each.annotation).startswith(("Mapping", "dict")):
                found += 1
                if each.value is None or "repr=False" not in ast.unparse(each.value):
                    shown.append(f"{file.name}:{each.lineno}")
    assert shown == []
    assert found > 10
