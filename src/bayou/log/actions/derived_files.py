# SPDX-License-Identifier: Apache-2.0
"""Checkpoints and compacted files repeat what commits say: one that cannot be used may be passed over."""

from __future__ import annotations

from bayou.errors import CorruptLogError


class DerivedFileError(CorruptLogError):
    """A checkpoint or a compacted file cannot be used; `file` names it, as the listing does."""
