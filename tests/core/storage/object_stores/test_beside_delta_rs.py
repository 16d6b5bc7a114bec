# SPDX-License-Identifier: Apache-2.0
"""delta-rs and bayou write one table on S3 at once: no commit is lost, and each reads what the other wrote."""

from __future__ import annotations

import io
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayou
from bayou.protocol.types.schema import StructField, StructType

deltalake = pytest.importorskip("deltalake", reason="delta-rs is the other writer")

COMMITS = 4


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


@pytest.mark.parametrize(
    ("writers", "pools"),
    [
        pytest.param(2, ThreadPoolExecutor, id="threads"),
        pytest.param(4, partial(ProcessPoolExecutor, mp_context=get_context("spawn")), id="processes", marks=pytest.mark.soak),
    ],
)
def test_no_commit_is_lost_and_both_read_everything(place, options, writers, pools):
    bayou.open(place, storage_options=options).create(StructType((StructField("id", "long"),)))
    given = {"AWS_ALLOW_HTTP": "true", **{name: value for name, value in options.items() if name.startswith("AWS_")}}
    with pools(2 * writers) as pool:
        writing = [pool.submit(append_by_bayou, place, options, writer) for writer in range(writers)]
        writing += [pool.submit(append_by_delta_rs, place, given, writers + writer) for writer in range(writers)]
        for each in writing:
            each.result()
    expected = sorted(1000 * writer + number for writer in range(2 * writers) for number in range(COMMITS))
    table = deltalake.DeltaTable(place, storage_options=given)
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == expected
    log = bayou.open(place, storage_options=options)
    assert log.snapshot().num_files == len(expected)
    assert [each.version for each in log.history()] == list(range(len(expected), -1, -1))
    paths = log.snapshot().files(["path"])["path"].to_pylist()
    assert sorted(pq.read_table(io.BytesIO(log.store.read(path)))["id"][0].as_py() for path in paths) == expected
