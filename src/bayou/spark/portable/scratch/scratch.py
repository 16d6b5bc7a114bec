# SPDX-License-Identifier: Apache-2.0
"""Find a folder that this process can write to and that the session's server reads: the place for lists of files.

Lists hold paths, sizes and numbers of files, and no credentials. Each process has a folder of its own in the place that is found.
It is deleted at the end of the process, or by the next client if the process was killed (see `owners.py`).

- If `spark.bayou.scratch` is set, that folder is used, and no other one.
- A table on a local file system first tries the temporary folder of this machine, so that reading a table creates nothing in its
  folder.
- Then `_bayou_scratch` in the table's folder is tried. Engines do not list names with an underscore as data, and VACUUM of other
  engines leaves them alone, so it cannot delete a list in use.
- Tables elsewhere try these two in the other order, because a server of such tables usually runs on another machine.

A folder counts only if the server has read back what this process wrote into it, because both may have a folder of the same name.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import tempfile
import threading
from functools import cache
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError, failed
from bayou.spark.portable.scratch.folders import Scratch, process_name
from bayou.spark.portable.scratch.owners import IN_TABLE, PREFIX, delete_orphans, disown, finish, own
from bayou.spark.portable.scratch.reach import check_server_reads, reach_of
from bayou.storage import open_store, qualify

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot

SETTING: Final = "spark.bayou.scratch"
"""The session's setting with the folder for lists of files."""
_OF_PATTERNS: Final = re.compile(r"[{}\[\]*?\\]")
"""Spark's file streams read no list in a folder whose path has one of these."""
_lock: Final = threading.Lock()
_claimed: Final[dict[str, tuple[int, Scratch]]] = {}


def scratch_of(
    spark: SparkSession, snapshot: Snapshot, storage_options: Mapping[str, str] | None = None, given: str = ""
) -> Scratch | None:
    """Return a folder for the lists of a table's files; None if client and server share none.

    The first call for a folder runs one query, later calls on the same session run none.

    Args:
        storage_options: credentials for the folder of `spark.bayou.scratch`.
        given: that folder, or an empty string.

    Raises:
        SessionError: the folder of `spark.bayou.scratch` cannot be used, or the server does not reach the table's storage.
    """
    if given:
        place, name = qualify(given), process_name()
        scratch = Scratch(f"{place.uri.rstrip('/')}/{name}", open_store(place, storage_options), f"{name}/")
        _check_shared(spark, scratch, place.uri)
        _keep(scratch)
        return scratch
    is_checked = False
    for found in _candidates(snapshot):
        if reach_of(spark, found).is_shared:
            _keep(found)
            return found
        if found.prefix and not found.is_local and reach_of(spark, found).not_read:
            check_server_reads(spark, snapshot)  # no other folder makes up for it
            is_checked = True
    if not is_checked:
        check_server_reads(spark, snapshot)
    return None


def lasting_scratch_of(
    spark: SparkSession, snapshot: Snapshot, checkpoint: str | None, storage_options: Mapping[str, str] | None = None
) -> Scratch | None:
    """Return a folder for a stream, which outlives this process; None if client and server share none.

    If `spark.bayou.scratch` is not set, `_bayou_scratch` in the table's folder is tried, and then that in the query's checkpoint.

    Args:
        checkpoint: the query's checkpoint, or None.
        storage_options: credentials for the folder of `spark.bayou.scratch`, and for the checkpoint.

    Raises:
        SessionError: the folder of `spark.bayou.scratch` cannot be used.
    """
    given = str(spark.conf.get(SETTING, "") or "")
    if given:
        place = qualify(given)
        scratch = Scratch(place.uri.rstrip("/"), open_store(place, storage_options))
        _check_shared(spark, scratch, place.uri)
        return scratch
    candidates = [Scratch(f"{snapshot.table_uri.rstrip('/')}/{IN_TABLE}", snapshot.source.store, f"{IN_TABLE}/")]
    with contextlib.suppress(DeltaError, OSError):  # this process has no access to the checkpoint
        if checkpoint is not None:
            place = qualify(checkpoint)
            candidates.append(Scratch(f"{place.uri.rstrip('/')}/{IN_TABLE}", open_store(place, storage_options), f"{IN_TABLE}/"))
    usable = (each for each in candidates if _OF_PATTERNS.search(each.uri) is None)
    return next((found for found in usable if reach_of(spark, found).is_shared), None)


def scratch_at(spark: SparkSession, uri: str, storage_options: Mapping[str, str] | None = None) -> Scratch | None:
    """Return a folder that another process chose; None if client and server do not share it."""
    try:
        found = Scratch(uri, open_store(qualify(uri), storage_options))
    except (DeltaError, OSError):
        return None
    return found if reach_of(spark, found).is_shared else None


def _candidates(snapshot: Snapshot) -> Iterator[Scratch]:
    uri = snapshot.table_uri.rstrip("/")
    folder_in_table = f"{IN_TABLE}/{process_name()}"
    in_table = Scratch(f"{uri}/{folder_in_table}", snapshot.source.store, f"{folder_in_table}/")
    is_local = snapshot.source.store.local_path("x") is not None
    for is_temporary in (is_local, not is_local):
        if not is_temporary:
            yield in_table
            continue
        folder = _temporary_folder(os.getpid())
        if folder is not None:
            place = qualify(folder)
            yield Scratch(place.uri, open_store(place))


def _check_shared(spark: SparkSession, scratch: Scratch, setting: str) -> None:
    reach = reach_of(spark, scratch)
    if not reach.is_shared:
        who = f"this process cannot write to it ({reach.not_written})" if reach.not_written else ""
        who = who or f"the Spark Connect server does not read what this process writes there ({reach.not_read})"
        raise failed("scratch-not-shared", folder=setting, setting=SETTING, reason=who)


def _keep(scratch: Scratch) -> None:
    """Claim a folder for this process, once."""
    with _lock:
        if scratch.uri not in _claimed:
            _claim(scratch)


def _claim(scratch: Scratch) -> None:
    """Mark a folder as this process's, and delete those of processes that are gone."""
    if _claimed.setdefault(scratch.uri, (os.getpid(), scratch))[0] != os.getpid():
        return
    with contextlib.suppress(DeltaError, OSError):  # a place that was written to a moment ago
        own(scratch.store, scratch.prefix)
    folder, _, name = scratch.prefix.rstrip("/").rpartition("/")
    parent = f"{folder}/" if folder else ""
    if scratch.prefix:
        delete_orphans(scratch.store, parent, name)
        return
    above, _, name = scratch.uri.rpartition("/")
    delete_orphans(open_store(qualify(above)), "", name)


def _release_all() -> None:
    while _claimed:
        process, scratch = _claimed.popitem()[1]
        if process != os.getpid():  # a fork leaves the folders to the process that made them
            continue
        disown(scratch.store, scratch.prefix)
        if scratch.prefix:
            scratch.remove_empty("x", 2 if scratch.prefix.startswith(f"{IN_TABLE}/") else 1)


atexit.register(finish, _release_all)


@cache
def _temporary_folder(process: int) -> str | None:
    """Return a folder of this process that other users cannot read; None if none can be created."""
    try:
        folder = tempfile.mkdtemp(prefix=PREFIX)
    except OSError:
        return None
    atexit.register(_delete_folder, folder, process)
    return folder


def _delete_folder(folder: str, process: int) -> None:
    if os.getpid() == process:  # and not a fork of it
        shutil.rmtree(folder, ignore_errors=True)
