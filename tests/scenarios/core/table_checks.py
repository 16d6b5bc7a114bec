# SPDX-License-Identifier: Apache-2.0
"""What must hold for a table after any of its writers came to grief."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from tests.scenarios.core.row_writer import Writer, read_rows

from bayou.errors import TableNotFoundError
from bayou.log.checksum.verify import verify_checksum
from bayou.log.commit.outcomes import Committed
from bayou.log.delta_log import DeltaLog, open_log
from bayou.log.segment.listing import list_log, sort_listing
from bayou.log.segment.segment import earliest_version
from bayou.log.snapshot.checkpoint_reader import Checkpoint
from bayou.protocol.actions.file_names import LAST_CHECKPOINT, LOG_FOLDER, SIDECAR_FOLDER, parse_log_file_name

_TEMPORARY: Final = re.compile(r"\..+\.[0-9a-f]{32}\.tmp")


class Journal:
    """What a table must hold, from what its writers noted."""

    def __init__(self, path: Path) -> None:
        lines = path.read_text().splitlines() if path.exists() else []
        entries = [json.loads(line) for line in lines]
        done = {entry["of"]: entry["done"] for entry in entries if "of" in entry}
        self._begun = [(entry, done.get(entry["added"], False)) for entry in entries if "added" in entry]

    @property
    def is_empty(self) -> bool:
        """Whether no transaction reported that it was committed."""
        return not any(done for _, done in self._begun)

    def files(self, live: set[str]) -> dict[str, list[str]]:
        """The rows by file; a transaction that reported nothing was committed as a whole, or is not there at all."""
        expected: dict[str, list[str]] = {}
        seen = live.union(*(entry["removed"] for entry, _ in self._begun))
        for entry, done in self._begun:
            if done or entry["added"] in seen:
                for path in entry["removed"]:
                    del expected[path]
                expected[entry["added"]] = entry["rows"]
        return expected


def check(folder: Path, journal: Path, following: Writer) -> None:
    """The promise after a crash: the table opens, it holds what was committed and nothing else, and another writer goes on."""
    try:
        open_log(folder).snapshot()
    except TableNotFoundError:
        assert Journal(journal).is_empty
    else:
        _check_contents(folder, journal)
        _check_log(following.log)
    following.commit_rows(f"{following.name}.after", replaces=True)
    assert isinstance(following.outcomes[0], Committed), following.outcomes
    following.clean_up_later()
    leftovers = [path.name for path in (folder / LOG_FOLDER).iterdir() if path.name.endswith(".tmp")]
    assert not leftovers, leftovers
    _check_contents(folder, journal)


def _check_contents(folder: Path, journal: Path) -> None:
    log = open_log(folder)
    live = {path: read_rows(folder / path) for path in log.snapshot().files(["path"])["path"].to_pylist()}
    assert live == Journal(journal).files(set(live))
    rows = [row for found in live.values() for row in found]
    assert len(set(rows)) == len(rows)


def _check_log(log: DeltaLog) -> None:
    """Every version and checkpoint that is left can be read; what has no meaning are temporary files."""
    listed = [status for folder in (LOG_FOLDER, SIDECAR_FOLDER) for status in list_log(log.store, f"{folder}/")]
    listing = sort_listing(listed)
    first, latest = earliest_version(listing), listing.latest
    assert first is not None
    assert latest is not None
    for version in range(first, latest + 1):
        snapshot = DeltaLog(log.table_uri, log.store).snapshot(version)
        assert snapshot.files(["path"]).num_rows == snapshot.num_files
        verify_checksum(snapshot)
    for found in listing.checkpoints:
        assert Checkpoint(found.files, found.version, log.store, log.table_uri).num_files >= 0
    for status in listed:
        is_known = parse_log_file_name(status.name) is not None or status.path == LAST_CHECKPOINT
        is_sidecar = status.path.startswith(SIDECAR_FOLDER) and status.name.endswith(".parquet")
        assert is_known or is_sidecar or _TEMPORARY.fullmatch(status.name), status.path
