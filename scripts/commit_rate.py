# SPDX-License-Identifier: Apache-2.0
"""commit_rate.py [OPTION...]: commits per second of one table on a local disk, by bayou and, where it is installed, delta-rs.

Each writer is a process of its own that commits one `add` action at a time: no data file is written. Both tables have the
same properties. bayou brings each commit and its checksum to the disk (`fsync`) before it goes on; delta-rs does neither.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pyarrow as pa

from bayou.log.delta_log import open_log
from bayou.protocol.actions.actions import AddFile, Metadata, Protocol

STATS = '{"numRecords":1}'


def bayou_writer(folder: str) -> Callable[[str], object]:
    log = open_log(folder)

    def commit(path: str) -> object:
        with log.transaction("WRITE", {"mode": "Append"}) as transaction:
            return transaction.commit([AddFile(path, {}, 1000, 1, stats=STATS)])

    return commit


def delta_rs_writer(folder: str) -> Callable[[str], object]:
    from deltalake import CommitProperties, DeltaTable  # noqa: PLC0415  (it need not be there)
    from deltalake.transaction import AddAction  # noqa: PLC0415

    table = DeltaTable(folder)
    schema = pa.schema([("x", pa.int64())])
    patient = CommitProperties(max_commit_retries=1_000_000)

    def commit(path: str) -> None:
        action = AddAction(path, 1000, {}, 1, data_change=True, stats=STATS)
        table.create_write_transaction([action], "append", schema, commit_properties=patient)
        # The commit leaves the object at its old version, and the next one would read all commits since.
        table.update_incremental()

    return commit


WRITERS = {"bayou": bayou_writer, "delta-rs": delta_rs_writer}


def create(folder: str, checkpoint_interval: int) -> None:
    """A new table with the features that both engines write by default."""
    fields = '[{"name":"x","type":"long","nullable":true,"metadata":{}}]'
    properties = {"delta.checkpointInterval": str(checkpoint_interval)}
    with open_log(folder).transaction("CREATE TABLE") as transaction:
        schema = f'{{"type":"struct","fields":{fields}}}'
        transaction.commit([Protocol(1, 2), Metadata("commit-rate", schema, configuration=properties, created_time=1)])


def write(engine: str, folder: str, number: int, commits: int, barrier: Barrier) -> None:
    """One writer; the first commit is not timed, for it loads what all others need."""
    commit = WRITERS[engine](folder)
    commit(f"{number}-warm")
    barrier.wait()
    for serial in range(commits):
        commit(f"{number}-{serial}")
    barrier.wait()


def measure(engine: str, folder: str, writers: int, commits: int) -> float:
    """How many seconds the writers take, from the moment at which all are ready."""
    # delta-rs does not survive a fork.
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(writers + 1)
    processes = [context.Process(target=write, args=(engine, folder, each, commits, barrier)) for each in range(writers)]
    for process in processes:
        process.start()
    barrier.wait()
    started = time.perf_counter()
    barrier.wait()
    taken = time.perf_counter() - started
    for process in processes:
        process.join()
    return taken


def check(folder: str, expected: int) -> None:
    """Every commit is a version, and its file is in the table."""
    snapshot = open_log(folder).snapshot()
    if (snapshot.version, snapshot.files(["path"]).num_rows) != (expected, expected):
        message = f"{expected} commits made {snapshot!r} with {snapshot.num_files} files"
        raise AssertionError(message)


def run(options: argparse.Namespace, engines: Sequence[str]) -> list[list[Any]]:
    """The rows of the table; of the repetitions, which take turns, the fastest counts."""
    rows = []
    for writers in options.writers:
        commits = max(1, options.commits // writers)
        seconds = dict.fromkeys(engines, float("inf"))
        for engine in list(engines) * options.repetitions:
            with tempfile.TemporaryDirectory(dir=options.folder) as work:
                folder = str(Path(work, "table"))
                create(folder, options.checkpoint_interval)
                seconds[engine] = min(seconds[engine], measure(engine, folder, writers, commits))
                check(folder, writers * (commits + 1))
        total = writers * commits
        rows += [[engine, writers, total, f"{best:.2f}", f"{total / best:.0f}"] for engine, best in seconds.items()]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writers", type=int, nargs="+", default=[1, 4, 16], help="how many processes at once")
    parser.add_argument("--commits", type=int, default=800, help="how many commits all writers make together")
    parser.add_argument("--checkpoint-interval", type=int, default=10, help="delta.checkpointInterval of the tables")
    parser.add_argument("--repetitions", type=int, default=3, help="how often everything is measured")
    parser.add_argument("--folder", help="where the tables are made; a folder for temporary files by default")
    options = parser.parse_args()
    engines = ["bayou", *(["delta-rs"] if importlib.util.find_spec("deltalake") else [])]
    rows = [["engine", "writers", "commits", "seconds", "commits/s"], *run(options, engines)]
    for row in rows:
        print("  ".join(f"{cell!s:>9}" for cell in row))


if __name__ == "__main__":
    main()
