# SPDX-License-Identifier: Apache-2.0
"""The messages of the adapters: what is sent is what is read, and unknown words are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import SessionError
from bayou.spark.jvm.core.messages import Message
from bayou.spark.native.sql.data_source import Provider
from bayou.spark.native.sql.optimizer_rule import RuleBody
from bayou.spark.native.streaming.stream_reader import StreamReader

TEXTS = st.text(st.characters(exclude_characters="\0"))


@given(TEXTS, st.lists(TEXTS))
def test_a_message_is_read_as_it_was_sent(word, texts):
    message = Message(word, tuple(texts))
    assert Message.decode(message.encode()) == message


def test_arguments_in_pairs():
    assert Message("read", ("path", "/p", "versionAsOf", "")).pairs == {"path": "/p", "versionAsOf": ""}


@pytest.mark.parametrize("text", ["", "scan", "scan\0table"])
def test_a_message_that_is_cut_off_is_refused(text):
    with pytest.raises(SessionError, match="cut off"):
        Message.decode(text)


@pytest.mark.parametrize("receiver", [Provider, RuleBody, StreamReader])
def test_an_unknown_word_is_refused(receiver):
    body = receiver.__new__(receiver)
    with pytest.raises(SessionError, match="'scamper', which is unknown"):
        body(Message("scamper", ("a", "b")).encode(), [None])
