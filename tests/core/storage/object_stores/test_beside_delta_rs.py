# SPDX-License-Identifier: Apache-2.0
"""delta-rs and bayou write one table on S3 at once: no commit is lost, and each reads what the other wrote."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayou
from bayou.protocol.types.schema import StructField, StructType

deltalake = pytest.importorskip("deltalake", reason="delta-rs is the other writer")

WRITERS, COMMITS = 3, 4


def append_by_bayou(uri, options, writer):
    log = bayou.open(uri, storage_options=options)
    for number in range(COMMITS):
        value = 1000 * writer + number
        data = io.BytesIO()
        pq.write_table(pa.table({"id": pa.array([value], pa.int64())}), data)
        log.store.put(f"bayou-{value}.parquet", data.getvalue())
        with log.transaction("WRITE", max_attempts=100) as transaction:
            transaction.add_files([f"bayou-{value}.parquet"])
            transaction.commit(new_files=True)


def append_by_delta_rs(uri, options, writer):
    for number in range(COMMITS):
        rows = pa.table({"id": pa.array([1000 * writer + number], pa.int64())})
        deltalake.write_deltalake(uri, rows, mode="append", storage_options=options)


def test_no_commit_is_lost_and_both_read_everything(place, options):
    bayou.open(place, storage_options=options).create(StructType((StructField("id", "long"),)))
    given = {name.upper() if name == "allow_http" else name: value for name, value in options.items()}
    given = {"AWS_ALLOW_HTTP": "true", **{name: value for name, value in given.items() if name.startswith("AWS_")}}
    with ThreadPoolExecutor(2 * WRITERS) as pool:
        writing = [pool.submit(append_by_bayou, place, options, writer) for writer in range(WRITERS)]
        writing += [pool.submit(append_by_delta_rs, place, given, WRITERS + writer) for writer in range(WRITERS)]
        for each in writing:
            each.result()
    expected = sorted(1000 * writer + number for writer in range(2 * WRITERS) for number in range(COMMITS))
    table = deltalake.DeltaTable(place, storage_options=given)
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == expected
    log = bayou.open(place, storage_options=options)
    assert log.snapshot().num_files == len(expected)
    assert [each.version for each in log.history()] == list(range(len(expected), -1, -1))
    paths = log.snapshot().files(["path"])["path"].to_pylist()
    assert sorted(pq.read_table(io.BytesIO(log.store.read(path)))["id"][0].as_py() for path in paths) == expected
