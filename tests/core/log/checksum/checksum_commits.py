# SPDX-License-Identifier: Apache-2.0
"""Commits of a table without a log, and the version checksums that follow one another over them."""

from __future__ import annotations

from bayou.log.checksum.writer import next_checksum
from bayou.protocol.actions.actions import Protocol
from bayou.testing.table_builder import metadata

URI = "file:///memory/table"
VECTORS = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
ENABLED = {"delta.enableDeletionVectors": "true"}


def txn(name, version):
    return {"txn": {"appId": name, "version": version, "lastUpdated": 7}}


def domain(name, text="", *, removed=False):
    return {"domainMetadata": {"domain": name, "configuration": text, "removed": removed}}


def vector(number, cardinality):
    return {"storageType": "u", "pathOrInlineDv": f"ab{number}", "offset": 1, "sizeInBytes": 40, "cardinality": cardinality}


def first(*actions, configuration=None, protocol=None):
    """The actions of a first commit."""
    head = [{"protocol": (protocol or Protocol(1, 2)).to_json()}, metadata(configuration=configuration)]
    return [*head, *actions]


def after(previous, *actions, version=1, **fields):
    arguments = {"version": version, "txn_id": "t", "in_commit_timestamp": None, "table": URI, **fields}
    return next_checksum(previous, actions, **arguments)


def start(*actions, **fields):
    return after(None, *first(*actions, **fields), version=0)
