# SPDX-License-Identifier: Apache-2.0
"""Log stores: the contract that they keep, bayou's own stores, and the registry that maps URI schemes to stores.

This package knows the names of log files, but not their content.
"""

from __future__ import annotations

from bayou.storage.local import LocalStore
from bayou.storage.log_store_settings import check_spark_log_store_conf
from bayou.storage.memory import MemoryStore
from bayou.storage.open_store import open_store
from bayou.storage.paths import QualifiedPath, host_of, path_text, qualify, redact_uri, without_host
from bayou.storage.registry import StoreFactory, register, registered_schemes, unregister
from bayou.storage.store import FileStatus, LogStore
from bayou.storage.trees import Deletions, Folder, FolderBuilder, TreeStore, delete_many, list_tree, tree_schema

__all__ = [
    "Deletions",
    "FileStatus",
    "Folder",
    "FolderBuilder",
    "LocalStore",
    "LogStore",
    "MemoryStore",
    "QualifiedPath",
    "StoreFactory",
    "TreeStore",
    "check_spark_log_store_conf",
    "delete_many",
    "host_of",
    "list_tree",
    "open_store",
    "path_text",
    "qualify",
    "redact_uri",
    "register",
    "registered_schemes",
    "tree_schema",
    "unregister",
    "without_host",
]
