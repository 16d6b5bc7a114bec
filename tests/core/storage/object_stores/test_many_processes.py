# SPDX-License-Identifier: Apache-2.0
"""Processes that append to one table and change each other's rows: every commit that one reports is in the table, once."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.support.programs.many_writers import Report

import bayou
from bayou.protocol.types.schema import StructField, StructType

ROOT = Path(__file__).resolve().parents[4]
SCHEMA = StructType((StructField("writer", "string"), StructField("x", "long"), StructField("changes", "long")))
SECONDS = 3000


def reports_of(uri, options, writers, commits):
    order = {"folder": uri, "options": options, "writers": writers, "commits": commits, "task": "rows"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.programs.many_writers"],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        check=False,
    )
    assert not done.returncode, done.stderr
    return [Report(**report) for report in json.loads(done.stdout)]


def run(bucket, writers, commits):
    uri = f"{bucket.uri}/{uuid.uuid4().hex}"
    bayou.open(uri, storage_options=bucket.options).create(SCHEMA, partition_by=["writer"])
    reports = reports_of(uri, bucket.options, writers, commits)
    assert [report.failure for report in reports if report.failure] == []
    assert all(report.versions == sorted(report.versions) for report in reports)
    versions = sorted(version for report in reports for version in report.versions)
    assert versions == list(range(1, writers * commits + 1))
    added = Counter(path for report in reports for path in report.files)
    removed = Counter(path for report in reports for path in report.removed)
    assert len(added) == writers * commits == added.total()
    assert set(removed.values()) <= {1}

    log = bayou.open(uri, storage_options=bucket.options)
    snapshot = log.snapshot()
    assert snapshot.version == versions[-1]
    paths = snapshot.files(["path"])["path"].to_pylist()
    assert Counter(paths) == added - removed
    assert [each.version for each in log.history()] == list(range(len(versions), -1, -1))
    rows = [pq.read_table(io.BytesIO(log.store.read(path)), partitioning=None).to_pylist()[0] for path in paths]
    check_rows(rows, len(versions), removed.total())
    check_checkpoints(uri, bucket.options, len(versions))
    return uri, rows


def check_rows(rows, num_commits, num_changes):
    """No row is lost or doubled, and no change of a row is lost."""
    assert len({row["x"] for row in rows}) == len(rows) == num_commits - num_changes
    assert sum(row["changes"] for row in rows) == num_changes > 0


def check_checkpoints(uri, options, num_commits):
    log = bayou.open(uri, storage_options=options)
    names = [each.name for each in log.store.list_from("_delta_log/")]
    found = sorted({int(name.split(".")[0]) for name in names if ".checkpoint." in name})
    assert found == list(range(10, num_commits + 1, 10))
    for version in found:
        assert bayou.open(uri, storage_options=options).verify_checksum(version)


def check_that_delta_rs_reads_the_same(uri, options, rows):
    deltalake = pytest.importorskip("deltalake", reason="delta-rs is the other reader")
    given = {name.upper(): value for name, value in options.items()}
    table = deltalake.DeltaTable(uri, storage_options={**given, "AWS_ALLOW_HTTP": "true"})
    found = table.to_pyarrow_table(columns=["x", "changes"]).to_pylist()
    assert sorted(found, key=lambda row: row["x"]) == sorted(rows, key=lambda row: row["x"])


def test_every_commit_of_four_processes_is_there_once(bucket):
    uri, rows = run(bucket, 4, 5)
    check_that_delta_rs_reads_the_same(uri, bucket.options, rows)


@pytest.mark.soak
@pytest.mark.timeout(SECONDS)
def test_every_commit_of_sixteen_processes_is_there_once(bucket):
    uri, rows = run(bucket, 16, 50)
    check_that_delta_rs_reads_the_same(uri, bucket.options, rows)
