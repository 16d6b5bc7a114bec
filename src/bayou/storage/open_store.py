# SPDX-License-Identifier: Apache-2.0
"""Open the log store of a location, chosen by its scheme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayou.errors import DeltaError, failed
from bayou.storage.paths import QualifiedPath
from bayou.storage.registry import make_store
from bayou.storage.store import LogStore

# Hadoop's file systems with an atomic rename that never replaces; all others are left out.
SCHEMES_OF_A_SESSION: Final = frozenset({"abfs", "abfss", "hdfs", "viewfs"})

OBJECT_STORES: Final[Mapping[str, str]] = {
    "adl": "Azure Data Lake Storage Gen1",
    "cos": "IBM Cloud Object Storage",
    "cosn": "Tencent Cloud Object Storage",
    "obs": "Huawei Cloud Object Storage",
    "oci": "Oracle Cloud Object Storage",
    "oss": "Alibaba Cloud Object Storage",
}


def open_store(place: QualifiedPath, storage_options: Mapping[str, str] | None = None) -> LogStore:
    """Return the store that holds a table, without reading anything.

    Args:
        place: the table's location.
        storage_options: credentials and settings for the store; the local store has none.

    Raises:
        StorageError: no store serves the scheme, or its store cannot be created.
    """
    store = make_store(place, {} if storage_options is None else storage_options)
    if store is None:
        raise _unserved(place)
    return store


def _unserved(place: QualifiedPath) -> DeltaError:
    scheme = place.scheme
    if scheme in SCHEMES_OF_A_SESSION:
        return failed("scheme-of-a-session", table=place.uri, scheme=scheme)
    if scheme in OBJECT_STORES:
        return failed("unserved-object-store", table=place.uri, scheme=scheme, system=OBJECT_STORES[scheme])
    return failed("unserved-scheme", table=place.uri, scheme=scheme)
