# SPDX-License-Identifier: Apache-2.0
"""GENERATE: write all manifests of a table's latest version; see `bayou.log.maintenance.manifests`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.log.maintenance.manifests import GeneratedManifests, write_manifests
from bayou.log.operations.maintained import writable_snapshot

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader

__all__ = ["GeneratedManifests", "generate_manifests"]


def generate_manifests(log: LogReader) -> GeneratedManifests:
    """Write the manifests of a table's latest version; see `DeltaLog.generate_manifests`."""
    return write_manifests(log, writable_snapshot(log, "GENERATE"))
