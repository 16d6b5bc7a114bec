# SPDX-License-Identifier: Apache-2.0
"""`delta.exceptions`: the classes that bayou raises on a session when writers are in each other's way."""

from __future__ import annotations

from bayou.as_delta.delta.exceptions import base as base  # programs reach the modules as attributes, too
from bayou.as_delta.delta.exceptions import captured as captured
from bayou.as_delta.delta.exceptions.base import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    DeltaConcurrentModificationException,
    MetadataChangedException,
    ProtocolChangedException,
)

__all__ = [
    "ConcurrentAppendException",
    "ConcurrentDeleteDeleteException",
    "ConcurrentDeleteReadException",
    "ConcurrentTransactionException",
    "ConcurrentWriteException",
    "DeltaConcurrentModificationException",
    "MetadataChangedException",
    "ProtocolChangedException",
]
