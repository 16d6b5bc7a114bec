# SPDX-License-Identifier: Apache-2.0
"""The two ways to write a table at a path, and what a write leaves there; the fixture `write` gives both ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.observing import parquet_files

import bayou
from bayou.protocol.actions.file_names import commit_path

WRITERS = {
    "bayou.write": lambda frame, path, mode, **options: bayou.write(frame, path, mode=mode, **options),
    "save": lambda frame, path, mode, **options: frame.write.format("delta").mode(mode).options(**options).save(path),
}


def commit_of(path: str, version: int) -> list[dict[str, Any]]:
    """The actions of a commit, each with its kind."""
    lines = Path(path, commit_path(version)).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def actions(path: str, version: int, kind: str) -> list[dict[str, Any]]:
    """Those of one kind."""
    return [action[kind] for action in commit_of(path, version) if kind in action]


def data_files(path: str) -> list[str]:
    """The data files in a table's folder, by their paths in it, in order."""
    return sorted(parquet_files(path))
