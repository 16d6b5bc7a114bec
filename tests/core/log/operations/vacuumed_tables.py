# SPDX-License-Identifier: Apache-2.0
"""Tables with files of any age in their folders, and what VACUUM leaves of them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import bayou
from bayou.testing.table_builder import TableBuilder, remove

HOUR = 3_600_000
DAY = 24 * HOUR
VECTOR = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 34, "cardinality": 2}
VECTOR_FILE = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


def partitioned(tmp_path):
    """A table of an id and a partition, whose first commit is old."""
    return aged(TableBuilder(tmp_path / "t").create({"id": "long", "p": "string"}, partition_by=["p"]), 60)


def now():
    return int(time.time() * 1000)


def aged(builder, days):
    """The table, whose last commit was made so many days ago."""
    age(Path(builder.uri.removeprefix("file://"), "_delta_log", f"{builder.version:020d}.json"), days)
    return builder


def put(builder, path, days=30.0):
    """A file of the table's folder that was last written so many days ago."""
    file = Path(builder.uri.removeprefix("file://"), path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"12345")
    age(file, days)
    return file


def age(place, days):
    seconds = time.time() - days * 86_400
    os.utime(place, (seconds, seconds))


def commit(builder, *actions, days=0.0):
    """A commit that was made so many days ago."""
    return aged(builder.commit(*actions), days)


def removed(path, days, **fields):
    return remove(path, deletionTimestamp=now() - int(days * DAY), **fields)


def left(builder):
    """What is in the table's folder, without the log; an empty folder ends with a slash."""
    root = Path(builder.uri.removeprefix("file://"))
    found = set()
    for place in root.rglob("*"):
        relative = place.relative_to(root)
        if relative.parts[0] == "_delta_log":
            continue
        if place.is_file():
            found.add(str(relative))
        elif not any(place.iterdir()):
            found.add(f"{relative}/")
    return found


def run(builder, **options):
    return bayou.open(builder.uri).vacuum(**options)
