# SPDX-License-Identifier: Apache-2.0
"""Check the deletion vectors of a commit. Otherwise rows could appear twice, reappear, or stay."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import failed
from bayou.log.actions.keys import canonical_paths, vector_ids
from bayou.protocol.actions.actions import AddFile, RemoveFile
from bayou.protocol.actions.paths import canonical
from bayou.protocol.features.features import table_features

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.staged import StagedActions


def check_vectors(staged: StagedActions, snapshot: Snapshot | None, described: Collection[str]) -> None:
    """Check that no file is added while live with another deletion vector, or removed with a deletion vector that it does not have.

    The list of live files is read only if the table can have deletion vectors, and the commit removes single files, adds files with
    a deletion vector or without a data change, or adds existing files by their footers. Files with generated names are not checked.

    Args:
        snapshot: the snapshot that the commit is based on; None if it creates the table.
        described: the paths, as in the log, of existing files that were added by their footers.

    Raises:
        InvalidCommitError: readers would see rows twice, or the remove would have no effect.
    """
    if snapshot is None or "deletionVectors" not in table_features(snapshot.protocol):
        return
    table = snapshot.table_uri
    adds = {
        canonical(add.path, table): add
        for add in staged.adds
        if add.deletion_vector is not None or not add.data_change or add.path in described
    }
    removes = {canonical(remove.path, table): remove for remove in staged.removes}
    if not adds and not removes:
        return
    wanted = pa.array([*adds, *removes], pa.string())
    live = _vectors(snapshot.files(["path", "deletion_vector"]), wanted, table)
    many = {} if staged.removed_files is None else _vectors(staged.removed_files.files, wanted, table)
    for path, remove in removes.items():
        if path in live and _vector_id(remove) not in live[path]:
            raise failed(
                "DELTA_FILE_TO_OVERWRITE_NOT_FOUND",
                at=snapshot,
                file=remove.path,
                given=_worded(_vector_id(remove)),
                known=_worded(*live[path]),
            )
    for path, add in adds.items():
        gone = many.get(path, set()) | ({_vector_id(removes[path])} if path in removes else set())
        stays = live.get(path, set()) - gone - {_vector_id(add)}
        if stays:
            raise failed(
                "DELTA_DUPLICATE_ACTIONS_FOUND/live-file",
                at=snapshot,
                file=add.path,
                given=_worded(_vector_id(add)),
                known=_worded(*stays),
            )


def check_vector_statistics(add: AddFile, table: str, *, may_be_tight: bool = False) -> None:
    """Check the statistics of a file with a deletion vector: they must count its rows, and must not claim tight bounds.

    Args:
        add: the file. A file without a deletion vector is valid.
        may_be_tight: whether the statistics describe the rows that the deletion vector leaves.

    Raises:
        InvalidCommitError: the statistics are not valid.

    Source: PROTOCOL.md, "Writer Requirement for Deletion Vectors".
    """
    if add.deletion_vector is None:
        return
    try:
        stats = json.loads(add.stats or "{}")
    except (ValueError, RecursionError):
        stats = {}
    if not isinstance(stats, dict) or stats.get("numRecords") is None:
        raise failed("DELTA_DELETION_VECTOR_MISSING_NUM_RECORDS", table=table, file=add.path)
    if stats.get("tightBounds") is not False and not may_be_tight:
        raise failed("DELTA_ADDING_DELETION_VECTORS_WITH_TIGHT_BOUNDS_DISALLOWED", table=table, file=add.path)


def _vectors(files: pa.Table, wanted: pa.Array, table: str) -> dict[str, set[str | None]]:
    """Return the unique ids of the deletion vectors of paths in a list of files; None if a file has none."""
    paths = canonical_paths(files["path"], table)
    mask = pc.is_in(paths, value_set=wanted)
    found: dict[str, set[str | None]] = {}
    ids = vector_ids(files["deletion_vector"].filter(mask))
    for path, vector in zip(paths.filter(mask).to_pylist(), ids.to_pylist(), strict=True):
        found.setdefault(path, set()).add(vector)
    return found


def _vector_id(action: AddFile | RemoveFile) -> str | None:
    return None if action.deletion_vector is None else action.deletion_vector.unique_id


def _worded(*vectors: str | None) -> str:
    return " and ".join("without a deletion vector" if each is None else f"with the deletion vector {each}" for each in vectors)
