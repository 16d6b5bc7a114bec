# SPDX-License-Identifier: Apache-2.0
"""A writer of small tables on a local disk, which notes in a journal what it is about to do and what is done."""

from __future__ import annotations

import contextlib
import io
import json
import os
import time
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from bayou.log.commit.outcomes import CommitOutcome, Committed
from bayou.log.commit.transaction import Action, Transaction
from bayou.log.delta_log import open_log
from bayou.log.maintenance.log_cleanup import clean_up
from bayou.protocol.actions.actions import AddFile, Metadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.actions.file_names import LOG_FOLDER
from bayou.testing.table_builder import metadata

COMMITS: Final = 5
LONGEST_COMMIT: Final = 500
"""More bytes than any commit has, and fewer than a checkpoint."""

_MERGED: Final = 5
_LATER_MS: Final = 40 * 86_400_000
_STALE: Final = ".00000000000000000000.json.0123456789abcdef0123456789abcdef.tmp"
_V2: Final = Protocol(3, 7, ("v2Checkpoint",), ("v2Checkpoint",))


class Writer:
    """Commits to a table, and notes in a journal what it is about to do and what is done."""

    def __init__(self, folder: Path, journal: Path, name: str, *, v2: bool) -> None:
        self.log = open_log(folder)
        self.outcomes: list[Any] = []
        self._folder = folder
        self._journal = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.name = name
        self._v2 = v2

    def run(self, random: Random) -> None:
        for number in range(COMMITS):
            self.commit_rows(f"{self.name}.{number}", replaces=random.random() < 0.4)
            if number % 2:
                (self._folder / LOG_FOLDER / _STALE).write_bytes(b"{")
                self.clean_up_later()

    def run_on_a_bad_disk(self) -> None:
        """Like `run`, where the disk fails: an error before the commit is one, and the next transaction tries anew."""
        for number in range(COMMITS):
            with contextlib.suppress(OSError):
                self.commit_rows(f"{self.name}.{number}", replaces=bool(number % 2))

    def commit_rows(self, name: str, *, replaces: bool) -> None:
        """One transaction: new rows in a new file, and with them all rows but one of the files that it replaces."""
        with self.log.transaction("WRITE") as transaction:
            live = transaction.files(["path", "size"]).to_pylist() if replaces and transaction.snapshot else []
            removed = [RemoveFile(**each) for each in live[:_MERGED]]
            kept = [row for each in removed for row in read_rows(self._folder / each.path)][1:]
            added = [*kept, f"{name}a", f"{name}b"]
            self._note({"removed": [each.path for each in removed], "added": f"{name}.parquet", "rows": added})
            file = self._write(f"{name}.parquet", added)
            self.log.store.sync([file.path])
            head = [] if transaction.snapshot else self._head()
            outcome = self._commit(transaction, [*head, file, *removed])
            self._note({"of": file.path, "done": isinstance(outcome, Committed)})

    def commit_without_rows(self) -> CommitOutcome:
        """One transaction that needs no data file."""
        with self.log.transaction("WRITE") as transaction:
            return self._commit(transaction, [SetTransaction("without rows", 1)])

    def _commit(self, transaction: Transaction, actions: list[Action]) -> CommitOutcome:
        try:
            outcome = transaction.try_commit(actions)
        except OSError as error:
            raise AssertionError("a failure of the store is no outcome") from error
        self.outcomes.append(outcome)
        return outcome

    def clean_up_later(self) -> None:
        """Clean the log up as if weeks had passed, so that everything of which there is a later checkpoint goes."""
        clean_up(self.log.update(), now_ms=int(time.time() * 1000) + _LATER_MS)

    def _head(self) -> list[Any]:
        configuration = {"delta.checkpointInterval": "2", **({"delta.checkpointPolicy": "v2"} if self._v2 else {})}
        schema = metadata({"row": "string"})["metaData"]["schemaString"]
        return [_V2 if self._v2 else Protocol(1, 2), Metadata("killed", schema, configuration=configuration)]

    def _write(self, name: str, rows: list[str]) -> AddFile:
        out = io.BytesIO()
        pq.write_table(pa.table({"row": rows}), out)
        path = self._folder / name
        if not path.parent.exists():
            path.parent.mkdir()
        with path.open("xb") as file:
            file.write(out.getvalue())
            file.flush()
        return AddFile(name, {}, len(out.getvalue()), 1, stats=json.dumps({"numRecords": len(rows)}))

    def _note(self, entry: dict[str, Any]) -> None:
        os.write(self._journal, json.dumps(entry).encode() + b"\n")


def read_rows(path: Path) -> list[str]:
    with pq.ParquetFile(path) as file:
        return list(file.read(use_threads=False)["row"].to_pylist())
