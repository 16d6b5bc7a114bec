# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import CorruptLogError, DeletionVectorError
from bayou.protocol.actions.actions import AddFile, CommitInfo, DomainMetadata, Metadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor

TEXT = st.text(max_size=10)
LONG = st.integers(-(2**63), 2**63 - 1)
VALUES = st.dictionaries(TEXT, st.none() | TEXT, max_size=3)
TEXTS = st.dictionaries(TEXT, TEXT, max_size=3)
FEATURES = st.none() | st.lists(TEXT, max_size=3).map(tuple)
VECTORS = st.none() | st.builds(DeletionVectorDescriptor, st.sampled_from("uip"), TEXT, st.none() | LONG, LONG, LONG)
ACTIONS = st.one_of(
    st.builds(Protocol, LONG, LONG, FEATURES, FEATURES),
    st.builds(
        Metadata,
        TEXT,
        TEXT,
        st.lists(TEXT, max_size=3).map(tuple),
        TEXTS,
        st.none() | TEXT,
        st.none() | TEXT,
        st.just("parquet"),
        TEXTS,
        st.none() | LONG,
    ),
    st.builds(
        AddFile,
        TEXT,
        VALUES,
        LONG,
        LONG,
        st.booleans(),
        st.none() | TEXT,
        st.none() | TEXTS,
        VECTORS,
        st.none() | LONG,
        st.none() | LONG,
        st.none() | TEXT,
    ),
    st.builds(
        RemoveFile,
        TEXT,
        st.none() | LONG,
        st.booleans(),
        st.none() | st.booleans(),
        st.none() | VALUES,
        st.none() | LONG,
        st.none() | TEXT,
        st.none() | TEXTS,
        VECTORS,
        st.none() | LONG,
        st.none() | LONG,
    ),
    st.builds(SetTransaction, TEXT, LONG, st.none() | LONG),
    st.builds(DomainMetadata, TEXT, TEXT, st.booleans()),
)


@given(ACTIONS)
def test_an_action_survives_its_json(action):
    assert type(action).from_json(json.loads(json.dumps(action.to_json()))) == action


@given(ACTIONS)
def test_null_fields_are_left_out_of_the_json(action):
    assert None not in action.to_json().values()


def test_null_partition_values_stay_in_the_json():
    assert AddFile("a", {"p": None}, 1, 1).to_json()["partitionValues"] == {"p": None}


@given(ACTIONS, TEXT, st.one_of(st.none(), LONG, TEXT, st.booleans(), st.lists(LONG, max_size=2), st.floats()))
def test_a_changed_field_gives_an_action_or_an_error_of_its_own(action, name, value):
    document = action.to_json()
    for key in [*document, name]:
        with contextlib.suppress(CorruptLogError, DeletionVectorError):
            type(action).from_json({**document, key: value})


def test_unknown_fields_are_ignored():
    assert Protocol.from_json({"minReaderVersion": 1, "minWriterVersion": 2, "new": {"x": 1}}) == Protocol(1, 2)


def test_features_keep_the_order_of_the_log():
    document = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["b", "a"], "writerFeatures": []}
    assert Protocol.from_json(document).to_json() == document


def test_configuration_values_that_are_no_text_become_text():
    found = Metadata.from_json({"id": "x", "schemaString": "{}", "configuration": {"a": True, "b": 3, "c": None}})
    assert found.configuration == {"a": "true", "b": "3"}


@pytest.mark.parametrize("document", [None, [], "x", 3])
def test_an_action_that_is_no_object_is_refused(document):
    with pytest.raises(CorruptLogError):
        Protocol.from_json(document)


def test_commit_info_keeps_what_writers_put_there():
    info = CommitInfo.from_json({"timestamp": 5, "operation": "X", "custom": [1], "isBlindAppend": "yes"})
    assert (info.timestamp, info.operation, info.is_blind_append, info.txn_id) == (5, "X", None, None)
    assert info.to_json()["custom"] == [1]
