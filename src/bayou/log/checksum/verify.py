# SPDX-License-Identifier: Apache-2.0
"""Verify a version's checksum file against the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import failed
from bayou.log.checksum.state import mismatches

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot


def verify_checksum(snapshot: Snapshot) -> bool:
    """Compare the version's checksum file with the replayed state.

    Returns:
        True if they agree, False if the version has no readable checksum file.

    Raises:
        ChecksumMismatchError: they disagree; `mismatches` lists the fields.
    """
    known = snapshot.source.checksum
    if known is None:
        return False
    wrong = mismatches(snapshot, known)
    if not wrong:
        return True
    shown = "; ".join(f"{name} is {noted!r:.100}, the log says {found!r:.100}" for name, (noted, found) in wrong.items())
    raise failed("DELTA_TXN_LOG_FAILED_INTEGRITY", at=snapshot, file=known.path, differences=shown, mismatches=wrong)
