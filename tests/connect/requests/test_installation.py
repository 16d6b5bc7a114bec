# SPDX-License-Identifier: Apache-2.0
"""Rewriting is put on one session and taken off again."""

from __future__ import annotations

import pytest

from bayou.spark.portable.requests.stub import Stub


def test_installing_twice_does_nothing(spark, answers):
    from tests.support.connect_answers import VersionedFolders

    from bayou.spark.portable.requests.installation import install, requests_of

    stub = spark.client._stub
    install(spark, VersionedFolders(spark))
    assert spark.client._stub is stub
    assert stub.rewriter.relations.answers is answers
    assert requests_of(spark) is not None


def test_other_sessions_and_the_session_afterwards_are_untouched(spark, server, answers, path):
    from pyspark.sql.connect.session import SparkSession

    from bayou.spark.portable.requests.installation import requests_of

    other = SparkSession.builder.remote(server.url).create()
    try:
        assert requests_of(other) is None
        with pytest.raises(Exception, match=r"DATA_SOURCE_NOT_FOUND|delta"):
            other.read.format("delta").load(path).collect()
    finally:
        other.client.close()
    frame = spark.read.format("delta").load(path)
    assert frame.count() == 3
    requests_of(spark).remove()
    assert requests_of(spark) is None
    assert not isinstance(spark.client._stub, Stub)
    with pytest.raises(Exception, match=r"DATA_SOURCE_NOT_FOUND|delta"):
        frame.collect()


def test_requests_pass_untouched_where_a_thread_asks_for_it(spark, answers, path):
    from bayou.spark.portable.requests.installation import requests_of

    frame = spark.read.format("delta").load(path)
    with requests_of(spark).untouched(), pytest.raises(Exception, match=r"DATA_SOURCE_NOT_FOUND|delta"):
        frame.collect()
    assert frame.count() == 3


def test_what_an_answer_sends_is_not_rewritten(spark, answers, path):
    plain = answers.read

    def asking(read, place):
        with pytest.raises(Exception, match=r"DATA_SOURCE_NOT_FOUND|delta"):
            spark.read.format("delta").load(path).collect()
        return plain(read, place)

    answers.read = asking
    assert spark.read.format("delta").load(path).count() == 3
