# SPDX-License-Identifier: Apache-2.0
"""Many writers of one table at once, in threads or in processes; as a program it forks them, one process each.

The program takes `{"folder": ..., "writers": ..., "commits": ..., "task": ...}` on standard input, with `options` for a table in an
object store, and prints what each writer reports, as a list.
"""

from __future__ import annotations

import io
import json
import os
import random
import sys
import traceback
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from bayou.errors import ConcurrentModificationError, MetadataChangedException
from bayou.log.checkpoint import writer as checkpoint_writer  # noqa: F401  (loaded once, before the forks)
from bayou.log.checksum import writer as checksum_writer  # noqa: F401  (loaded once, before the forks)
from bayou.log.commit.outcomes import Committed, Conflicted
from bayou.log.commit.transaction import Action, Transaction
from bayou.log.delta_log import DeltaLog, open_log
from bayou.log.snapshot import data_skipping as file_statistics  # noqa: F401  (loaded once, before the forks)
from bayou.protocol.actions.actions import AddFile, RemoveFile


@dataclass
class Report:
    """What one writer did.

    Attributes:
        versions: the versions that it made, in order.
        attempts: how many versions it tried for that.
        conflicts: the errors that made it begin again, by the name of their class.
        files: the files of its own that must be live; for the task `rows`, all files that it added.
        removed: the files that it removed.
        failure: why it stopped, if it did.
    """

    versions: list[int] = field(default_factory=list)
    attempts: int = 0
    conflicts: dict[str, int] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    failure: str = ""


class Writer:
    """Commits so many times; each writer has a partition of its own."""

    def __init__(self, log: DeltaLog, number: int, task: str) -> None:
        self.report = Report()
        self._log = log
        self._number = number
        # A change of the metadata excludes whatever runs at the same time. Writers that change each other's rows conflict, too.
        self._expected = ConcurrentModificationError if task == "rows" else MetadataChangedException
        self._act = _TASKS[task][number % len(_TASKS[task])]

    def run(self, commits: int, first: int = 0) -> Report:
        try:
            for serial in range(first, first + commits):
                while not self._commit(serial):
                    pass
        except Exception:  # noqa: BLE001  (it is reported)
            self.report.failure = traceback.format_exc()
        return self.report

    def _commit(self, serial: int) -> bool:
        with self._log.transaction("WRITE") as transaction:
            path = f"writer={self._number}/{serial}.parquet"
            actions, files = self._act(transaction, str(self._number), path, self.report.files)
            outcome = transaction.try_commit(actions)
        if isinstance(outcome, Committed):
            self.report.versions.append(outcome.version)
            self.report.attempts += outcome.attempts
            self.report.files = files
            self.report.removed += [action.path for action in actions if isinstance(action, RemoveFile)]
            return True
        name = type(outcome.error).__name__ if hasattr(outcome, "error") else repr(outcome)
        self.report.conflicts[name] = self.report.conflicts.get(name, 0) + 1
        assert isinstance(outcome, Conflicted), outcome
        assert isinstance(outcome.error, self._expected), name
        return False


Act = Callable[[Transaction, str, str, list[str]], tuple[list[Action], list[str]]]


def append(_: Transaction, writer: str, path: str, live: list[str]) -> tuple[list[Action], list[str]]:
    return [_file(writer, path)], [*live, path]


def overwrite(transaction: Transaction, writer: str, path: str, live: list[str]) -> tuple[list[Action], list[str]]:
    """The writer's partition becomes one new file."""
    found = transaction.files(["path"], where=[("writer", "==", writer)])["path"].to_pylist()
    assert sorted(found) == sorted(live), "what another writer did shows in this one's partition"
    return [*(RemoveFile(each, size=1) for each in found), _file(writer, path)], [path]


def remove(transaction: Transaction, writer: str, path: str, live: list[str]) -> tuple[list[Action], list[str]]:
    """The writer's partition is emptied, if there is something in it."""
    if not live:
        return append(transaction, writer, path, live)
    found = transaction.files(["path"], where=[("writer", "==", writer)])["path"].to_pylist()
    assert sorted(found) == sorted(live), "what another writer did shows in this one's partition"
    return [RemoveFile(each, size=1) for each in found], []


def annotate(transaction: Transaction, writer: str, path: str, live: list[str]) -> tuple[list[Action], list[str]]:
    """A property of the table is set."""
    assert transaction.snapshot is not None
    metadata = transaction.snapshot.metadata
    return [replace(metadata, configuration={**metadata.configuration, f"note.{writer}": path})], live


def change_rows(transaction: Transaction, writer: str, _: str, live: list[str]) -> tuple[list[Action], list[str]]:
    """By turns a new row, and a further change of a row of any writer, whose file is replaced by another.

    The files are real ones with one row each, in a few partitions that all writers share.
    """
    group = str(int(writer) % ROW_GROUPS)
    path = f"writer={group}/{writer}-{len(live)}-{uuid.uuid4().hex[:8]}.parquet"
    found = transaction.files(["path"], where=[("writer", "==", group)])["path"].to_pylist() if len(live) % 2 else []
    store = transaction.log.store
    if found:
        old = random.choice(found)
        row = pq.read_table(io.BytesIO(store.read(old)), partitioning=None).to_pylist()[0]
        row["changes"] += 1
    else:
        row = {"x": 1000 * int(writer) + len(live), "changes": 0}
    data = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([row], pa.schema({"x": pa.int64(), "changes": pa.int64()})), data)
    store.put(path, data.getvalue())
    add = AddFile(path, {"writer": group}, len(data.getvalue()), 1, stats='{"numRecords":1}')
    return [*([RemoveFile(old, size=1)] if found else []), add], [*live, path]


def _file(writer: str, path: str) -> AddFile:
    return AddFile(path, {"writer": writer}, 1, 1, stats='{"numRecords":1}')


ROW_GROUPS: Final = 4
"""How many partitions the writers of the task `rows` share."""

_TASKS: Final[dict[str, tuple[Act, ...]]] = {
    "append": (append,),
    "disjoint": (overwrite, remove, append),
    "rows": (change_rows,),
    "annotate": (annotate, *(append, overwrite, remove) * 5),
}


def main() -> None:
    order = json.load(sys.stdin)
    ready, go = os.pipe()
    pipes = [_fork(order, number, ready, go) for number in range(order["writers"])]
    os.close(ready)
    os.close(go)
    reports: list[Any] = []
    for pipe in pipes:
        with open(pipe, encoding="utf-8") as answer:  # noqa: PTH123  (a descriptor)
            text = answer.read()
        reports.append(json.loads(text) if text else asdict(Report(failure="it ended without a word")))
    for _ in pipes:
        os.wait()
    json.dump(reports, sys.stdout)


def _fork(order: dict[str, Any], number: int, ready: int, go: int) -> int:
    reading, writing = os.pipe()
    if os.fork():
        os.close(writing)
        return reading
    os.close(go)
    os.read(ready, 1)  # all writers are there once nobody can write into it
    report = Writer(open_log(order["folder"], order.get("options")), number, order["task"]).run(order["commits"])
    os.write(writing, json.dumps(asdict(report)).encode())
    os._exit(0)


if __name__ == "__main__":
    main()
