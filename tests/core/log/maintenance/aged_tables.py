# SPDX-License-Identifier: Apache-2.0
"""Tables whose commits were made on given days, and what of their logs has expired."""

from __future__ import annotations

import contextlib
import datetime as dt

from tests.support.tables.checkpoints import DAY

from bayou.errors import TimestampOutOfRangeError
from bayou.log.maintenance.log_cleanup import clean_up, expired_files
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import Protocol
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, remove

NOW = 100 * DAY + DAY // 2
"""Noon of the hundredth day."""
KINDS = ["classic", "multipart", "v2-json", "v2-parquet"]
"""The kinds of checkpoints."""
ICT = Protocol(1, 7, None, ("inCommitTimestamp",))


def table(days, *, checkpoints=(), kind="classic", **fields):
    """A table with a commit a day number, made on that day, and checkpoints of some versions."""
    found = TableBuilder(store=MemoryStore()).create(actions=[add("f0")], **fields)
    for version in range(1, len(days)):
        found.commit(add(f"f{version}"), remove(f"f{version - 1}"))
    for version in sorted(checkpoints):
        found.checkpoint(kind, version=version)
    age(found, days)
    return found


def age(found, days):
    for status in list(files(found)):
        name = file_names.parse_log_file_name(status.name)
        version = name.version if name else int(status.name[:20]) if status.name[:20].isdigit() else None
        if version is not None and version < len(days):
            found.store.set_modification_time(status.path, int(days[version] * DAY))


def files(found):
    yield from found.store.list_from("_delta_log/")
    yield from found.store.list_from("_delta_log/_sidecars/")


def paths(found):
    return {status.path for status in files(found)}


def names(expired):
    return [status.path for status in expired.files]


def commits(found):
    parsed = [file_names.parse_log_file_name(status.name) for status in found.store.list_from("_delta_log/")]
    return [each.version for each in parsed if each is not None and each.kind is file_names.LogFileKind.COMMIT]


def expired(found, now=NOW):
    return expired_files(found.log().snapshot(), now_ms=now)


def cleaned(found, now=NOW):
    return clean_up(found.log().snapshot(), now_ms=now)


def state(found, version):
    snapshot = found.log().snapshot(version)
    gone = sorted(snapshot.tombstones()["path"].to_pylist())
    return sorted(snapshot.files(["path"])["path"].to_pylist()), gone, snapshot.protocol, snapshot.metadata


def sidecars(found, age_days):
    for status in list(found.store.list_from("_delta_log/_sidecars/")):
        found.store.set_modification_time(status.path, int(age_days * DAY))
    return [status.path for status in found.store.list_from("_delta_log/_sidecars/")]


def at_times(found, days):
    """The version at noon of each day that has one."""
    log, answers = found.log(), {}
    for day in days:
        with contextlib.suppress(TimestampOutOfRangeError):
            answers[day] = log.version_at(dt.datetime.fromtimestamp(day * 86_400 + 43_200, dt.timezone.utc))
    return answers
