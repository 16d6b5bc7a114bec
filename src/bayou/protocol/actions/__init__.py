# SPDX-License-Identifier: Apache-2.0
"""The actions of the log, their JSON, and the names and paths of files."""

from __future__ import annotations

from bayou.protocol.actions.actions import (
    AddCDCFile,
    AddFile,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
)

# Programs pass these to `bayou.open(path).transaction()`.
__all__ = ["AddCDCFile", "AddFile", "CommitInfo", "DomainMetadata", "Metadata", "Protocol", "RemoveFile", "SetTransaction"]
