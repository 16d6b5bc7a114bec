# SPDX-License-Identifier: Apache-2.0
"""A client or a server that does not reach the table's storage: the error says which of the two, before a file is written."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
from tests.connect.stores.conftest import BUCKET
from tests.support.connect_server import ConnectServer
from tests.support.object_servers import Fault

import bayou
from bayou.errors import SessionError, StorageError
from bayou.storage import open_store, qualify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession
    from tests.support.object_servers import Proxy

Options = dict[str, str]


def names_at(path: str, options: Options) -> list[str]:
    return [each.name for each in open_store(qualify(path), options).list_from("")]


def test_a_client_without_credentials_is_told_what_to_give(spark: SparkSession, path: str, options: Options) -> None:
    partial = {name: value for name, value in options.items() if "key" not in name}
    with pytest.raises(Exception, match=r"no credentials are given.*Give credentials"):
        spark.range(5).write.format("delta").options(**partial).save(path)
    assert names_at(path, options) == []


def test_a_client_that_cannot_write_is_refused_before_files_are_written(
    spark: SparkSession, options: Options, store: Proxy
) -> None:
    path = f"s3a://{BUCKET}/{uuid.uuid4().hex}"
    puts = []

    def fault(request: object) -> Fault | None:
        if getattr(request, "method", "") != "PUT" or "_bayou_scratch" not in getattr(request, "path", ""):
            return None
        puts.append(request)
        return Fault(403, "AccessDenied")

    store.fault = fault
    try:
        with pytest.raises(StorageError, match=r"refused before any file was written.*AccessDenied.*fs\.s3a\.access\.key"):
            spark.range(5).write.format("delta").options(**options).save(path)
    finally:
        store.fault = lambda _: None
    assert puts
    assert names_at(path, options) == []


@pytest.fixture(scope="module")
def without_jars() -> Iterator[SparkSession]:
    """A session on a server that has no file system for S3."""
    from pyspark.sql import SparkSession

    with ConnectServer() as started:
        session = SparkSession.builder.remote(started.url).create()
        yield bayou.enable(session)
        session.stop()


def test_a_server_without_the_file_system_is_named(
    spark: SparkSession, without_jars: SparkSession, path: str, options: Options
) -> None:
    spark.range(5).write.format("delta").options(**options).save(path)
    with pytest.raises(SessionError, match=r"Spark Connect server cannot read s3a://.*S3AFileSystem.*sends it no credentials"):
        without_jars.read.format("delta").options(**options).load(path).collect()
    with pytest.raises(SessionError, match=r"refused before any file was written.*Spark Connect server"):
        without_jars.range(5).write.format("delta").mode("append").options(**options).save(path)
    assert spark.read.format("delta").options(**options).load(path).count() == 5
