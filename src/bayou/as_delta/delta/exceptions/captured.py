# SPDX-License-Identifier: Apache-2.0
"""`delta.exceptions.captured`: the same classes under the name that delta-spark has for those that the JVM raises."""

from __future__ import annotations

from typing import Final

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

_delta_exception_patched: Final = True
"""Whether PySpark gives such exceptions; it does on every enabled session."""
