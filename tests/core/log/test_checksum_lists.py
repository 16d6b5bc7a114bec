# SPDX-License-Identifier: Apache-2.0
"""The files, transactions and domains that a version checksum lists, and when they are too many or too long for it."""

from __future__ import annotations

import pytest
from tests.core.log.checksum_commits import after, domain, start, txn

from bayou.log.checksum.writer import checksum_of
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove


def test_the_file_list_follows_the_files_under_any_spelling():
    known = start(add("day=1%3A0/a"), add("b"))
    found = after(known, remove("file:/memory/table/day=1:0/a", size=100), add("c", tags={"k": "v"}))
    assert [file["path"] for file in found["allFiles"]] == ["b", "c"]
    assert found["allFiles"][1]["tags"] == {"k": "v"}


def test_more_files_than_fifty_are_not_listed_until_none_are_left():
    few = start(*(add(str(number)) for number in range(50)))
    many = after(few, add("50"))
    assert (len(few["allFiles"]), "allFiles" in many, many["numFiles"]) == (50, False, 51)
    fewer = after(many, remove("50", size=100), version=2)
    assert "allFiles" not in fewer
    none = after(fewer, *(remove(str(number), size=100) for number in range(50)), version=3)
    assert none["allFiles"] == []


@pytest.mark.parametrize(
    "configuration",
    [
        {"delta.dataSkippingNumIndexedCols": "33"},
        {"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpoint.writeStatsAsStruct": "false"},
    ],
)
def test_files_are_not_listed_where_their_statistics_are_long_or_lost(configuration):
    assert "allFiles" not in start(add("a"), configuration=configuration)


@pytest.mark.parametrize(
    ("name", "action", "value", "most"), [("setTransactions", txn, 1, 100), ("domainMetadata", domain, "x", 10)]
)
def test_lists_that_are_too_long_are_left_out(name, action, value, most):
    known = start(*(action(str(number), value) for number in range(most)))
    assert len(known[name]) == most
    longer = after(known, action("more", value))
    assert name not in longer
    assert name not in after(longer, version=2)


def test_transactions_and_domains_keep_their_latest():
    known = start(txn("a", 1), txn("b", 1), domain("d", "1"), domain("e", "1"))
    found = after(known, txn("a", 2), domain("d", "2"), domain("e", removed=True))
    assert {each["appId"]: each["version"] for each in found["setTransactions"]} == {"a": 2, "b": 1}
    assert [each["configuration"] for each in found["domainMetadata"]] == ["2"]


def test_transactions_that_expire_are_left_out():
    expiring = metadata(configuration={"delta.setTransactionRetentionDuration": "interval 1 days"})
    assert "setTransactions" not in after(start(txn("a", 1)), expiring)


@pytest.mark.parametrize("path", ["/elsewhere/a", "s3://bucket/a"])
def test_a_list_of_files_elsewhere_holds_only_full_uris(path):
    snapshot = TableBuilder(store=MemoryStore()).create(actions=[add(path)]).log().snapshot()
    assert ("allFiles" in checksum_of(snapshot)) is path.startswith("s3:")
