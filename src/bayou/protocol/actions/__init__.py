# SPDX-License-Identifier: Apache-2.0
"""The actions of the log as immutable values, their JSON, and the names and paths of the files that they mention.

Nothing here depends on a feature or on more than one action.
"""

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

# What programs give to `bayou.open(path).transaction()`.
__all__ = ["AddCDCFile", "AddFile", "CommitInfo", "DomainMetadata", "Metadata", "Protocol", "RemoveFile", "SetTransaction"]
