# SPDX-License-Identifier: Apache-2.0
"""Operations of maintenance on a small table on disk, what each does to its rows, and what must hold after one that failed."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from tests.scenarios.core.killed_writer import forked

from bayou.errors import DeletionVectorError, StorageError, TableExistsError, TableNotFoundError
from bayou.log.commit import attempts
from bayou.log.delta_log import DeltaLog
from bayou.log.operations.clone import CloneRequest, clone
from bayou.log.operations.convert import ConvertRequest, SourceFile, convert
from bayou.log.rows.deleted_rows import delete_rows
from bayou.log.rows.moved_rows import MovedRows, with_moves
from bayou.log.rows.vector_reader import read_vectors
from bayou.log.rows.vector_writer import VectorFiles
from bayou.protocol.actions.actions import AddFile, Protocol
from bayou.protocol.actions.paths import local_path, to_uri
from bayou.protocol.deletion_vectors.descriptor import Bitmap
from bayou.protocol.properties import SYMLINK_MANIFEST
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage import LocalStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import TableBuilder

Logs = Mapping[str, DeltaLog]
"""The log of the table and of its clone, by the names of their folders."""

FULL = StorageError("no space is left on the device")
FULL.__cause__ = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
WRITES: Final = ("put", "put_if_absent")


def write_file(folder: Path, name: str, ids: list[int], *, stats: bool = True) -> AddFile:
    """A data file of these ids."""
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), folder / name)
    text = json.dumps({"numRecords": len(ids)}) if stats else None
    return AddFile(name, {}, (folder / name).stat().st_size, 1, stats=text)


def _table(root: Path, *, has_vectors: bool, properties: Mapping[str, str] | None = None) -> None:
    """A table of four files and five versions: the ids 0 to 29 without some, and a file of the ids 40 to 49 that is gone."""
    folder = root / "table"
    vectors = ("deletionVectors",) if has_vectors else ()
    protocol = Protocol(3, 7, vectors, vectors) if has_vectors else Protocol(1, 2)
    builder = TableBuilder(folder).create({"id": "long"}, protocol=protocol, configuration=properties)
    log = builder.log()
    for number in (0, 1, 2, 4):
        ids = list(range(10 * number, 10 * number + 10))
        with log.transaction("WRITE") as transaction:
            transaction.commit([write_file(folder, f"part-{number}.parquet", ids)])
    files = log.update().files()
    with log.transaction("DELETE") as transaction:
        transaction.remove_files(files.slice(3, 1))
        transaction.commit()
    if has_vectors:
        snapshot = log.update()
        writer = VectorFiles(log.store, log.table_uri, snapshot.properties)
        with log.transaction("DELETE") as transaction:
            gone = [Bitmap.from_positions([1, 2]), Bitmap.from_positions([5])]
            chosen = snapshot.files().slice(0, 2)
            transaction.delete_rows(delete_rows(snapshot, log.store, chosen, gone, writer, deletion_timestamp=1))
            transaction.commit(new_files=True)
    write_file(folder, "of-no-commit.parquet", [99])


def _with_vectors(root: Path) -> None:
    _table(root, has_vectors=True)


def _with_manifests(root: Path) -> None:
    _table(root, has_vectors=False, properties={SYMLINK_MANIFEST.key: "true"})


def _parquet_folder(root: Path) -> None:
    for number in range(3):
        write_file(root / "table", f"part-{number}.parquet", list(range(10 * number, 10 * number + 10)))


def _optimize(logs: Logs) -> None:
    log = logs["table"]
    snapshot = log.update()
    files = snapshot.files().slice(0, 2)
    folder = Path(local_path(log.table_uri) or "")
    rows = [_rows_of(log, files.slice(place, 1)) for place in range(files.num_rows)]
    add = write_file(folder, f"compacted-{snapshot.version}.parquet", [each for found in rows for each in found])
    with log.transaction("OPTIMIZE", snapshot=snapshot) as transaction:
        moves = [MovedRows(add.path, 0), MovedRows(add.path, len(rows[0]))]
        transaction.remove_files(with_moves(files, moves), data_change=False)
        transaction.commit([AddFile(add.path, {}, add.size, 1, data_change=False, stats=add.stats)], new_files=True)


def _vacuum(logs: Logs) -> None:
    logs["table"].vacuum(0, check_retention=False).check_deleted()


def _clone(logs: Logs, *, shallow: bool) -> None:
    try:
        clone(logs["table"].update(), logs["table"], logs["clone"], CloneRequest(shallow=shallow))
    except TableExistsError:
        if rows(logs["clone"]) is None:  # copies of an earlier attempt, which could not delete them
            shutil.rmtree(local_path(logs["clone"].table_uri) or "")
            _clone(logs, shallow=shallow)


def _clone_again(logs: Logs) -> None:
    clone(logs["table"].update(), logs["table"], logs["clone"], CloneRequest(replace=True))


def _with_clone(root: Path) -> None:
    _with_vectors(root)
    logs = open_logs(root)
    clone(logs["table"].snapshot(2), logs["table"], logs["clone"], CloneRequest())


class _Footers:
    def __init__(self, log: DeltaLog) -> None:
        self._log = log

    def footers(self, files: list[SourceFile]) -> list[pq.FileMetaData]:
        found = []
        for each in files:
            with self._log.store.open(each.path) as source:
                found.append(pq.read_metadata(source))
        return found

    def schemas(self, files: list[SourceFile]) -> list[StructType]:
        return [StructType((StructField("id", "long"),)) for _ in files]


def _convert(logs: Logs) -> None:
    if rows(logs["table"]) is None:
        convert(logs["table"], ConvertRequest(), _Footers(logs["table"]))


@dataclass(frozen=True)
class Case:
    """An operation.

    Attributes:
        prepare: makes the table below a folder.
        run: the operation; if it was done before, it does no more.
        before: the rows of the table, and of files that are converted.
        rows: the rows of the table afterwards; None if they are those before.
        version: the version of the table that is changed, before; None if there is none.
        clone_rows: the rows of the clone, before (None: there is no clone) and afterwards.
        commits: whether its error says that a commit may be in the log.
    """

    prepare: Callable[[Path], None]
    run: Callable[[Logs], object]
    before: list[int] = field(default_factory=lambda: _LIVE)
    rows: list[int] | None = None
    version: int | None = 6
    clone_rows: tuple[list[int] | None, list[int]] | None = None
    commits: bool = True


_LIVE: Final = sorted(set(range(30)) - {1, 2, 15})
_ALL: Final = list(range(30))
CASES: Final[Mapping[str, Case]] = {
    "OPTIMIZE": Case(_with_vectors, _optimize),
    "VACUUM": Case(_with_vectors, _vacuum, commits=False),
    "RESTORE": Case(_with_vectors, lambda logs: logs["table"].restore(4), rows=[*range(30), *range(40, 50)]),
    "CLONE deep": Case(_with_vectors, lambda logs: _clone(logs, shallow=False), version=None, clone_rows=(None, _LIVE)),
    "CLONE shallow": Case(_with_vectors, lambda logs: _clone(logs, shallow=True), version=None, clone_rows=(None, _LIVE)),
    "CLONE again": Case(_with_clone, _clone_again, version=0, clone_rows=([*range(20)], _LIVE)),
    "CONVERT": Case(_parquet_folder, _convert, before=_ALL, version=None),
    "COMPUTE STATS": Case(_with_vectors, lambda logs: logs["table"].compute_statistics()),
    "GENERATE": Case(_with_manifests, lambda logs: logs["table"].generate_manifests(), before=_ALL, commits=False),
    "manifests of a commit": Case(_with_manifests, _optimize, before=_ALL, version=5),
    "checkpoint": Case(_with_vectors, lambda logs: logs["table"].checkpoint(), commits=False),
}


def open_logs(root: Path, *, store: Callable[[LocalStore], LocalStore | FaultyStore] = lambda inner: inner) -> Logs:
    """The table and its clone below a folder."""
    folders = {name: root / name for name in ("table", "clone")}
    return {name: DeltaLog(folder.as_uri(), store(LocalStore(str(folder)))) for name, folder in folders.items()}


def _rows_of(log: DeltaLog, files: pa.Table) -> list[int]:
    gone = read_vectors(log.snapshot(), files["deletion_vector"].combine_chunks(), None, store=log.store)
    found: list[int] = []
    for path, vector in zip(files["path"].to_pylist(), gone, strict=True):
        ids = pq.read_table(local_path(to_uri(path, log.table_uri)), use_threads=False)["id"].to_pylist()
        deleted = set() if vector is None else set(vector.to_list())
        found += [each for place, each in enumerate(ids) if place not in deleted]
    return found


def rows(log: DeltaLog) -> list[int] | None:
    """The rows of a table, as its log has them now; None if there is none."""
    try:
        return sorted(_rows_of(log, log.snapshot().files()))
    except TableNotFoundError:
        return None


class Trial:
    """One run of a case on a copy of its table."""

    def __init__(self, case: Case, prepared: Path, root: Path) -> None:
        self.case = case
        self.root = root
        self._after = case.before if case.rows is None else case.rows
        shutil.copytree(prepared, root)

    def fail(self, fault: Fault) -> bool:
        """Run the operation while the store fails; returns whether it came so far."""
        struck: list[bool] = []
        plan = [Fault(fault.call, fault.path, "hook", fault.nth, hook=lambda: struck.append(True)), fault]
        shared = FaultyStore(LocalStore(str(self.root / "table")), plan)
        logs = {**open_logs(self.root, store=FaultyStore), "table": self._log("table", shared)}
        if self.case.clone_rows is not None:
            logs = {**open_logs(self.root), "clone": self._log("clone", FaultyStore(LocalStore(str(self.root / "clone")), plan))}
        outcome = "committed"
        try:
            self.case.run(logs)
        except (StorageError, DeletionVectorError) as error:
            outcome = error.facts.get("outcome") or "failed"
        self._check_outcome(outcome)
        self.check()
        return bool(struck)

    def _log(self, name: str, store: FaultyStore) -> DeltaLog:
        return DeltaLog((self.root / name).as_uri(), store)

    def _check_outcome(self, outcome: str) -> None:
        """What was reported is what is in the log."""
        if not self.case.commits:
            return
        name = "table" if self.case.clone_rows is None else "clone"
        before = self.case.version
        try:
            version = open_logs(self.root)[name].version()
        except TableNotFoundError:
            version = None
        if outcome == "failed":
            assert version == before, "an operation that failed is in the log"
        elif outcome == "committed":
            assert version != before, "an operation that was reported is not in the log"

    def check(self) -> None:
        """The table opens and has each row once; the operation can run again; then VACUUM deletes all that is left over."""
        logs = open_logs(self.root)
        assert rows(logs["table"]) in (
            (None if self.case.version is None and self.case.clone_rows is None else self.case.before),
            self._after,
        )
        if self.case.clone_rows is not None:
            assert rows(logs["clone"]) in self.case.clone_rows
        self.case.run(logs)
        assert rows(logs["table"]) == self._after
        if self.case.clone_rows is not None:
            assert rows(logs["clone"]) == self.case.clone_rows[1]
        for name, log in logs.items():
            if rows(log) is not None:
                log.verify_checksum()
                log.vacuum(0, check_retention=False).check_deleted()
                self._check_files(self.root / name, log)
        assert rows(logs["table"]) == self._after

    def _check_files(self, folder: Path, log: DeltaLog) -> None:
        files = log.snapshot().files(["path", "deletion_vector"])
        data = {path for path in files["path"].to_pylist() if "/" not in path}
        left = {each.name for each in folder.glob("*.parquet")}
        assert left == data, f"{left ^ data}"


def prepare(name: str, folder: Path) -> Path:
    """The table of a case, to be copied for each trial."""
    prepared = folder / "prepared"
    prepared.mkdir()
    CASES[name].prepare(prepared)
    return prepared


def _kill(trial: Trial, nth: int) -> None:
    """Run an operation in this process, which is killed before the n-th call of its stores."""
    calls = itertools.count(1)
    plan = Fault(None, "", "hook", times=None, hook=lambda: next(calls) == nth and os.kill(os.getpid(), signal.SIGKILL))
    trial.case.run(open_logs(trial.root, store=lambda inner: FaultyStore(inner, [plan], maps_files=nth % 2 == 0)))


def _limited(trial: Trial, size: int) -> None:
    """Run an operation in this process, whose files can get no longer than a size."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    with contextlib.suppress(StorageError, OSError):
        trial.case.run(open_logs(trial.root))


def main() -> None:
    """Take `{"folder": ..., "case": ..., "step": ..., "sizes": [...]}`, and print how many were killed and what failed."""
    order = json.load(sys.stdin)
    attempts._LONGEST_PAUSE = 0.0
    case, folder = order["case"], Path(order["folder"])
    prepared = folder / "prepared"
    _, text = forked(lambda: prepare(case, folder) and None)
    failures = [text] if text else []

    def trial(what: str, act: Callable[[Trial], None]) -> int:
        found = Trial(CASES[case], prepared, folder / "trial")
        ended, text = forked(lambda: act(found))
        text = text or forked(found.check)[1]
        if text:
            failures.append(f"{case}: {what}: {text}")
        shutil.rmtree(found.root)
        return ended

    kills = 0
    for nth in itertools.count(1, order["step"]):
        if not trial(f"killed at call {nth}", lambda found: _kill(found, nth)):  # noqa: B023  (run at once)
            break
        kills += 1
    for size in order["sizes"]:
        trial(f"files no longer than {size}", lambda found: _limited(found, size))  # noqa: B023  (run at once)
    json.dump({"kills": kills, "failures": failures}, sys.stdout)
