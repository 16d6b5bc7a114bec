# SPDX-License-Identifier: Apache-2.0
"""Checksums that are computed from commit to commit are what the whole state gives, and what delta-spark writes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.log.checksum.checksum_commits import ENABLED, URI, VECTORS, after, domain, first, txn, vector
from tests.support.drawing import SLOW

from bayou.log.actions.action_files import ActionFile
from bayou.log.checksum import state as checksum_state
from bayou.log.checksum import writer as checksum_writer
from bayou.log.checksum.writer import checksum_of, next_checksum, write_checksum
from bayou.log.snapshot.checksum_file import parse_checksum
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove

LISTS = ("setTransactions", "domainMetadata", "allFiles")


def plain(document):
    """A document whose lists, which have no order, compare as sets."""
    return {
        name: sorted(json.dumps(item, sort_keys=True) for item in value) if name in LISTS else value
        for name, value in document.items()
    }


def chains(corpora):
    """Each published commit whose checksum and whose predecessor's are there: both, its actions, and its engine."""
    for log in sorted({path.parent for path in corpora.rglob("0*.crc")}):
        known = {}
        for path in log.glob("0*.crc"):
            try:
                document = json.loads(path.read_text(encoding="utf-8"))
                parse_checksum(document, path.name)
            except (ValueError, AttributeError):
                continue
            known[int(path.stem)] = document
        for version, document in sorted(known.items()):
            commit = log / f"{version:020d}.json"
            if commit.exists() and (version == 0 or version - 1 in known):
                actions = ActionFile(commit.read_bytes(), table=URI, path=commit.name, version=version).actions()
                engine = next((each["commitInfo"].get("engineInfo", "") for each in actions if "commitInfo" in each), "")
                yield log.parent, version, known.get(version - 1), document, actions, engine


def renewed(table, version, previous, document, actions):
    names = {"txn_id": document.get("txnId"), "in_commit_timestamp": document.get("inCommitTimestampOpt")}
    return next_checksum(previous, actions, version=version, table=table.as_uri(), **names)


def test_our_checksums_are_field_by_field_those_of_delta_spark(corpora):
    compared = 0
    for table, version, previous, document, actions, engine in chains(corpora):
        if engine.endswith("Delta-Lake/4.3.1"):
            found = renewed(table, version, previous, document, actions)
            assert list(found) == list(document)
            assert plain(found) == plain(document)
            compared += 1
    assert compared == 4


def test_our_checksums_say_nothing_else_than_published_ones(corpora):
    compared = 0
    for table, version, previous, document, actions, _ in chains(corpora):
        found = renewed(table, version, previous, document, actions)
        if found is None or "without_protocol" in table.name:
            continue
        ours, theirs = (
            plain(found),
            plain({**document, "fileSizeHistogram": parse_checksum(document, "").document.get("fileSizeHistogram")}),
        )
        shared = [name for name in ours if theirs.get(name) is not None]
        assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}, (table, version)
        compared += 1
    assert compared > 150


class Tables:
    """Draws the commits of one table, each of which is as the protocol asks."""

    def __init__(self, draw):
        self.draw = draw
        self.live = {}
        self.number = 0
        self.vectors = draw(st.booleans())

    def first(self):
        protocol, configuration = (VECTORS, ENABLED) if self.vectors else (None, {})
        return [*first(protocol=protocol, configuration=configuration), *self.actions()]

    def actions(self):
        found = []
        if not self.vectors and self.draw(st.integers(0, 5)) == 0:
            self.vectors = True
            found = [{"protocol": VECTORS.to_json()}, metadata(configuration=ENABLED)]
        untouched = sorted(self.live)
        for kind in self.draw(st.lists(st.sampled_from(["add", "add", "remove", "delete", "txn", "domain"]), max_size=5)):
            found += getattr(self, f"_{kind}")(untouched)
        return found

    def _add(self, _):
        self.number += 1
        size = self.draw(st.sampled_from([0, 1, 8191, 8192, 5_000_000, 300_000_000_000]))
        self.live[f"f{self.number}"] = (size, None)
        return [add(f"f{self.number}", size=size, stats={"numRecords": 2_000})]

    def _remove(self, untouched):
        if not untouched:
            return []
        path = untouched.pop(self.draw(st.integers(0, len(untouched) - 1)))
        size, old = self.live.pop(path)
        return [remove(path, size=size, **({} if old is None else {"deletionVector": old}))]

    def _delete(self, untouched):
        if not untouched or not self.vectors:
            return []
        path = untouched[self.draw(st.integers(0, len(untouched) - 1))]
        gone = self._remove([path])
        untouched.remove(path)
        self.number += 1
        size, new = gone[0]["remove"]["size"], vector(self.number, self.draw(st.sampled_from([1, 9, 10, 2_147_483_647])))
        self.live[path] = (size, new)
        return [*gone, add(path, size=size, stats={"numRecords": 2_000}, deletionVector=new)]

    def _txn(self, _):
        return [txn(self.draw(st.sampled_from("abc")), self.draw(st.integers(0, 9)))]

    def _domain(self, _):
        return [domain(self.draw(st.sampled_from("de")), "x", removed=self.draw(st.booleans()))]


def unique(actions):
    """A commit sets each application and each domain once."""
    last = {}
    for place, action in enumerate(actions):
        ((kind, value),) = action.items()
        last[kind, value.get("appId") or value.get("domain") or place] = action
    return list(last.values())


@SLOW
@given(st.data())
def test_from_commit_to_commit_a_checksum_is_what_the_whole_state_gives(data):
    table, tables, previous = TableBuilder(store=MemoryStore()), Tables(data.draw), None
    kind = data.draw(st.sampled_from([None, "classic", "v2-json"]))
    for version in range(data.draw(st.integers(1, 7))):
        actions = unique(tables.actions() if version else tables.first())
        table.commit(*actions)
        previous = after(previous, *actions, version=version)
        whole = checksum_of(table.log().snapshot(), txn_id="t")
        assert plain(previous) == plain(whole)
        assert write_checksum(table.store, URI, version, previous)
        assert table.log().verify_checksum() is True
        if kind and version == 3:
            table.checkpoint(kind)


@SLOW
@given(st.data())
def test_beyond_its_limits_a_checksum_says_less_and_nothing_else(data):
    with pytest.MonkeyPatch.context() as patch:
        for module in (checksum_state, checksum_writer):
            patch.setattr(module, "MOST_FILES", 2)
            patch.setattr(module, "MOST_TRANSACTIONS", 1)
        patch.setattr(checksum_state, "MOST_DOMAINS", 1)
        table, tables, previous = TableBuilder(store=MemoryStore()), Tables(data.draw), None
        for version in range(data.draw(st.integers(1, 7))):
            actions = unique(tables.actions() if version else tables.first())
            table.commit(*actions)
            previous = after(previous, *actions, version=version)
            found, whole = plain(previous), plain(checksum_of(table.log().snapshot(), txn_id="t"))
            assert found == {name: whole[name] for name in found}
            assert set(whole) - set(found) <= set(LISTS)
