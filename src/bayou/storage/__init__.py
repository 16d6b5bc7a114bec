# SPDX-License-Identifier: Apache-2.0
"""Where a log is kept: the store contract and its stores."""

from __future__ import annotations

from bayou.storage.local import LocalStore
from bayou.storage.memory import MemoryStore
from bayou.storage.open_store import open_store
from bayou.storage.paths import QualifiedPath, qualify
from bayou.storage.store import FileStatus, LogStore

__all__ = ["FileStatus", "LocalStore", "LogStore", "MemoryStore", "QualifiedPath", "open_store", "qualify"]
