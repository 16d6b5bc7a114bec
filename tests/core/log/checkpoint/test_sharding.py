# SPDX-License-Identifier: Apache-2.0
"""A log that an engine's jobs work on in shards says what it says when one process reads it whole."""

from __future__ import annotations

import io
import json
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.tables.checkpoints import DAY, NOW, V2, V2_POLICY, builder, from_checkpoint_alone, state, vector

from bayou.log.checkpoint.sharding import LogJobError, narrowed, register_log_jobs
from bayou.log.checkpoint.writer import write_checkpoint
from bayou.log.snapshot.data_skipping import to_predicate
from bayou.testing.table_builder import add, remove

POLICIES = {"classic": {}, "v2": {"protocol": V2, "configuration": V2_POLICY}}


class JobsHere:
    """An engine whose tasks run one after another in this process, on a few rows each."""

    def __init__(self, min_files=1, rows=3):
        self.min_files = min_files
        self.runs = 0
        self._rows = rows

    def run(self, source, files, work, schema, **_options):
        self.runs += 1
        work = pickle.loads(pickle.dumps(work))
        for file in files:
            table = pq.read_table(io.BytesIO(source.store.read(file)), columns=["add", "remove"])
            for start in range(0, table.num_rows, self._rows):
                yield pa.Table.from_batches(list(work(iter(table.slice(start, self._rows).to_batches()))), schema=schema)


class BrokenJobs(JobsHere):
    """An engine whose jobs fail."""

    def run(self, *_arguments, **_options):
        self.runs += 1
        raise LogJobError("no executor has bayou")


@pytest.fixture
def jobs():
    return JobsHere()


@pytest.fixture(autouse=True)
def registered(jobs):
    take_back = register_log_jobs(jobs)
    yield
    take_back()


def stats(low, high):
    return json.dumps({"numRecords": 2, "minValues": {"id": low}, "maxValues": {"id": high}, "nullCount": {"id": 0}})


def table(kind="classic", files=20):
    """A checkpoint of some files, and commits after it that remove, replace and add."""
    adds = [add(f"p={n % 4}/f{n}", partitionValues={"p": str(n % 4)}, stats=stats(n * 10, n * 10 + 9)) for n in range(files)]
    made = builder(*adds, schema={"id": "long", "p": "string"}, partition_by=["p"], **POLICIES[kind])
    made.commit(remove("p=0/f0", partitionValues={"p": "0"}, deletionTimestamp=NOW - DAY))
    write_checkpoint(made.log().snapshot(), now_ms=NOW, sidecar_actions=7)
    made.commit(remove("p=1/f1", partitionValues={"p": "1"}, deletionTimestamp=NOW))
    made.commit(
        remove("p=2/f2", partitionValues={"p": "2"}, deletionTimestamp=NOW),
        add("p=2/f2", partitionValues={"p": "2"}, stats=stats(20, 29), deletionVector=vector(1)),
        add("p=3/new", partitionValues={"p": "3"}, stats=stats(500, 509)),
    )
    return made


def paths(snapshot):
    return sorted(snapshot.files(["path"])["path"].to_pylist())


@pytest.mark.parametrize("kind", POLICIES)
@pytest.mark.parametrize(
    "where",
    [
        [("id", ">=", 100)],
        [("id", "=", 25)],
        [("id", "=", 15)],
        [("p", "=", "3")],
        [("p", "=", "0"), ("id", "<", 90)],
        [("id", ">", 9999)],
    ],
)
def test_the_files_that_a_filter_leaves_are_the_same(kind, where, jobs):
    made = table(kind)
    alone = made.log().snapshot()
    expected = sorted(alone.files(["path"], where=where)["path"].to_pylist())
    left = narrowed(made.log().snapshot(), to_predicate(where, alone.schema))
    assert jobs.runs == 1
    assert paths(left) == expected
    assert sorted(left.files(where=where).drop_columns(["data_change"]).to_pylist(), key=str) == sorted(
        alone.files(where=where).drop_columns(["data_change"]).to_pylist(), key=str
    )
    assert left.version == alone.version


def test_a_log_of_few_files_needs_no_job(jobs):
    jobs.min_files = 1000
    snapshot = table().log().snapshot()
    assert narrowed(snapshot, to_predicate([("id", "=", 5)], snapshot.schema)) is snapshot
    assert jobs.runs == 0


def test_a_log_that_was_read_already_needs_no_job(jobs):
    snapshot = table().log().snapshot()
    snapshot.files(["path"])
    assert narrowed(snapshot, to_predicate([("id", "=", 5)], snapshot.schema)) is snapshot
    assert jobs.runs == 0


def test_where_the_job_fails_this_process_reads_the_log(jobs, caplog):
    broken = BrokenJobs()
    take_back = register_log_jobs(broken)
    snapshot = table().log().snapshot()
    assert narrowed(snapshot, to_predicate([("id", "=", 5)], snapshot.schema)) is snapshot
    take_back()
    assert broken.runs == 1
    assert "no executor has bayou" in caplog.text


def test_a_checkpoint_whose_sidecars_come_from_jobs_holds_everything(jobs):
    made = table("v2")
    before = made.log().snapshot()
    written = write_checkpoint(before, now_ms=NOW, sidecar_actions=4)
    assert jobs.runs == 1
    alone = from_checkpoint_alone(made, written)
    assert state(alone) == state(table("v2").log().snapshot())
    assert written.num_adds == len(paths(before))
    gone = sorted(alone.tombstones()["path"].to_pylist())
    assert gone == ["p=0/f0", "p=1/f1", "p=2/f2"]


def test_tombstones_past_their_retention_are_left_out_by_jobs_too(jobs):
    made = table("v2")
    written = write_checkpoint(made.log().snapshot(), now_ms=NOW + 7 * DAY, sidecar_actions=4)
    assert jobs.runs == 1
    assert from_checkpoint_alone(made, written).tombstones().num_rows == 0


def test_where_the_job_fails_the_checkpoint_is_made_here(jobs):
    broken = BrokenJobs()
    take_back = register_log_jobs(broken)
    made = table("v2")
    before = made.log().snapshot()
    written = write_checkpoint(before, now_ms=NOW, sidecar_actions=4)
    take_back()
    assert broken.runs == 1
    assert written.num_adds == len(paths(from_checkpoint_alone(made, written)))


def test_a_checkpoint_with_nothing_after_it_is_made_anew_by_jobs(jobs):
    made = table("v2")
    first = write_checkpoint(made.log().snapshot(), now_ms=NOW, sidecar_actions=4)
    again = write_checkpoint(made.log().snapshot(), now_ms=NOW, sidecar_actions=4)
    assert jobs.runs == 2
    assert (again.version, again.num_adds) == (first.version, first.num_adds)
    assert from_checkpoint_alone(made, again).tombstones().num_rows == 3
